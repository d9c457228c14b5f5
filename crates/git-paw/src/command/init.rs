//! `git paw init`

use clap::Args;
use paw_agent::detect_clis;
use paw_core::config;
use paw_core::paths::CheckoutDir;
use paw_core::{PawError, text};
use paw_host::config::{load_layers, repo_config_path};
use paw_host::files::{self, Access};
use paw_host::git::Repo;
use paw_supervisor::gates;

use crate::approval::{self, Consent};
use crate::context::Context;
use crate::prompt::{PromptQuestion, Prompter, TerminalPrompter};

/// Write a commented configuration and ignore rules for this repository
///
/// Creates .git-paw/config.toml with every key, its description and its default, all commented out. The first time, on a
/// terminal, asks for the AI CLI, the test command and messages between agents, and sets those; the test command is
/// approved as a gate. If the file exists, missing keys are appended as comments and nothing else changes. Running it again
/// changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw init
  git paw init --yes
  git paw init && $EDITOR .git-paw/config.toml")]
pub(crate) struct InitArgs {
    /// Use what was detected instead of asking
    #[arg(short, long)]
    yes: bool,
}

/// Keeps our files in a repository out of its history, except those that are shared on purpose.
const IGNORE_RULES: &str = "\
# Everything here is local to this machine, except:
*
!/.gitignore
!/config.toml
!/scripts/
!/scripts/**
";

/// For supervisors that run the script instead of the command.
const SWEEP: &str = "#!/bin/sh\nexec git paw sweep \"$@\"\n";

pub(crate) fn run(args: &InitArgs, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    if repo.bare {
        return Err(PawError::internal(format!("{} is a bare repository", repo.root.display()))
            .hint("run this command in a checkout"));
    }
    let speckit = find_speckit(&repo);
    let dir = CheckoutDir::of(&repo.root);
    let (ignore, sweep) = (dir.ignore_file(), dir.sweep_script());
    // A repository could lead us into the user's own files.
    for file in [&repo_config_path(&repo.root), &ignore, &dir.logs(), &sweep] {
        files::require_no_link(&repo.root, file)?;
    }
    let config = write_config(&repo, speckit, args.yes, context)?;
    let ignored = files::load_text(&ignore)?.is_none();
    if ignored {
        files::write_atomic(&ignore, IGNORE_RULES.as_bytes(), Access::Usual)?;
    }
    files::create_dir(&dir.logs())?;
    if files::load_text(&sweep)?.is_none() {
        files::write_atomic(&sweep, SWEEP.as_bytes(), Access::Executable)?;
    }

    let say = |line: &str| context.output.say(line);
    match &config {
        Config::Created => {
            say("created .git-paw/config.toml (all keys, commented out, with their defaults)")?;
            if let Some(dir) = speckit {
                say(&format!("found .specify: specs are read from {dir}"))?;
            }
        }
        Config::Answered(answers) => {
            say("created .git-paw/config.toml (your answers are set; all other keys are commented out)")?;
            if let Some(dir) = speckit {
                say(&format!("found .specify: specs are read from {dir}"))?;
            }
            for line in answers.lines() {
                say(&format!("  {}", text::line(&line)))?;
            }
        }
        Config::Extended => say("added the missing keys to .git-paw/config.toml as comments")?,
        Config::Complete => say("config.toml already has all default keys; no changes")?,
    }
    if ignored {
        say("created .git-paw/.gitignore (only config.toml and scripts/ are tracked)")?;
    }
    if matches!(config, Config::Created | Config::Answered(_)) {
        say("next: git paw doctor")?;
    }
    Ok(())
}

enum Config {
    Created,
    Answered(Answers),
    Extended,
    Complete,
}

fn write_config(
    repo: &Repo,
    speckit: Option<&str>,
    yes: bool,
    context: &Context,
) -> Result<Config, PawError> {
    let file = repo_config_path(&repo.root);
    let write = |text: &str| files::write_atomic(&file, text.as_bytes(), Access::Usual);
    let Some(existing) = files::load_text(&file)? else {
        let text = config::default_file(speckit);
        let Some(answers) = Answers::gather(repo, yes, &TerminalPrompter, context)? else {
            write(&text)?;
            return Ok(Config::Created);
        };
        write(&answers.activate(text))?;
        answers.approve(repo, context)?;
        return Ok(Config::Answered(answers));
    };
    match config::add_missing(&existing, &file.display().to_string())? {
        Some(extended) => write(&extended).map(|()| Config::Extended).map_err(Into::into),
        None => Ok(Config::Complete),
    }
}

/// The directory of Spec Kit's features: next to its own files, or at the top.
fn find_speckit(repo: &Repo) -> Option<&'static str> {
    let is_dir = |dir: &str| repo.root.join(dir).is_dir();
    let dirs = config::SpecType::Speckit.usual_dirs();
    let found = dirs.iter().find(|dir| is_dir(dir)).or(dirs.first());
    found.copied().filter(|_| is_dir(".specify"))
}

/// The answers to the questions of the first `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answers {
    cli: Option<String>,
    test_command: Option<String>,
    messages: bool,
}

impl Answers {
    /// Asks on a terminal; with `yes`, takes what was detected. Otherwise there are none.
    fn gather(
        repo: &Repo,
        yes: bool,
        prompter: &impl Prompter,
        context: &Context,
    ) -> Result<Option<Self>, PawError> {
        if !yes && !prompter.is_interactive() {
            return Ok(None);
        }
        let own = load_layers(None, None)?.resolve()?;
        let clis = detect_clis(&own.clis, &context.search_path).clis;
        let known = own.default_cli.filter(|name| clis.iter().any(|cli| cli.binary_name == *name));
        let cli = known.or_else(|| clis.first().map(|cli| cli.binary_name.clone()));
        let detected = Self { cli, test_command: gates::find_test_command(&repo.root), messages: true };
        if yes {
            return Ok(Some(detected));
        }
        let cli = if let Some(start) = &detected.cli {
            Some(prompter.select_cli(&clis, Some(start))?)
        } else {
            context.output.note("no AI CLI found on PATH; set default_cli when you have installed one");
            None
        };
        let question = |text| PromptQuestion { text, instead: "git paw init --yes" };
        let command = detected.test_command.as_deref().unwrap_or_default();
        let command = prompter
            .edit(&question("Test command that branches must pass before a merge (empty: none)"), command)?;
        let messages = question("Let agents send messages and warn them about conflicts?");
        let messages = prompter.confirm(&messages, true)?;
        Ok(Some(Self { cli, test_command: (!command.is_empty()).then_some(command), messages }))
    }

    fn activate(&self, mut file: String) -> String {
        if let Some(cli) = &self.cli {
            file = config::activate(&file, "default_cli", cli.as_str());
        }
        if let Some(command) = &self.test_command {
            file = config::activate(&file, "supervisor.test_command", command.as_str());
        }
        if self.messages {
            file = config::activate(&file, "broker.enabled", true);
        }
        file
    }

    /// A gate that the user has just typed needs no second question.
    fn approve(&self, repo: &Repo, context: &Context) -> Result<(), PawError> {
        if self.test_command.is_none() || context.approver().is_err() {
            return Ok(());
        }
        let layers = load_layers(Some(&repo.root), None)?;
        let plan = gates::plan(&layers.resolve()?.supervisor.unwrap_or_default(), &layers.repo);
        if let Some(request) = plan.request() {
            approval::consents(&request.subject, request.question, repo, Consent::Given, context)?;
        }
        Ok(())
    }

    fn lines(&self) -> Vec<String> {
        let none = || "none".to_owned();
        vec![
            format!("AI CLI: {}", self.cli.clone().unwrap_or_else(none)),
            format!("test command: {}", self.test_command.clone().unwrap_or_else(none)),
            format!("messages between agents: {}", if self.messages { "on" } else { "off" }),
        ]
    }
}

//! `git paw help`: the help of a command, or a chapter of the guide.
//!
//! - `topics`: the chapters
//! - `keys`: the chapter generated from the configuration's schema
//! - `render`: a chapter as plain text

mod keys;
mod render;
mod topics;

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory as _, Parser as _};
use paw_core::PawError;
use paw_core::error::EXIT_CANCELLED;
use paw_core::text;
use paw_host::process;

use crate::cli::Cli;
use crate::context::Context;
use render::Page;
use topics::Topic;

/// Show the help of a command, or a chapter of the guide
///
/// Without a name, lists all commands and chapters. On a terminal, chapters are shown in $PAGER or less.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw help
  git paw help worktree create
  git paw help sessions
  git paw help troubleshooting --markdown")]
pub(crate) struct HelpArgs {
    /// A command, or a chapter of the guide
    #[arg(value_name = "COMMAND|CHAPTER")]
    words: Vec<String>,
    /// Print a chapter as Markdown
    #[arg(long)]
    markdown: bool,
}

/// The chapters of the guide: name and title.
pub(crate) fn chapters() -> impl Iterator<Item = (&'static str, &'static str)> {
    topics::ALL.iter().map(|topic| (topic.name, topic.title))
}

pub(crate) fn run(args: &HelpArgs, context: &Context) -> Result<ExitCode, PawError> {
    if args.words.is_empty() {
        show_command(&[]);
        context.output.say(&format!("\n{}", topics::list()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if is_command(&Cli::command(), &args.words) {
        show_command(&args.words);
        if let Some(topic) = topics::about(&args.words[0]) {
            context.output.say(&format!("\nThe guide: git paw help {}", topic.name))?;
        }
    } else if let Some(topic) = topics::find(&args.words) {
        show_topic(topic, args.markdown, context)?;
    } else {
        return Ok(unknown_topic(&args.words.join(" ")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether these words are a public command.
fn is_command(command: &Command, words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return true };
    let found = command.find_subcommand(first).filter(|found| !found.is_hide_set());
    found.is_some_and(|found| is_command(found, rest))
}

/// Prints exactly what `--help` prints.
fn show_command(words: &[String]) {
    let typed = ["git-paw"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    if let Err(help) = Cli::try_parse_from(typed) {
        // A closed pipe is not an error.
        let _ = help.print();
    }
}

fn unknown_topic(words: &str) -> ExitCode {
    let message = format!("no command or chapter '{}'; `git paw help` lists them", text::line(words));
    let _ = Cli::command().error(ErrorKind::InvalidSubcommand, message).print();
    ExitCode::from(EXIT_CANCELLED)
}

fn show_topic(topic: &Topic, markdown: bool, context: &Context) -> Result<(), PawError> {
    let text = (topic.text)();
    if markdown {
        return context.output.write(text.as_bytes());
    }
    let on_terminal = io::stdout().is_terminal();
    let columns = crossterm::terminal::size().ok().filter(|_| on_terminal).map_or(80, |(columns, _)| columns);
    let page = Page { width: usize::from(columns), colour: context.output.has_colour() };
    let text = render::render(&text, page);
    match pager(topic, context).filter(|_| on_terminal) {
        Some(pager) => page_by_page(&text, pager),
        None => context.output.write(text.as_bytes()),
    }
}

/// `$PAGER` with its arguments, or less, which exits at once if the text fits on the screen.
fn pager(topic: &Topic, context: &Context) -> Option<process::Command> {
    let configured = env::var("PAGER").unwrap_or_default();
    let mut words = configured.split_whitespace();
    let named = words.next().and_then(|name| process::find_program(name, &context.search_path));
    if let Some(program) = named {
        let pager = process::Command::new(program).args(words);
        // As git does: less needs -R to show colours.
        return Some(if env::var_os("LESS").is_none() { pager.env("LESS", "FRX") } else { pager });
    }
    // Otherwise less shows the name of the temporary file.
    let prompt = format!("-Psgit paw help {} (h for help, q to quit)", topic.name);
    let less = process::find_program("less", &context.search_path)?;
    Some(process::Command::new(less).args(["-RFX", &prompt, "--"]))
}

fn page_by_page(text: &str, pager: process::Command) -> Result<(), PawError> {
    let failed = |error: io::Error| PawError::internal(format!("cannot prepare the chapter: {error}"));
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    pager.arg(file.path()).inherit()?;
    Ok(())
}

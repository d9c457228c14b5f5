//! One simple command: its program, its arguments, and where its input and output go.

use std::path::PathBuf;

use paw_core::config::ApprovalLevel;

use super::argument::is_trunk;
use super::characters::quoted;
use super::lex::ShellWord;
use super::line::{Redirect, SimpleCommand};
use super::path::{self, PathBounds};
use super::tools;
use super::usage::Usage;
use super::{ApprovalRules, CommandContext};

/// The most directories a line may lead to.
const MOST_DIRECTORIES: usize = 16;

/// The state of the shell before a command of the line runs.
#[derive(Debug)]
pub(super) struct ShellState<'a> {
    bounds: PathBounds,
    /// All directories the shell could be in, because a `cd` may fail.
    dirs: Vec<PathBuf>,
    pub(super) branch: Option<&'a str>,
    pub(super) broker_port: Option<u16>,
    /// Whether an earlier command of this line wrote files.
    wrote: bool,
    /// Whether an earlier command moved files, so that paths may lead elsewhere.
    moved: bool,
}

impl<'a> ShellState<'a> {
    pub(super) fn new(place: &'a CommandContext) -> Result<Self, String> {
        let mut bounds = PathBounds::new(&place.worktree, place.home.as_deref())?;
        bounds.settings.clone_from(&place.settings);
        let cwd = path::resolve_links(&place.cwd)?;
        if !cwd.starts_with(&bounds.root) {
            return Err("the shell is not in the worktree".to_owned());
        }
        Ok(Self {
            bounds,
            dirs: vec![cwd],
            branch: place.branch.as_deref(),
            broker_port: place.broker_port,
            wrote: false,
            moved: false,
        })
    }

    pub(super) fn check_path(&self, text: &str, glob: bool) -> Result<(), String> {
        if self.moved {
            return Err(format!("an earlier command may change where {} leads", quoted(text)));
        }
        for dir in &self.dirs {
            if glob {
                self.bounds.check_pattern(dir, text)?;
            } else {
                self.bounds.check(dir, text)?;
            }
        }
        Ok(())
    }

    fn change_directory(&mut self, words: &[ShellWord]) -> Result<String, String> {
        let [_, target] = words else { return Err("`cd` without exactly one directory".to_owned()) };
        if target.text.starts_with('-') || target.glob {
            return Err(format!("`cd` to {}", quoted(&target.text)));
        }
        self.check_path(&target.text, false)?;
        for dir in self.dirs.clone() {
            let reached = self.bounds.check(&dir, &target.text)?;
            if reached != self.bounds.root && path::is_repository(&reached) {
                return Err(format!("{} is another repository", quoted(&target.text)));
            }
            if !self.dirs.contains(&reached) {
                self.dirs.push(reached);
            }
        }
        if self.dirs.len() > MOST_DIRECTORIES {
            Err("too many directories".to_owned())
        } else {
            Ok("cd".to_owned())
        }
    }

    /// git reads the configuration of the repository it runs in, which can run programs.
    fn check_repository(&self) -> Result<(), String> {
        for dir in &self.dirs {
            let below = dir.ancestors().take_while(|above| *above != self.bounds.root.as_path());
            if below.clone().any(path::is_repository) || (self.wrote && below.count() > 0) {
                return Err("git could find another repository in that directory".to_owned());
            }
        }
        Ok(())
    }
}

/// Why the command is allowed, or why not.
pub(super) fn judge_command(
    command: &SimpleCommand,
    rules: &ApprovalRules,
    shell: &mut ShellState<'_>,
) -> Result<String, String> {
    for redirect in &command.redirects {
        check_redirect(redirect, rules, shell)?;
    }
    let words = &command.words;
    let program = words.first().filter(|word| !word.glob && !word.home && !word.quoted);
    let Some(program) = program else { return Err("the program's name is quoted or a pattern".to_owned()) };
    if program.text == "cd" {
        return shell.change_directory(words);
    }
    let refused = match judge_listed(words, rules, shell) {
        Ok(reason) => return Ok(reason),
        Err(refused) => refused,
    };
    let Some((rule, more)) = rules.find_user_rule(words)? else { return Err(refused) };
    for word in more {
        check_argument(word, shell)?;
    }
    Ok(format!("your rule {}", quoted(&rule)))
}

fn judge_listed(
    words: &[ShellWord],
    rules: &ApprovalRules,
    shell: &mut ShellState<'_>,
) -> Result<String, String> {
    let program = words.first().map(|word| word.text.as_str()).unwrap_or_default();
    if program.contains('/') {
        return Err(format!("{} is called by its path", quoted(program)));
    }
    if program.contains('=') {
        return Err("a variable is set before the command".to_owned());
    }
    let texts: Vec<_> =
        words.iter().map(|word| if word.quoted || word.glob { "" } else { word.text.as_str() }).collect();
    let plain = tools::normalize(&texts);
    let Some((call, count)) = tools::find(&plain, &rules.stacks).filter(|_| rules.presets) else {
        let verb = plain
            .get(1)
            .filter(|verb| tools::is_listed(program) && !verb.is_empty() && !verb.starts_with('-'));
        let name = verb.map_or_else(|| program.to_owned(), |verb| format!("{program} {verb}"));
        return Err(format!("{} is not on the allowlist", quoted(&name)));
    };
    let usage =
        Usage::parse(call.usage).ok_or_else(|| format!("the usage line of {} is invalid", call.words))?;
    let args = &words[words.len() - (plain.len() - count)..];
    if program == "git" {
        shell.check_repository()?;
    }
    usage.check(args, shell).map_err(|why| format!("{}: {why}", call.words))?;
    // Without a branch name, git pushes the branch that is checked out.
    if call.words == "git push" && shell.branch.is_none_or(is_trunk) {
        return Err("git push: the worktree is not on an agent's branch".to_owned());
    }
    if call.network && rules.level == ApprovalLevel::Conservative {
        return Err(format!("{} uses the network, and the level is conservative", call.words));
    }
    if call.writes && !rules.writes {
        return Err(format!("{} writes files, which is switched off", call.words));
    }
    shell.wrote |= call.writes || call.moves;
    shell.moved |= call.moves;
    Ok(call.words.to_owned())
}

/// Checks an argument after the words of a user rule: whatever it means, it must not name a path outside the worktree.
fn check_argument(word: &ShellWord, shell: &ShellState<'_>) -> Result<(), String> {
    let value = match word.text.split_once('=') {
        Some((name, value)) if name.starts_with('-') => value,
        _ if word.text.starts_with('-') => word.text.trim_start_matches('-'),
        _ => &word.text,
    };
    if word.glob && value.starts_with(['*', '?', '[']) {
        return Err(format!("{} could match a file whose name is an option", quoted(&word.text)));
    }
    if value.is_empty() { Ok(()) } else { shell.check_path(value, word.glob) }
}

fn check_redirect(
    redirect: &Redirect,
    rules: &ApprovalRules,
    shell: &mut ShellState<'_>,
) -> Result<(), String> {
    let (target, writes) = match redirect {
        Redirect::Joined => return Ok(()),
        Redirect::From(target) => (target, false),
        Redirect::Into(target) => (target, true),
    };
    if target.text == "/dev/null" {
        return Ok(());
    }
    if target.glob {
        return Err(format!("a redirection to the pattern {}", quoted(&target.text)));
    }
    if writes && !rules.writes {
        return Err("a redirection writes a file, which is switched off".to_owned());
    }
    shell.check_path(&target.text, false)?;
    shell.wrote |= writes;
    Ok(())
}

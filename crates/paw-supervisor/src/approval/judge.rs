//! Judges the commands of a line in the order in which a shell would run them.

use std::path::{Path, PathBuf};

use paw_core::config::ApprovalLevel;

use super::characters::quoted;
use super::expansion;
use super::path::PathAccess;
use super::shell::ShellState;
use super::syntax::{Redirect, ShellNode, SimpleCommand, WordSource};
use super::tools::{self, AllowedCall, Effect, ExtraCheck};
use super::usage::{MatchedArguments, OptionEffect};
use super::word::{ShellWord, is_plain};
use super::{ApprovalRules, CommandContext, launchers, protected, special};

/// The most commands that are judged, with loops unrolled.
const MOST_COMMANDS: usize = 200;

/// The most file names that a loop's pattern may match.
const MOST_MATCHES: usize = 4096;

pub(super) struct Judge<'a> {
    pub(super) rules: &'a ApprovalRules,
    pub(super) place: &'a CommandContext,
    /// The texts of the line's here-documents.
    pub(super) texts: &'a [String],
    pub(super) shell: ShellState<'a>,
    reasons: Vec<String>,
    left: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        rules: &'a ApprovalRules,
        place: &'a CommandContext,
        texts: &'a [String],
    ) -> Result<Self, String> {
        let shell = ShellState::new(place)?;
        Ok(Self { rules, place, texts, shell, reasons: Vec::new(), left: MOST_COMMANDS })
    }

    /// Why the commands were allowed, each reason once.
    pub(super) fn reasons(&self) -> String {
        self.reasons.join(", ")
    }

    pub(super) fn judge_all(&mut self, nodes: &[ShellNode]) -> Result<(), String> {
        nodes.iter().try_for_each(|node| self.judge_node(node))
    }

    fn judge_node(&mut self, node: &ShellNode) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or("too many commands")?;
        match node {
            ShellNode::Command(command) => self.judge_command(command, &[]),
            ShellNode::Group(nodes) => {
                let before = self.shell.variables.clone();
                self.judge_all(nodes)?;
                self.shell.forget_changes(&before);
                Ok(())
            }
            ShellNode::List(first, others) => self.judge_list(first, others),
            ShellNode::Subshell(nodes) => {
                let (dirs, variables) = (self.shell.dirs.clone(), self.shell.variables.clone());
                self.judge_all(nodes)?;
                (self.shell.dirs, self.shell.variables) = (dirs, variables);
                Ok(())
            }
            ShellNode::Pipeline(parts) => {
                let before = self.shell.variables.clone();
                for (at, part) in parts.iter().enumerate() {
                    match part {
                        ShellNode::Command(command) => self.judge_command(command, &parts[..at])?,
                        other => self.judge_node(other)?,
                    }
                    // Each part has its own shell; in some shells, the last one is the line's.
                    self.shell.forget_changes(&before);
                }
                Ok(())
            }
            ShellNode::For { variable, values, body } => self.judge_loop(variable, values, body),
        }
    }

    /// What follows `&&` runs only if all of it did before; what follows `||`, only if some of it did not.
    fn judge_list(&mut self, first: &ShellNode, others: &[(bool, ShellNode)]) -> Result<(), String> {
        let mut dirs = self.shell.dirs.clone();
        self.judge_node(first)?;
        let before = self.shell.variables.clone();
        let mut last = first;
        for (is_alternative, node) in others {
            add_new(&mut dirs, &self.shell.dirs);
            if *is_alternative {
                self.shell.forget_changes(&before);
                self.shell.dirs.clone_from(&dirs);
            } else if is_change_of_directory(last) {
                self.shell.dirs.clone_from(&self.shell.reached);
            }
            self.judge_node(node)?;
            last = node;
        }
        self.shell.forget_changes(&before);
        add_new(&mut dirs, &self.shell.dirs);
        self.shell.dirs = dirs;
        Ok(())
    }

    /// Judges the body once for each value. A pattern stands for all of its matches.
    fn judge_loop(
        &mut self,
        variable: &str,
        values: &[WordSource],
        body: &[ShellNode],
    ) -> Result<(), String> {
        if !expansion::is_own_variable(variable) {
            return Err(format!("a loop over the variable {}", quoted(variable)));
        }
        let values = values.iter().map(WordSource::alternatives).collect::<Result<Vec<_>, _>>()?;
        for value in values.iter().flatten() {
            let value = self.expand(value)?;
            if !expansion::is_loop_value(&value) {
                return Err(format!("a loop over {}", quoted(&value.text)));
            }
            if value.glob {
                self.check_names(&value.text)?;
            }
            let (glob, dirs) = (value.glob, self.shell.dirs.len());
            self.shell.variables.insert(variable.to_owned(), Some(value));
            // The second pass sees what the first could have changed.
            for _ in 0..=usize::from(glob) {
                self.judge_all(body)?;
                if glob && self.shell.dirs.len() > dirs {
                    return Err("`cd` in a loop over file names".to_owned());
                }
            }
        }
        Ok(())
    }

    /// The matches of a loop's pattern must be names that a shell does not split.
    fn check_names(&self, pattern: &str) -> Result<(), String> {
        let is_hidden = |part: &str| part.starts_with('.') && part.contains(['*', '?']);
        if self.shell.wrote || pattern.split('/').any(is_hidden) {
            return Err(format!("a loop over {}", quoted(pattern)));
        }
        self.shell.check_path(pattern, true, PathAccess::Read)?;
        let mut dirs = self.shell.dirs.clone();
        for part in Path::new(pattern).components() {
            let text = part.as_os_str().to_string_lossy();
            if !text.contains(['*', '?']) {
                for dir in &mut dirs {
                    dir.push(part);
                }
                continue;
            }
            let mut matches = Vec::new();
            for dir in &dirs {
                let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
                let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
                for name in names.filter(|name| protected::matches(&text, name)) {
                    if !is_plain(&name) || name.starts_with('-') {
                        return Err(format!("the file name {} could be misread", quoted(&name)));
                    }
                    matches.push(dir.join(name));
                }
            }
            if matches.len() > MOST_MATCHES {
                return Err(format!("a loop over too many files: {}", quoted(pattern)));
            }
            dirs = matches;
        }
        Ok(())
    }

    fn judge_command(&mut self, command: &SimpleCommand, before: &[ShellNode]) -> Result<(), String> {
        for redirect in &command.redirects {
            self.judge_redirect(redirect)?;
        }
        let exports = command.words.first().is_some_and(|word| word.plain() == Some("export"));
        let sets = command.words.is_empty() || exports;
        for (name, value) in &command.assignments {
            // Some shells split the arguments of `export`.
            let value = if exports { value.clone() } else { value.in_quotes() };
            self.judge_assignment(name, &value, sets)?;
        }
        if exports && (command.words.len() > 1 || command.assignments.is_empty()) {
            return Err("`export` of more or less than assignments".to_owned());
        }
        if sets {
            return Ok(());
        }
        // A redirection replaces the output of the commands before.
        let fed = command
            .redirects
            .iter()
            .any(|redirect| matches!(redirect, Redirect::From(_) | Redirect::Here(_)));
        let before = if fed { &[] } else { before };
        for words in command.readings()? {
            let words = words.iter().map(|word| self.expand(word)).collect::<Result<Vec<_>, _>>()?;
            let reason = self.judge_words(&words, before)?;
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        Ok(())
    }

    /// A variable of the line itself, or one that programs may be given.
    pub(super) fn judge_assignment(
        &mut self,
        name: &str,
        value: &WordSource,
        sets: bool,
    ) -> Result<(), String> {
        let value = self.expand(value)?;
        let own = sets && expansion::is_own_variable(name);
        if !own && !tools::allows_variable(name, &value, &self.shell)? {
            return Err(format!("setting the variable {} is not on the allowlist", quoted(name)));
        }
        if sets {
            let value = ShellWord { glob: false, ..value };
            self.shell.variables.insert(name.to_owned(), Some(value));
        }
        Ok(())
    }

    /// Judges a program with its arguments. `before` are the commands whose output it gets.
    pub(super) fn judge_words(
        &mut self,
        words: &[ShellWord],
        before: &[ShellNode],
    ) -> Result<String, String> {
        let program =
            words.first().filter(|word| !word.glob && !word.home && !word.quoted && word.is_certain());
        let Some(program) = program else {
            return Err("the program's name is quoted or a pattern".to_owned());
        };
        if program.text == "cd" {
            return self.shell.change_directory(words);
        }
        if let ["git", "-C", _, _, ..] = texts(words).as_slice() {
            return self.judge_git_elsewhere(words);
        }
        if let Some(launched) = launchers::find(words, before, self)? {
            return Ok(launched);
        }
        let refused = match self.judge_listed(words) {
            Ok(reason) => return Ok(reason),
            Err(refused) => refused,
        };
        let Some((rule, more)) = self.rules.find_user_rule(words)? else { return Err(refused) };
        for word in more {
            special::check_plain_argument(word, &self.shell)?;
        }
        Ok(format!("your rule {}", quoted(&rule)))
    }

    /// `git -C directory`
    fn judge_git_elsewhere(&mut self, words: &[ShellWord]) -> Result<String, String> {
        let (dirs, linked) = (self.shell.dirs.clone(), self.shell.linked);
        self.shell.change_directory(&words[1..3])?;
        // A failed change ends git, so that only the new directories count.
        if self.shell.dirs.len() > dirs.len() {
            self.shell.dirs.retain(|dir| !dirs.contains(dir));
        }
        let words: Vec<_> = words[..1].iter().chain(&words[3..]).cloned().collect();
        let judged = self.judge_words(&words, &[]);
        (self.shell.dirs, self.shell.linked) = (dirs, linked);
        judged
    }

    fn judge_listed(&mut self, words: &[ShellWord]) -> Result<String, String> {
        let plain = tools::normalize(&texts(words));
        let Some((call, count)) = tools::find(&plain, &self.rules.stacks).filter(|_| self.rules.presets)
        else {
            return Err(not_listed(&plain));
        };
        let args = &words[words.len() - (plain.len() - count)..];
        if call.words.starts_with("git ") {
            self.shell.check_repository()?;
        }
        let found = self.check_arguments(call, args).map_err(|why| format!("{}: {why}", call.words))?;
        self.check_effects(call, &found)?;
        Ok(call.words.clone())
    }

    fn check_arguments(
        &mut self,
        call: &AllowedCall,
        args: &[ShellWord],
    ) -> Result<MatchedArguments, String> {
        let writes = call.has(Effect::Writes) || call.has(Effect::Moves);
        let access = if writes { PathAccess::Write } else { PathAccess::Read };
        let args = special::prepare(call, args, self)?;
        let mut found = call.usage.check(&args, access, &self.shell)?;
        if !writes && found.shows(OptionEffect::Writes) {
            found = call.usage.check(&args, PathAccess::Write, &self.shell)?;
        }
        special::check(call, &args, &found, self)?;
        Ok(found)
    }

    fn check_effects(&mut self, call: &AllowedCall, found: &MatchedArguments) -> Result<(), String> {
        let network = call.has(Effect::Network) || found.shows(OptionEffect::Network);
        let fetches = call.has(Effect::Fetches) && !found.shows(OptionEffect::Offline);
        if self.rules.level == ApprovalLevel::Conservative && (network || fetches) {
            let may = if network { "uses" } else { "can use" };
            return Err(format!("{} {may} the network, and the level is conservative", call.words));
        }
        let changes = call.has(Effect::Writes) || call.has(Effect::Moves);
        let writes = found.shows(OptionEffect::Writes) || (changes && !found.shows(OptionEffect::DryRun));
        if writes && !self.rules.writes {
            return Err(format!("{} writes files, which is switched off", call.words));
        }
        let renames = call.check == Some(ExtraCheck::Copy) && renames_files(&self.shell, found);
        self.shell.moved |= call.has(Effect::Moves) && !renames;
        self.shell.wrote |= writes;
        self.shell.staged |= call.has(Effect::Stages);
        Ok(())
    }

    fn judge_redirect(&mut self, redirect: &Redirect) -> Result<(), String> {
        let (target, access) = match redirect {
            Redirect::Joined | Redirect::Here(_) => return Ok(()),
            Redirect::From(target) => (target, PathAccess::Read),
            Redirect::Into(target) => (target, PathAccess::Write),
        };
        let target = self.expand(target)?;
        if target.text == "/dev/null" {
            return Ok(());
        }
        let writes = access == PathAccess::Write;
        if (target.glob && writes) || target.unknown || target.tree.is_some() {
            return Err(format!("a redirection to the pattern {}", quoted(&target.text)));
        }
        if writes && !self.rules.writes {
            return Err("a redirection writes a file, which is switched off".to_owned());
        }
        self.shell.check_path(&target.text, target.glob, access)?;
        self.shell.wrote |= writes;
        Ok(())
    }
}

/// Whether only regular files get other names, after which paths lead where they did. A directory would take links along.
fn renames_files(shell: &ShellState<'_>, found: &MatchedArguments) -> bool {
    let is_file = |word: &ShellWord, dir: &PathBuf| {
        dir.join(&word.text).symlink_metadata().is_ok_and(|found| found.is_file())
    };
    let is_plain_file = |word: &ShellWord| {
        word.is_certain() && !word.glob && !word.home && shell.dirs.iter().all(|dir| is_file(word, dir))
    };
    let sources = found.operands.split_last().map(|(_, sources)| sources).unwrap_or_default();
    !sources.is_empty() && sources.iter().all(is_plain_file)
}

fn add_new(dirs: &mut Vec<PathBuf>, more: &[PathBuf]) {
    let new: Vec<_> = more.iter().filter(|dir| !dirs.contains(dir)).cloned().collect();
    dirs.extend(new);
}

fn is_change_of_directory(node: &ShellNode) -> bool {
    matches!(node, ShellNode::Command(command) if command.words.first().is_some_and(|word| word.plain() == Some("cd")))
}

/// The unquoted texts, in which programs and verbs are looked for.
pub(super) fn texts(words: &[ShellWord]) -> Vec<&str> {
    let is_open = |word: &ShellWord| !word.quoted && !word.glob && word.is_certain();
    words.iter().map(|word| if is_open(word) { word.text.as_str() } else { "" }).collect()
}

fn not_listed(words: &[&str]) -> String {
    let program = words.first().copied().unwrap_or_default();
    if program.contains('/') {
        return format!("{} is called by its path", quoted(program));
    }
    let verb =
        words.get(1).filter(|verb| tools::is_listed(program) && !verb.is_empty() && !verb.starts_with('-'));
    let name = verb.map_or_else(|| program.to_owned(), |verb| format!("{program} {verb}"));
    format!("{} is not on the allowlist", quoted(&name))
}

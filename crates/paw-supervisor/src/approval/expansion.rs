//! What the variables and substitutions in a word stand for.

use super::characters::quoted;
use super::judge::Judge;
use super::syntax::{Redirect, ShellNode, SimpleCommand, WordPart, WordSource};
use super::word::{ShellWord, is_plain};

impl Judge<'_> {
    /// The word as a program would get it. Commands in substitutions are judged.
    pub(super) fn expand(&mut self, source: &WordSource) -> Result<ShellWord, String> {
        let mut word = ShellWord::default();
        for part in &source.parts {
            match part {
                WordPart::Text { text, quoted: true } => {
                    word.quoted = true;
                    word.is_status &= text.is_empty();
                    word.text.push_str(text);
                }
                WordPart::Text { text, quoted: false } => {
                    word.home |= word.text.is_empty() && !word.quoted && text.starts_with('~');
                    word.glob |= text.contains(['*', '?', '[']) && !matches!(text.as_str(), "[" | "[[");
                    word.is_status &= text.is_empty();
                    self.check_signs(&word.text, text)?;
                    word.text.push_str(text);
                }
                WordPart::Choice { .. } => return Err("braces that expand to several words".to_owned()),
                WordPart::Status => {
                    let value = ShellWord { is_status: true, ..unknown() };
                    append(&mut word, &value, true)?;
                }
                WordPart::Variable { name, quoted } => {
                    let value = self.variable(name)?;
                    append(&mut word, &value, *quoted)?;
                }
                WordPart::Output { nodes, quoted } => {
                    let value = self.output(nodes)?;
                    append(&mut word, &value, *quoted)?;
                }
            }
        }
        Ok(word)
    }

    /// zsh can be told to take `^`, `~` and `#` for patterns of file names. `HEAD^` is one only if a file begins like it.
    fn check_signs(&self, before: &str, text: &str) -> Result<(), String> {
        for (at, sign) in text.match_indices(['^', '~', '#']) {
            let begin = format!("{before}{}", &text[..at]);
            if (sign == "^" || !begin.is_empty()) && self.shell.begins_name(&begin) {
                return Err(format!(
                    "{} could be a pattern for file names",
                    quoted(&format!("{begin}{sign}"))
                ));
            }
        }
        Ok(())
    }

    fn variable(&self, name: &str) -> Result<ShellWord, String> {
        if let Some(value) = self.shell.variables.get(name) {
            return value.clone().ok_or_else(|| {
                format!("it depends on the course of the line which value {} has", quoted(name))
            });
        }
        match (name, self.shell.only_directory()) {
            ("PWD", Some(dir)) => Ok(ShellWord::literal(&dir)),
            (name, _) if PUBLIC_VARIABLES.contains(&name) => Ok(unknown()),
            _ => Err(format!("the value of the variable {} is not known", quoted(name))),
        }
    }

    /// The output of `$(…)`, where it is known.
    fn output(&mut self, nodes: &[ShellNode]) -> Result<ShellWord, String> {
        if let Some(text) = self.here_text(nodes) {
            return Ok(ShellWord::literal(text.trim_end_matches('\n')));
        }
        let (dirs, variables) = (self.shell.dirs.clone(), self.shell.variables.clone());
        self.judge_all(nodes)?;
        (self.shell.dirs, self.shell.variables) = (dirs, variables);
        let words = match nodes {
            [ShellNode::Command(SimpleCommand { words, redirects, .. })] if redirects.is_empty() => {
                words.iter().map(|word| word.plain().unwrap_or_default()).collect()
            }
            _ => Vec::new(),
        };
        let known = match words.as_slice() {
            ["pwd"] => self.shell.only_directory(),
            ["git", "rev-parse", "--show-toplevel"] if !self.shell.moved => {
                self.shell.bounds.root.to_str().map(str::to_owned)
            }
            _ => None,
        };
        Ok(known.map_or_else(unknown, |text| ShellWord::literal(&text)))
    }

    /// The text of `cat <<'EOF' … EOF`.
    fn here_text(&self, nodes: &[ShellNode]) -> Option<String> {
        let [ShellNode::Command(SimpleCommand { assignments, words, redirects })] = nodes else {
            return None;
        };
        match (assignments.as_slice(), words.as_slice(), redirects.as_slice()) {
            ([], [program], [Redirect::Here(number)]) if program.plain() == Some("cat") => {
                self.texts.get(*number).cloned()
            }
            _ => None,
        }
    }
}

/// Stands for the output of a command in a word, so that the text around it does not close the gap.
const UNKNOWN: char = char::REPLACEMENT_CHARACTER;

fn unknown() -> ShellWord {
    ShellWord { text: UNKNOWN.to_string(), unknown: true, ..ShellWord::default() }
}

/// Without quotes, a shell splits a value and expands patterns in it.
fn append(word: &mut ShellWord, value: &ShellWord, quoted: bool) -> Result<(), String> {
    let plain = value.is_plain() || value.is_status || (value.glob && !value.unknown);
    if !quoted && !plain {
        return Err("an expansion without quotes could become several words".to_owned());
    }
    word.quoted = true;
    word.glob |= value.glob;
    word.unknown |= value.unknown;
    word.is_status = value.is_status && word.text.is_empty();
    word.text.push_str(&value.text);
    Ok(())
}

/// Variables of the environment that are no secrets, so that their values may be printed.
const PUBLIC_VARIABLES: [&str; 14] = [
    "CARGO_HOME",
    "CI",
    "EDITOR",
    "GOPATH",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LOGNAME",
    "NODE_ENV",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "VIRTUAL_ENV",
];

/// Variables that a line may set for itself: names that no shell and no program reads.
const OWN_VARIABLES: [&str; 83] = [
    "f",
    "file",
    "files_dir",
    "i",
    "j",
    "k",
    "n",
    "x",
    "y",
    "d",
    "dir",
    "name",
    "p",
    "pkg",
    "package_name",
    "crate",
    "crate_name",
    "t",
    "test_name",
    "m",
    "mod_name",
    "b",
    "branch",
    "c",
    "commit",
    "dep",
    "line_no",
    "item",
    "s",
    "src",
    "r",
    "v",
    "ver",
    "word",
    "e",
    "l",
    "g",
    "u",
    "w",
    "z",
    "rc",
    "ret",
    "code",
    "out",
    "msg",
    "res",
    "result",
    "count",
    "num",
    "total",
    "base",
    "head",
    "ref",
    "sha",
    "tag",
    "key",
    "val",
    "value",
    "text",
    "body",
    "title",
    "target_file",
    "target_dir",
    "test_file",
    "log_file",
    "first",
    "last",
    "a",
    "o",
    "q",
    "h",
    "N",
    "RC",
    "COUNT",
    "TOTAL",
    "FILE",
    "OUT",
    "RESULT",
    "SHA",
    "HASH",
    "BASE",
    "BRANCH",
    "MSG",
];

pub(super) fn is_own_variable(name: &str) -> bool {
    OWN_VARIABLES.contains(&name)
}

/// The values of a loop: words that a shell leaves alone, or patterns whose matches have plain names.
pub(super) fn is_loop_value(word: &ShellWord) -> bool {
    word.is_plain() || (word.glob && is_plain(&word.text.replace(['*', '?'], "x")))
}

//! The kinds of arguments that a usage line can name.

mod form;

pub(super) use self::form::is_trunk;
use self::form::{
    is_broker, is_key, is_mode, is_name, is_number, is_own_branch, is_property, is_script, is_trunk_of,
    takes_texts,
};
use super::characters::quoted;
use super::file_tree::FileTree;
use super::path::PathAccess;
use super::protected;
use super::scripts;
use super::shell::ShellState;
use super::word::ShellWord;

/// The value of an argument: a whole word, or the part after an option's `=`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArgumentValue<'a> {
    pub(super) text: &'a str,
    pub(super) glob: bool,
    /// A file name that a pattern matches cannot be taken for an option here.
    pub(super) no_option: bool,
    /// It is the value of an option, in a word of its own.
    pub(super) is_value: bool,
    /// Contains the output of a command.
    pub(super) unknown: bool,
    /// The exit code of a command.
    pub(super) is_status: bool,
    pub(super) tree: Option<&'a FileTree>,
    pub(super) access: PathAccess,
}

impl<'a> ArgumentValue<'a> {
    pub(super) fn of(word: &'a ShellWord, access: PathAccess) -> Self {
        let ShellWord { text, glob, unknown, is_status, tree, .. } = word;
        Self {
            text,
            glob: *glob,
            no_option: false,
            is_value: false,
            unknown: *unknown,
            is_status: *is_status,
            tree: tree.as_ref(),
            access,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    /// `TEXT`: any text that is neither a path nor code.
    Text,
    /// `WORDS`, or `TEXTS` if words with a dash are meant, too: text of a program without harmful options, so that it may start with the output of a command.
    Words,
    /// `PATH`: in the worktree and not protected. Commit names pass too.
    Path,
    /// `FILE`: like `PATH`, for a program without harmful options, so that a pattern may start with a wildcard.
    File,
    /// `LOCAL`: a path that starts with `.`, so that it is not the name of a package to download.
    Local,
    /// `ARG`, or `ARGS` if options are meant, too: an argument for the project's own program. Whatever it means, it must not name a path outside the worktree.
    Argument,
    /// `NUM`: a number, optionally with a sign and a unit.
    Number,
    /// `NAME`: letters, digits and a few signs, as in names of packages, features and tests.
    Name,
    /// `TRIPLE`: the name of a compilation target, not a file that describes one.
    Triple,
    /// `REF`: a branch or a tag, not a mapping from one to another.
    Ref,
    /// `TRUNK`: the default branch, or a remote's.
    Trunk,
    /// `FORMAT`: a date format, which starts with a plus; without it `date` would set the clock.
    Format,
    /// `PRINT`: a format with text conversions only. zsh evaluates numbers, including commands in them.
    Print,
    /// `SED`: a script that neither runs commands nor names files.
    Sed,
    /// `AWK`: a program that neither runs commands nor names files nor reads the environment.
    Awk,
    /// `JQ`: a filter that does not read the environment or modules.
    Jq,
    /// `SUFFIX`: the suffix of a backup file. Another one could give it the name of a settings file.
    Suffix,
    /// `MODE`: read, write and execute permissions; no setuid or setgid.
    Mode,
    /// `REMOTE`: `origin` or `upstream`, never an address.
    Remote,
    /// `BRANCH`: the worktree's own branch.
    Branch,
    /// `LINES`: a range of lines and, after a colon, the file that has them.
    Lines,
    /// `LOCALE`: one whose texts are ASCII or UTF-8. In others, a letter can contain a backslash, and a shell reads quotes
    /// differently.
    Locale,
    /// `KEY`: a git setting that holds no secret.
    Key,
    /// `BROKER`: an address of the session's broker.
    Broker,
    /// `DATA`: text that does not name a file to send.
    Data,
    /// `SCRIPT`: a package script with a well-known name.
    Script,
    /// `PROP`: a property that selects tests.
    Property,
    /// `a|b`: one of these words.
    Choice(Vec<String>),
}

impl ArgumentKind {
    pub(super) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "TEXT" => Self::Text,
            "WORDS" | "TEXTS" => Self::Words,
            "PATH" => Self::Path,
            "FILE" => Self::File,
            "LOCAL" => Self::Local,
            "ARG" | "ARGS" => Self::Argument,
            "NUM" => Self::Number,
            "NAME" => Self::Name,
            "TRIPLE" => Self::Triple,
            "REF" => Self::Ref,
            "TRUNK" => Self::Trunk,
            "PRINT" => Self::Print,
            "SED" => Self::Sed,
            "AWK" => Self::Awk,
            "JQ" => Self::Jq,
            "SUFFIX" => Self::Suffix,
            "MODE" => Self::Mode,
            "REMOTE" => Self::Remote,
            "BRANCH" => Self::Branch,
            "LINES" => Self::Lines,
            "LOCALE" => Self::Locale,
            "KEY" => Self::Key,
            "BROKER" => Self::Broker,
            "DATA" => Self::Data,
            "SCRIPT" => Self::Script,
            "PROP" => Self::Property,
            "FORMAT" => Self::Format,
            word if word.contains(|c: char| c == '|' || c.is_ascii_lowercase() || c == '=' || c == '.') => {
                Self::Choice(word.split('|').map(str::to_owned).collect())
            }
            _ => return None,
        })
    }

    /// Whether a value of this kind may start with a dash.
    pub(super) fn may_be_negative(&self) -> bool {
        *self == Self::Number
    }

    pub(super) fn check(&self, value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
        let text = value.text;
        if value.unknown {
            let fits = match self {
                Self::Words => true,
                Self::Text => value.is_value || value.no_option,
                Self::Number => value.is_status,
                _ => false,
            };
            return if fits {
                Ok(())
            } else {
                Err(format!("{} depends on the output of a command", quoted(text)))
            };
        }
        match self {
            Self::Path | Self::File => return self.check_path(value, shell),
            Self::Argument => return check_any(value, shell),
            Self::Lines => return check_lines(value, shell),
            Self::Local if text == "." || text.starts_with("./") => return self.check_path(value, shell),
            Self::Words if value.glob => return shell.check_path(text, true, PathAccess::Read),
            _ if value.glob || value.tree.is_some() => {
                return Err(format!("{} is a pattern for file names", quoted(text)));
            }
            _ => {}
        }
        let fits = match self {
            Self::Text | Self::Words | Self::Path | Self::File | Self::Argument => true,
            Self::Local | Self::Lines => false,
            Self::Locale => {
                let ends = [".utf-8", ".utf8"].iter().any(|end| text.to_ascii_lowercase().ends_with(end));
                matches!(text, "C" | "POSIX") || (is_name(text) && ends)
            }
            Self::Number => is_number(text),
            Self::Name => is_name(text),
            Self::Ref => {
                let name = text.replace(['~', '^', '{', '}'], "x");
                is_name(&name) && !text.contains([':', '+', ',', ' ']) && !text.starts_with(['^', '~', '{'])
            }
            Self::Triple => is_name(text) && !text.contains('/') && !text.contains(".json"),
            Self::Trunk => is_trunk_of(text, shell.trunk),
            Self::Print => takes_texts(text),
            Self::Sed => scripts::is_harmless_sed(text),
            Self::Awk => scripts::is_harmless_awk(text),
            Self::Jq => scripts::is_harmless_jq(text),
            Self::Suffix => matches!(text, "" | ".bak" | ".orig" | ".old" | ".tmp" | ".backup"),
            Self::Format => text.starts_with('+'),
            Self::Mode => is_mode(text),
            Self::Remote => matches!(text, "origin" | "upstream"),
            Self::Branch => is_own_branch(text, shell),
            Self::Key => is_key(text),
            Self::Broker => is_broker(text, shell.broker_port),
            Self::Data => !text.starts_with('@'),
            Self::Script => is_script(text),
            Self::Property => is_property(text),
            Self::Choice(words) => words.iter().any(|word| word == text),
        };
        if fits { Ok(()) } else { Err(self.refusal(text)) }
    }

    fn check_path(&self, value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
        let text = value.text;
        if let Some(tree) = value.tree {
            return shell.check_tree(tree, value.access);
        }
        // Some programs pass what follows `--` to another one.
        if text.starts_with('-') && text.len() > 1 {
            return Err(format!("{} is a file name that looks like an option", quoted(text)));
        }
        let leading = text.starts_with(['*', '?', '[']);
        if value.glob && leading && *self == Self::Path && !value.no_option {
            return Err(format!("{} could match a file whose name is an option", quoted(text)));
        }
        // Several programs read more arguments from `@file`; for git `@` is a commit.
        let at =
            text.strip_prefix('@').filter(|name| !name.is_empty() && !name.starts_with(['{', '~', '^', '.']));
        if at.is_some() {
            return Err(format!("{} could be a file with more arguments", quoted(text)));
        }
        // What git leaves out is not read.
        if [":!", ":^", ":(exclude)"].iter().any(|sign| text.starts_with(sign)) && shell.is_free(text) {
            return Ok(());
        }
        // git reads `HEAD:file` and `:(top)file`.
        for (at, _) in text.match_indices([':', ')', '=']) {
            let part = text[at..].trim_start_matches([':', ')', '=', '!', '^']);
            if !part.is_empty() && part != "/" {
                shell.check_path(part, value.glob, value.access)?;
            }
        }
        // git expands quoted patterns, too, for hidden files as well.
        if !value.glob && text.contains(['*', '?', '[']) {
            let last = text.rsplit(['/', ':', ')']).next().unwrap_or(text);
            let secrets =
                [".env", ".env.local", "id_rsa", "server.pem", "server.key", ".npmrc", "credentials.json"];
            if secrets.iter().any(|name| protected::matches(last, name)) {
                return Err(format!("{} could match a protected file", quoted(text)));
            }
        }
        shell.check_path(text, value.glob, value.access)
    }

    fn refusal(&self, text: &str) -> String {
        let text = quoted(text);
        match self {
            Self::Sed => format!("the sed script {text} does more than edit text"),
            Self::Awk => format!("the awk program {text} does more than read text"),
            Self::Print => format!("the format {text} takes more than text"),
            Self::Jq => format!("the jq filter {text} reads more than its input"),
            Self::Branch => format!("{text} is not the worktree's own branch"),
            Self::Trunk => format!("{text} is not the default branch"),
            Self::Broker => format!("{text} is not the session's broker"),
            Self::Data => format!("{text} sends a file"),
            Self::Remote => format!("{text} is not `origin` or `upstream`"),
            _ => format!("the argument {text} is not on the allowlist"),
        }
    }
}

/// `1,5:file` and `:name:file`
fn check_lines(value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
    let file = value.text.rsplit(':').next().unwrap_or_default();
    if value.glob || value.tree.is_some() || file == value.text {
        return Err(format!("{} does not name lines of a file", quoted(value.text)));
    }
    shell.check_path(file, false, PathAccess::Read)
}

/// Whatever the argument means, no part of it may be a path outside of the worktree.
fn check_any(value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
    let text = value.text;
    if value.tree.is_some() || value.glob || text.contains("://") {
        return Err(format!("{} is not a plain argument", quoted(text)));
    }
    let is_path = |c: char| c.is_alphanumeric() || "._/~-".contains(c);
    for part in text.split(|c| !is_path(c)).filter(|part| !part.is_empty()) {
        let name = part.trim_start_matches('-');
        // `-f/etc/passwd`
        if part.starts_with('-') && name.contains(['/', '~']) {
            return Err(format!("{} could name a path", quoted(text)));
        }
        if !name.is_empty() {
            shell.check_path(name, false, PathAccess::Write)?;
        }
    }
    Ok(())
}

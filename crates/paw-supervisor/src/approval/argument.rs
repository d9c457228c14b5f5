//! The kinds of arguments that a usage line can name.

use super::characters::quoted;
use super::command::ShellState;
use super::lex::ShellWord;

/// The value of an argument: a whole word, or the part after an option's `=`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArgumentValue<'a> {
    pub(super) text: &'a str,
    pub(super) glob: bool,
    /// A file name that a pattern matches cannot be taken for an option here.
    pub(super) no_option: bool,
}

impl<'a> ArgumentValue<'a> {
    pub(super) fn of(word: &'a ShellWord) -> Self {
        Self { text: &word.text, glob: word.glob, no_option: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    /// `TEXT`: any text that is neither a path nor code.
    Text,
    /// `PATH`: in the worktree and not protected. Commit names pass too.
    Path,
    /// `FILE`: like `PATH`, for a program without harmful options, so that a pattern may start with a wildcard.
    File,
    /// `NUM`: a number, optionally with a sign and a unit.
    Number,
    /// `NAME`: letters, digits and a few signs, as in names of packages, features and tests.
    Name,
    /// `REF`: a branch or a tag, not a mapping from one to another.
    Ref,
    /// `FORMAT`: a date format, which starts with a plus; without it `date` would set the clock.
    Format,
    /// `PRINT`: a format with text conversions only. zsh evaluates numbers, including commands in them.
    Print,
    /// `SED`: lines to print.
    Sed,
    /// `JQ`: the path of a field.
    Jq,
    /// `MODE`: read, write and execute permissions; no setuid or setgid.
    Mode,
    /// `REMOTE`: `origin` or `upstream`, never an address.
    Remote,
    /// `BRANCH`: the worktree's own branch.
    Branch,
    /// `BROKER`: an address of the session's broker.
    Broker,
    /// `DATA`: text that does not name a file to send.
    Data,
    /// `SCRIPT`: a package script with a well-known name.
    Script,
    /// `a|b`: one of these words.
    Choice(Vec<String>),
}

impl ArgumentKind {
    pub(super) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "TEXT" => Self::Text,
            "PATH" => Self::Path,
            "FILE" => Self::File,
            "NUM" => Self::Number,
            "NAME" => Self::Name,
            "REF" => Self::Ref,
            "PRINT" => Self::Print,
            "SED" => Self::Sed,
            "JQ" => Self::Jq,
            "MODE" => Self::Mode,
            "REMOTE" => Self::Remote,
            "BRANCH" => Self::Branch,
            "BROKER" => Self::Broker,
            "DATA" => Self::Data,
            "SCRIPT" => Self::Script,
            "FORMAT" => Self::Format,
            word if word.contains(|c: char| c == '|' || c.is_ascii_lowercase()) => {
                Self::Choice(word.split('|').map(str::to_owned).collect())
            }
            _ => return None,
        })
    }

    pub(super) fn check(&self, value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
        match self {
            Self::Path | Self::File => return self.check_path(value, shell),
            _ if value.glob => return Err(format!("{} is a pattern for file names", quoted(value.text))),
            _ => {}
        }
        let text = value.text;
        let fits = match self {
            Self::Text | Self::Path | Self::File => true,
            Self::Number => is_number(text),
            Self::Name => is_name(text),
            Self::Ref => is_name(text) && !text.contains([':', '+', ',', ' ']),
            Self::Print => takes_texts(text),
            Self::Sed => text.split(';').all(|part| is_print(part.trim())),
            Self::Jq => is_field(text),
            Self::Format => text.starts_with('+'),
            Self::Mode => is_mode(text),
            Self::Remote => matches!(text, "origin" | "upstream"),
            Self::Branch => is_own_branch(text, shell.branch),
            Self::Broker => is_broker(text, shell.broker_port),
            Self::Data => !text.starts_with('@'),
            Self::Script => is_script(text),
            Self::Choice(words) => words.iter().any(|word| word == text),
        };
        if fits { Ok(()) } else { Err(self.refusal(text)) }
    }

    fn check_path(&self, value: ArgumentValue<'_>, shell: &ShellState<'_>) -> Result<(), String> {
        let leading = value.text.starts_with(['*', '?', '[']);
        if value.glob && leading && *self == Self::Path && !value.no_option {
            return Err(format!("{} could match a file whose name is an option", quoted(value.text)));
        }
        // Several programs read more arguments from `@file`; for git `@` is a commit.
        if value
            .text
            .strip_prefix('@')
            .is_some_and(|name| !name.is_empty() && !name.starts_with(['{', '~', '^', '.']))
        {
            return Err(format!("{} could be a file with more arguments", quoted(value.text)));
        }
        shell.check_path(value.text, value.glob)
    }

    fn refusal(&self, text: &str) -> String {
        let text = quoted(text);
        match self {
            Self::Sed => format!("the sed script {text} does more than print lines"),
            Self::Print => format!("the format {text} takes more than text"),
            Self::Jq => format!("the jq filter {text} does more than name a field"),
            Self::Branch => format!("{text} is not the worktree's own branch"),
            Self::Broker => format!("{text} is not the session's broker"),
            Self::Data => format!("{text} sends a file"),
            Self::Remote => format!("{text} is not `origin` or `upstream`"),
            _ => format!("the argument {text} is not on the allowlist"),
        }
    }
}

/// Digits, with an optional sign before and an optional unit after them.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(digits);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:@/+- ".contains(c);
    !text.is_empty() && !text.starts_with(['-', '/']) && !text.contains("..") && text.chars().all(plain)
}

/// `%s`, `%-10s`, `%b`, `%%`: conversions that do not evaluate their argument.
fn takes_texts(format: &str) -> bool {
    let mut parts = format.split('%');
    parts.next();
    let mut escaped = false;
    parts.all(|part| {
        if std::mem::take(&mut escaped) {
            return true;
        }
        escaped = part.is_empty();
        let kind = part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
        escaped || kind.starts_with(['s', 'b', 'c', 'q'])
    }) && !escaped
}

/// `5p`, `1,20p`, `$p`, `/word/p`, `/from/,/to/p`
fn is_print(script: &str) -> bool {
    fn after_address(script: &str) -> Option<&str> {
        if let Some(pattern) = script.strip_prefix('/') {
            let (pattern, rest) = pattern.split_once('/')?;
            return (!pattern.contains(['\\', '\n'])).then_some(rest);
        }
        let rest = script
            .strip_prefix('$')
            .unwrap_or_else(|| script.trim_start_matches(|c: char| c.is_ascii_digit()));
        (rest.len() < script.len()).then_some(rest)
    }
    let Some(rest) = after_address(script) else { return false };
    match rest.strip_prefix(',') {
        Some(second) => after_address(second.strip_prefix('+').unwrap_or(second)) == Some("p"),
        None => rest == "p",
    }
}

fn is_field(filter: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._[]-".contains(c);
    filter.starts_with('.') && filter.chars().all(plain)
}

fn is_mode(mode: &str) -> bool {
    let rights = mode.trim_start_matches(['u', 'g', 'o', 'a']);
    rights.len() > 1
        && rights.starts_with(['+', '-'])
        && rights[1..].chars().all(|c| matches!(c, 'r' | 'w' | 'x'))
}

fn is_own_branch(text: &str, own: Option<&str>) -> bool {
    own.is_some_and(|own| !is_trunk(own) && (text == "HEAD" || text == own))
}

/// Branches that no agent owns.
pub(super) fn is_trunk(branch: &str) -> bool {
    matches!(branch, "main" | "master" | "trunk" | "develop")
}

fn is_broker(address: &str, port: Option<u16>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.?=&-".contains(c);
    let Some(port) = port else { return false };
    ["127.0.0.1", "localhost"].iter().any(|host| {
        let path = address.strip_prefix(&format!("http://{host}:{port}"));
        path.is_some_and(|path| (path.is_empty() || path.starts_with('/')) && path.chars().all(plain))
    })
}

fn is_script(name: &str) -> bool {
    const EVERYDAY: [&str; 8] =
        ["test", "lint", "build", "check", "typecheck", "type-check", "tsc", "format:check"];
    let first = name.split(':').next().unwrap_or_default();
    is_name(name) && (EVERYDAY.contains(&name) || matches!(first, "test" | "lint" | "build" | "check"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sed_scripts_that_print_are_allowed() {
        for script in ["5p", "1,20p", "$p", "10,$p", "/fn main/p", "/a/,/b/p", "/a/,+3p", "1p"] {
            assert!(is_print(script), "{script}");
        }
        for script in
            ["", "p;w x", "1,5w /etc/x", "1e id", "s/a/b/e", "s/a/b/w x", "/a\\/w x/p", "1,5p w", "d", "1~2p"]
        {
            assert!(!is_print(script), "{script}");
        }
    }

    #[test]
    fn only_printf_formats_with_text_conversions_are_allowed() {
        for format in ["", "x", "%s\\n", "%-10s|%5.2s", "%b", "100%%", "%%%s", "%%d"] {
            assert!(takes_texts(format), "{format}");
        }
        for format in ["%d", "%x%s", "%*s", "%1$d", "%.*s", "%", "%s%", "%%%d", "%(%F)T", "% s", "%ld"] {
            assert!(!takes_texts(format), "{format}");
        }
    }

    #[test]
    fn only_the_sessions_broker_address_is_allowed() {
        for address in [
            "http://127.0.0.1:9119/status",
            "http://localhost:9119",
            "http://127.0.0.1:9119/messages/a?since=3",
        ] {
            assert!(is_broker(address, Some(9119)), "{address}");
        }
        for address in [
            "http://127.0.0.1:91191/x",
            "http://127.0.0.1:9119@evil.example/",
            "http://127.0.0.1.evil.example:9119/",
            "https://example.com",
            "127.0.0.1:9119/x",
            "http://127.0.0.1:9119/{a,b}",
            "file:///etc/passwd",
        ] {
            assert!(!is_broker(address, Some(9119)), "{address}");
        }
        assert!(!is_broker("http://127.0.0.1:9119/", None));
    }

    #[test]
    fn names_numbers_modes_and_fields_are_strict() {
        assert!(
            is_name("paw-core") && is_name("a::b") && !is_name("-x") && !is_name("../x") && !is_name("a;b")
        );
        assert!(
            is_number("-7") && is_number("+10k") && !is_number("1e9x") && !is_number("") && !is_number("x")
        );
        assert!(is_mode("+x") && is_mode("u+rw") && !is_mode("u+s") && !is_mode("777") && !is_mode("+"));
        assert!(is_field(".a[0].b-c") && !is_field("env") && !is_field(".a|input") && is_field("."));
    }
}

//! The texts that an argument may consist of. Pure.

use crate::approval::shell::ShellState;

/// Digits, with an optional sign before and an optional unit after them.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(digits);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:@/+- ".contains(c);
    !text.is_empty() && !text.starts_with(['-', '/']) && !text.contains("..") && text.chars().all(plain)
}

/// `%s`, `%-10s`, `%b`, `%%`: conversions that do not evaluate their argument.
pub(super) fn takes_texts(format: &str) -> bool {
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

pub(super) fn is_mode(mode: &str) -> bool {
    let rights = mode.trim_start_matches(['u', 'g', 'o', 'a']);
    rights.len() > 1
        && rights.starts_with(['+', '-'])
        && rights[1..].chars().all(|c| matches!(c, 'r' | 'w' | 'x'))
}

/// `<own>`, `HEAD`, or one of them with `:<own>`.
pub(super) fn is_own_branch(text: &str, shell: &ShellState<'_>) -> bool {
    let Some(own) = shell.branch.filter(|own| !is_trunk_of(own, shell.trunk)) else { return false };
    let (from, to) = text.split_once(':').unwrap_or((text, own));
    let to = to.strip_prefix("refs/heads/").unwrap_or(to);
    let from = from.strip_prefix("refs/heads/").unwrap_or(from);
    (from == "HEAD" || from == own) && to == own
}

/// The default branch, as a local or a remote branch.
pub(super) fn is_trunk_of(text: &str, trunk: Option<&str>) -> bool {
    let name = ["origin/", "upstream/"].iter().find_map(|remote| text.strip_prefix(remote)).unwrap_or(text);
    is_trunk(name) || Some(name) == trunk
}

/// Branches that no agent owns.
pub(in crate::approval) fn is_trunk(branch: &str) -> bool {
    matches!(branch, "main" | "master" | "trunk" | "develop")
}

pub(super) fn is_broker(address: &str, port: Option<u16>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.?=&-".contains(c);
    let Some(port) = port else { return false };
    ["127.0.0.1", "localhost"].iter().any(|host| {
        let path = address.strip_prefix(&format!("http://{host}:{port}"));
        path.is_some_and(|path| (path.is_empty() || path.starts_with('/')) && path.chars().all(plain))
    })
}

pub(super) fn is_script(name: &str) -> bool {
    const EVERYDAY: [&str; 16] = [
        "test",
        "tests",
        "lint",
        "build",
        "check",
        "typecheck",
        "type-check",
        "types",
        "tsc",
        "format",
        "fmt",
        "coverage",
        "prettier",
        "eslint",
        "compile",
        "unit",
    ];
    let first = name.split([':', '-', '.']).next().unwrap_or_default();
    is_name(name)
        && !name.contains('/')
        && (EVERYDAY.contains(&name) || EVERYDAY.contains(&first))
        && !is_deploying(name)
}

/// Scripts that reach other machines, whatever their name begins with.
pub(super) fn is_deploying(name: &str) -> bool {
    const REMOTE: [&str; 12] = [
        "deploy",
        "publish",
        "release",
        "push",
        "upload",
        "prod",
        "production",
        "live",
        "remote",
        "docker",
        "smoke",
        "staging",
    ];
    name.split([':', '-', '.', '_']).any(|part| REMOTE.contains(&part))
}

/// `test=Name` and the like: which tests run.
pub(super) fn is_property(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, "true"));
    let known = [
        "test",
        "tests",
        "it.test",
        "skipTests",
        "skipITs",
        "surefire.failIfNoSpecifiedTests",
        "failIfNoTests",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,#*+$-".contains(c);
    known.contains(&name) && value.chars().all(plain)
}

/// Settings that hold no secret. Headers, credentials and commands are left out.
pub(super) fn is_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let sections = [
        "user.name",
        "user.email",
        "init.",
        "branch.",
        "push.",
        "pull.",
        "merge.conflictstyle",
        "rebase.",
        "commit.gpgsign",
        "core.bare",
        "core.hookspath",
        "core.autocrlf",
        "core.editor",
        "core.ignorecase",
        "core.filemode",
        "diff.",
        "fetch.prune",
        "remote.origin.url",
        "remote.upstream.url",
        "remote.pushdefault",
        "rerere.enabled",
    ];
    key.chars().all(plain) && sections.iter().any(|section| key.starts_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn names_numbers_and_modes_are_strict() {
        assert!(
            is_name("paw-core") && is_name("a::b") && !is_name("-x") && !is_name("../x") && !is_name("a;b")
        );
        assert!(
            is_number("-7") && is_number("+10k") && !is_number("1e9x") && !is_number("") && !is_number("x")
        );
        assert!(is_mode("+x") && is_mode("u+rw") && !is_mode("u+s") && !is_mode("777") && !is_mode("+"));
    }
}

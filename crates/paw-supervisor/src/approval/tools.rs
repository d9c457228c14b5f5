//! The known programs and how each may be called, as plain tables. One file per family.

mod cargo;
mod git;
mod go;
mod node;
mod paw;
mod python;
mod unix;

use paw_core::config::Stack;

/// An allowed call: its first words, and the usage line of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AllowedCall {
    pub(super) words: &'static str,
    pub(super) usage: &'static str,
    /// Uses the network.
    pub(super) network: bool,
    /// Writes the files it is given.
    pub(super) writes: bool,
    /// Can replace files and links, so that paths lead elsewhere.
    pub(super) moves: bool,
}

const fn local(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { words, usage, network: false, writes: false, moves: false }
}

const fn writes(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { writes: true, ..local(words, usage) }
}

const fn moves(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { moves: true, ..writes(words, usage) }
}

const fn changes(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { moves: true, ..local(words, usage) }
}

const fn network(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { network: true, ..local(words, usage) }
}

const fn pulls(words: &'static str, usage: &'static str) -> AllowedCall {
    AllowedCall { network: true, ..changes(words, usage) }
}

/// Words between a program and its verb that can be ignored.
const SKIPPED: [(&str, &[&str]); 2] =
    [("git", &["--no-pager", "--no-optional-locks"]), ("cargo", &["+stable", "+beta", "+nightly"])];

/// The words without those that can be ignored, and `git-paw` as `git paw`.
pub(super) fn normalize<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut words = words.to_vec();
    let skipped = SKIPPED.iter().find(|(program, _)| words.first() == Some(program));
    if let Some((_, skipped)) = skipped {
        while words.get(1).is_some_and(|word| skipped.contains(word)) {
            words.remove(1);
        }
    }
    if words.first() == Some(&"git-paw") {
        words.splice(..1, ["git", "paw"]);
    }
    words
}

/// The longest matching call, and the number of its words. A non-empty list of stacks leaves out the others.
pub(super) fn find(words: &[&str], stacks: &[Stack]) -> Option<(&'static AllowedCall, usize)> {
    let fits = |call: &&AllowedCall| {
        let mut begins = call.words.split(' ');
        let count = begins.clone().count();
        words.len() >= count && begins.by_ref().eq(words[..count].iter().copied())
    };
    let best = tables(stacks).flatten().filter(fits).max_by_key(|call| call.words.split(' ').count())?;
    Some((best, best.words.split(' ').count()))
}

/// Whether a program has a preset.
pub(super) fn is_listed(program: &str) -> bool {
    tables(&[]).flatten().any(|call| call.words.split(' ').next() == Some(program))
}

fn tables(stacks: &[Stack]) -> impl Iterator<Item = &'static [AllowedCall]> {
    let wanted = |stack: Stack| stacks.is_empty() || stacks.contains(&stack);
    let always = [git::CALLS, paw::CALLS, cargo::CALLS, unix::CALLS, unix::WRITING];
    let per_stack = [
        (Stack::Rust, cargo::MORE),
        (Stack::Node, node::CALLS),
        (Stack::Python, python::CALLS),
        (Stack::Go, go::CALLS),
    ];
    let per_stack: Vec<_> =
        per_stack.into_iter().filter(|(stack, _)| wanted(*stack)).map(|(_, calls)| calls).collect();
    always.into_iter().chain(per_stack)
}

/// Programs whose arguments are programs or code. A user rule for one of them allows no further arguments.
pub(super) fn runs_other_programs(program: &str) -> bool {
    const LAUNCHERS: [&str; 49] = [
        ".", "ash", "awk", "bash", "builtin", "bun", "busybox", "chroot", "command", "dash", "deno",
        "docker", "doas", "env", "eval", "exec", "find", "fish", "flock", "gawk", "gdb", "ksh", "lua",
        "mawk", "nice", "node", "nohup", "npx", "nsenter", "parallel", "perl", "php", "podman", "pwsh",
        "python", "python2", "python3", "ruby", "script", "setsid", "sh", "source", "ssh", "strace", "sudo",
        "time", "timeout", "xargs", "zsh",
    ];
    let name = program.rsplit('/').next().unwrap_or(program);
    LAUNCHERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::usage::Usage;

    #[test]
    fn every_usage_line_parses() {
        for call in tables(&[]).flatten() {
            assert!(Usage::parse(call.usage).is_some(), "{}: {}", call.words, call.usage);
        }
    }

    /// Letters after one dash are separate options, unless the program has long names with one dash.
    #[test]
    fn only_known_programs_have_long_options_with_one_dash() {
        for call in tables(&[]).flatten() {
            let program = call.words.split(' ').next().unwrap_or_default();
            let long = |word: &str| word.split(['=', '[']).next().is_some_and(|name| name.len() > 2);
            let mut options =
                call.usage.split_whitespace().filter(|word| word.starts_with('-') && *word != "-NUM");
            let found = options.find(|word| !word.starts_with("--") && long(word));
            assert!(
                found.is_none() || matches!(program, "go" | "find" | "staticcheck"),
                "{}: {found:?}",
                call.words
            );
        }
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut words: Vec<_> = tables(&[]).flatten().map(|call| call.words).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn stacks_add_presets_to_the_common_ones() {
        assert!(find(&["npm", "test"], &[]).is_some() && find(&["npm", "test"], &[Stack::Node]).is_some());
        assert!(
            find(&["npm", "test"], &[Stack::Go]).is_none() && find(&["go", "test"], &[Stack::Go]).is_some()
        );
        assert!(find(&["cargo", "test"], &[Stack::Go]).is_some());
    }

    #[test]
    fn the_longest_call_is_meant() {
        assert_eq!(find(&["git", "stash", "list", "-p"], &[]).map(|(_, count)| count), Some(3));
        assert_eq!(find(&["git", "frobnicate"], &[]), None);
        assert_eq!(normalize(&["git", "--no-pager", "log"]), ["git", "log"]);
        assert_eq!(normalize(&["git-paw", "inbox"]), ["git", "paw", "inbox"]);
    }
}

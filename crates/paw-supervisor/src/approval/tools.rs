//! The known programs and how each may be called, as plain tables in `tools/`. One file per family.
//!
//! A table has one row per group of options, and beside each the reason why it is harmless:
//!
//! ```text
//! [cp] writes copy | copies inside the worktree
//! -v -n | prints more, or keeps existing files
//! = PATH PATH... | both ends are in the worktree
//! ```
//!
//! Effects stand after the first words of the call, and before the options of a row. `@name` includes the rows of the group
//! `[@name]`. Rows after `--` are for the arguments after `--`. See `usage` for options and `argument` for kinds of values.

use std::sync::LazyLock;

use paw_core::config::Stack;

use super::argument::{ArgumentKind, ArgumentValue};
use super::path::PathAccess;
use super::shell::ShellState;
use super::usage::{OptionEffect, Usage};
use super::word::ShellWord;

/// An allowed call: its first words, the usage of the rest, and its effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedCall {
    pub(super) words: String,
    pub(super) usage: Usage,
    pub(super) check: Option<ExtraCheck>,
    effects: Vec<Effect>,
    stack: Option<Stack>,
    /// Whether the call is in the table of other stacks, which a list of stacks leaves out.
    other: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Uses the network.
    Network,
    /// Downloads what is missing, unless an option says otherwise.
    Fetches,
    /// Writes the files it is given.
    Writes,
    /// Can replace files and links, so that paths lead elsewhere.
    Moves,
    /// Changes git's index or the last commit.
    Stages,
}

/// A check beyond the usage line, in `special`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtraCheck {
    Address,
    Copy,
    Find,
    Grep,
    InPlace,
    Printed,
    Prints,
    Push,
    Ripgrep,
    Script,
    Staged,
    Test,
    Trees,
}

impl AllowedCall {
    pub(super) fn has(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }
}

struct Table {
    text: &'static str,
    stack: Option<Stack>,
    other: bool,
}

const fn common(text: &'static str) -> Table {
    Table { text, stack: None, other: false }
}

const TABLES: [Table; 10] = [
    common(include_str!("tools/git.table")),
    common(include_str!("tools/paw.table")),
    common(include_str!("tools/unix.table")),
    common(include_str!("tools/cargo.table")),
    common(include_str!("tools/shell.table")),
    Table { text: include_str!("tools/rust.table"), stack: Some(Stack::Rust), other: false },
    Table { text: include_str!("tools/node.table"), stack: Some(Stack::Node), other: false },
    Table { text: include_str!("tools/python.table"), stack: Some(Stack::Python), other: false },
    Table { text: include_str!("tools/go.table"), stack: Some(Stack::Go), other: false },
    Table { text: include_str!("tools/other.table"), stack: None, other: true },
];

static CALLS: LazyLock<Vec<AllowedCall>> = LazyLock::new(|| {
    let read = |table: &Table| {
        read_table(table.text)
            .into_iter()
            .map(|call| AllowedCall { stack: table.stack, other: table.other, ..call })
            .collect::<Vec<_>>()
    };
    TABLES.iter().flat_map(read).collect()
});

/// Reads a table. Rows that are not written correctly allow nothing; a test finds them.
fn read_table(text: &str) -> Vec<AllowedCall> {
    let mut calls: Vec<AllowedCall> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Choices contain bars without spaces around them.
        let row = line.split(" | ").next().unwrap_or_default();
        if let Some(header) = row.strip_prefix('[') {
            let (words, effects) = header.split_once(']').unwrap_or((header, ""));
            calls.push(call(words, effects));
        } else if let Some(name) = row.strip_prefix('@') {
            let group = calls.iter().find(|call| call.words == format!("@{}", name.trim())).cloned();
            if let (Some(call), Some(group)) = (calls.last_mut(), group) {
                call.usage.include(&group.usage);
            }
        } else if let Some(call) = calls.last_mut() {
            add_row(&mut call.usage, row);
        }
    }
    calls.retain(|call| !call.words.starts_with('@'));
    calls
}

fn call(words: &str, effects: &str) -> AllowedCall {
    let mut call = AllowedCall {
        words: words.to_owned(),
        usage: Usage::default(),
        check: None,
        effects: Vec::new(),
        stack: None,
        other: false,
    };
    for word in effects.split_whitespace() {
        match word {
            "network" => call.effects.push(Effect::Network),
            "fetches" => call.effects.push(Effect::Fetches),
            "writes" => call.effects.push(Effect::Writes),
            "moves" => call.effects.push(Effect::Moves),
            "stages" => call.effects.push(Effect::Stages),
            "address" => call.check = Some(ExtraCheck::Address),
            "copy" => call.check = Some(ExtraCheck::Copy),
            "find" => call.check = Some(ExtraCheck::Find),
            "grep" => call.check = Some(ExtraCheck::Grep),
            "in-place" => call.check = Some(ExtraCheck::InPlace),
            "printed" => call.check = Some(ExtraCheck::Printed),
            "prints" => call.check = Some(ExtraCheck::Prints),
            "push" => call.check = Some(ExtraCheck::Push),
            "ripgrep" => call.check = Some(ExtraCheck::Ripgrep),
            "script" => call.check = Some(ExtraCheck::Script),
            "staged" => call.check = Some(ExtraCheck::Staged),
            "test" => call.check = Some(ExtraCheck::Test),
            "trees" => call.check = Some(ExtraCheck::Trees),
            _ => {}
        }
    }
    call
}

fn add_row(usage: &mut Usage, row: &str) -> Option<()> {
    if row == "--" {
        usage.behind = Some(Box::default());
        return Some(());
    }
    let usage = match &mut usage.behind {
        Some(behind) => behind,
        None => usage,
    };
    if let Some(operands) = row.strip_prefix("= ") {
        return usage.set_operands(operands);
    }
    let (first, rest) = row.split_once(' ').unwrap_or((row, ""));
    let effect = match first {
        "writes" => OptionEffect::Writes,
        "network" => OptionEffect::Network,
        "offline" => OptionEffect::Offline,
        "dry" => OptionEffect::DryRun,
        _ => return usage.add_options(row, OptionEffect::None),
    };
    usage.add_options(rest, effect)
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
    let wanted = |call: &&AllowedCall| match call.stack {
        _ if stacks.is_empty() => true,
        Some(stack) => stacks.contains(&stack),
        None => !call.other,
    };
    let best = CALLS.iter().filter(wanted).filter(fits).max_by_key(|call| call.words.split(' ').count())?;
    Some((best, best.words.split(' ').count()))
}

/// Whether a program has a preset.
pub(super) fn is_listed(program: &str) -> bool {
    CALLS.iter().any(|call| call.words.split(' ').next() == Some(program))
}

/// Whether a program can be installed for a project: the tools of node and python.
pub(super) fn is_installable(program: &str) -> bool {
    let installed = |call: &&AllowedCall| matches!(call.stack, Some(Stack::Node | Stack::Python));
    CALLS.iter().filter(installed).any(|call| call.words.split(' ').next() == Some(program))
}

/// The package of a node tool that a package manager may run.
pub(super) fn package_of(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "tsc" => "typescript",
        "eslint" => "eslint",
        "prettier" => "prettier",
        "vitest" => "vitest",
        "jest" => "jest",
        "mocha" => "mocha",
        "ava" => "ava",
        "tap" => "tap",
        "biome" => "@biomejs/biome",
        "playwright" => "@playwright/test",
        "vue-tsc" => "vue-tsc",
        "svelte-check" => "svelte-check",
        "stylelint" => "stylelint",
        _ => return None,
    })
}

/// The variables that a line may set, with the kinds of their values.
static VARIABLES: LazyLock<Vec<(&'static str, ArgumentKind)>> = LazyLock::new(|| {
    let rows = include_str!("tools/variables.table").lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let (names, kind) = line.split(" | ").next()?.split_once('=')?;
        let kind = ArgumentKind::parse(kind)?;
        Some(names.split(' ').map(move |name| (name, kind.clone())))
    })
    .flatten()
    .collect()
});

/// Whether a variable may be set for the programs of the line. An error means that its value may not.
pub(super) fn allows_variable(name: &str, value: &ShellWord, shell: &ShellState<'_>) -> Result<bool, String> {
    let Some((_, kind)) = VARIABLES.iter().find(|(known, _)| *known == name) else { return Ok(false) };
    if value.text.is_empty() && !value.unknown {
        return Ok(true);
    }
    let checked = ArgumentValue { is_value: true, ..ArgumentValue::of(value, PathAccess::Write) };
    kind.check(checked, shell).map(|()| true).map_err(|why| format!("{name}: {why}"))
}

/// Programs whose arguments are programs or code. A user rule for one of them allows no further arguments.
pub(super) fn runs_other_programs(program: &str) -> bool {
    const LAUNCHERS: [&str; 54] = [
        ".", "ash", "awk", "bash", "builtin", "bun", "bunx", "busybox", "chroot", "command", "dash", "deno",
        "docker", "doas", "env", "eval", "exec", "find", "fish", "flock", "gawk", "gdb", "ksh", "lua",
        "mawk", "nice", "node", "nohup", "npx", "nsenter", "parallel", "perl", "php", "podman", "pwsh",
        "python", "python2", "python3", "ruby", "script", "setsid", "sh", "source", "ssh", "strace", "sudo",
        "time", "timeout", "xargs", "zsh", "uv", "uvx", "pipx", "watch",
    ];
    let name = program.rsplit('/').next().unwrap_or(program);
    LAUNCHERS.contains(&name)
}

/// Programs whose further arguments are further targets. A user rule for one of them names all of its targets.
pub(super) fn runs_targets(program: &str) -> bool {
    const RUNNERS: [&str; 30] = [
        "make", "gmake", "bmake", "just", "task", "rake", "ninja", "mage", "gradle", "gradlew", "mvn",
        "mvnw", "ant", "sbt", "mill", "bazel", "buck2", "nx", "turbo", "invoke", "inv", "nox", "tox", "doit",
        "scons", "grunt", "gulp", "cmake", "earthly", "dagger",
    ];
    RUNNERS.contains(&program.rsplit('/').next().unwrap_or(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> impl Iterator<Item = &'static str> {
        let texts = TABLES.iter().map(|table| table.text).chain([include_str!("tools/variables.table")]);
        let lines = texts.flat_map(str::lines).map(str::trim);
        lines.filter(|line| {
            !line.is_empty() && !line.starts_with('#') && *line != "--" && !line.starts_with('@')
        })
    }

    #[test]
    fn every_row_of_the_tables_has_a_reason() {
        for row in rows() {
            let why = row.split_once(" | ").map(|(_, why)| why.trim());
            assert!(why.is_some_and(|why| why.len() > 5), "{row}");
        }
    }

    #[test]
    fn every_row_of_the_tables_parses() {
        for row in rows() {
            let row = row.split(" | ").next().unwrap();
            if let Some(header) = row.strip_prefix('[') {
                let known = [
                    "network", "fetches", "writes", "moves", "stages", "address", "copy", "find", "grep",
                    "in-place", "printed", "prints", "push", "ripgrep", "script", "staged", "test", "trees",
                ];
                let (words, effects) = header.split_once(']').unwrap();
                assert!(
                    !words.is_empty() && effects.split_whitespace().all(|effect| known.contains(&effect)),
                    "{row}"
                );
            } else if row.starts_with('-') || row.starts_with("= ") {
                assert!(add_row(&mut Usage::default(), row).is_some(), "{row}");
            } else if row.contains(" -") {
                let first = row.split(' ').next().unwrap();
                assert!(["writes", "network", "offline", "dry"].contains(&first), "{row}");
                assert!(add_row(&mut Usage::default(), row).is_some(), "{row}");
            } else {
                let (name, kind) = row.split_once('=').unwrap_or_else(|| panic!("{row}"));
                assert!(!name.is_empty() && ArgumentKind::parse(kind).is_some(), "{row}");
            }
        }
        for include in
            TABLES.iter().flat_map(|table| table.text.lines()).filter_map(|line| line.strip_prefix('@'))
        {
            assert!(
                TABLES.iter().any(|table| table.text.contains(&format!("[@{}]", include.trim()))),
                "{include}"
            );
        }
    }

    /// Letters after one dash are separate options, unless the program has long names with one dash.
    #[test]
    fn only_known_programs_have_long_options_with_one_dash() {
        for call in CALLS.iter() {
            let program = call.words.split(' ').next().unwrap_or_default();
            let found = call
                .usage
                .options
                .iter()
                .find(|option| option.name.len() > 2 && !option.name.starts_with("--"));
            let known = ["go", "goimports", "gofumpt", "find", "staticcheck", "terraform"];
            assert!(found.is_none() || known.contains(&program), "{}: {found:?}", call.words);
        }
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut words: Vec<_> = CALLS.iter().map(|call| &call.words).collect();
        words.sort_unstable();
        let twice: Vec<_> = words.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn stacks_add_presets_to_the_common_ones() {
        assert!(find(&["npm", "test"], &[]).is_some() && find(&["npm", "test"], &[Stack::Node]).is_some());
        assert!(
            find(&["npm", "test"], &[Stack::Go]).is_none() && find(&["go", "test"], &[Stack::Go]).is_some()
        );
        assert!(find(&["cargo", "test"], &[Stack::Go]).is_some());
        assert!(find(&["mvn", "test"], &[]).is_some() && find(&["mvn", "test"], &[Stack::Go]).is_none());
    }

    #[test]
    fn the_longest_call_is_meant() {
        assert_eq!(find(&["git", "stash", "list", "-p"], &[]).map(|(_, count)| count), Some(3));
        assert_eq!(find(&["git", "frobnicate"], &[]), None);
        assert_eq!(normalize(&["git", "--no-pager", "log"]), ["git", "log"]);
        assert_eq!(normalize(&["git-paw", "inbox"]), ["git", "paw", "inbox"]);
    }
}

//! The guide: what it shows is typed here, and what it says is looked up.

mod blocks;
mod messages;
mod run;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};

use paw_testkit::Sandbox;

use crate::paw::{PROGRAM, paw};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page by its path in the repository.
fn load_page(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The pages of the guide, and the one in front of it.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_page = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "md");
    let mut pages: Vec<_> = docs.filter(is_page).map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// One test for each page, so that they run side by side.
macro_rules! commands_work {
    ($($name:ident: $page:literal,)+) => {
        const TYPED: &[&str] = &[$($page),+];
        $(#[test]
        fn $name() {
            run::type_page($page);
        })+
    };
}

mod every_command_works_in {
    use super::run;

    commands_work! {
        the_readme: "README.md",
        agents: "docs/agents.md",
        browser: "docs/browser.md",
        clis: "docs/clis.md",
        configuration: "docs/configuration.md",
        first_steps: "docs/first-steps.md",
        gates: "docs/gates.md",
        hosts: "docs/hosts.md",
        messages: "docs/messages.md",
        programs: "docs/programs.md",
        security: "docs/security.md",
        sessions: "docs/sessions.md",
        supervisor: "docs/supervisor.md",
        test_first: "docs/test-first.md",
        troubleshooting: "docs/troubleshooting.md",
        unattended: "docs/unattended.md",
        worktrees: "docs/worktrees.md",
    }

    #[test]
    fn pages_that_nobody_has_forgotten() {
        let shows_commands = |page: &String| super::load_page(page).contains("```console");
        let all: Vec<_> = super::pages().into_iter().filter(shows_commands).collect();
        let forgotten: Vec<_> = all.iter().filter(|page| !TYPED.contains(&page.as_str())).collect();
        assert!(forgotten.is_empty(), "{forgotten:?} show commands that no test types");
    }
}

#[test]
fn help_without_a_name_lists_commands_and_chapters() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["help"]);
    for line in ["Commands:", "  start ", "Chapters of the guide", "  troubleshooting "] {
        assert!(ran.code == 0 && ran.stdout.contains(line), "{line}: {ran}");
    }
}

#[test]
fn help_shows_a_command_as_its_flag_does_and_names_its_chapter() {
    let sandbox = Sandbox::new();
    let flag = paw(&sandbox, &sandbox.root(), &["worktree", "create", "--help"]);
    let word = paw(&sandbox, &sandbox.root(), &["help", "worktree", "create"]);
    let Some(rest) = word.stdout.strip_prefix(&flag.stdout) else { panic!("{word}") };
    assert_eq!(rest, "\nThe guide: git paw help worktrees\n");
}

#[test]
fn every_chapter_is_a_topic_of_help() {
    let sandbox = Sandbox::new();
    for page in
        pages().iter().filter_map(|page| page.strip_prefix("docs/")).filter(|page| *page != "SUMMARY.md")
    {
        let topic = page.trim_end_matches(".md");
        let ran = paw(&sandbox, &sandbox.root(), &["help", topic, "--markdown"]);
        let said = ran.stdout == load_page(&format!("docs/{page}"));
        assert!(
            ran.code == 0 && said,
            "git paw help {topic} is not docs/{page}; after a change of the configuration's schema:\n\
             cargo run -q -p git-paw -- help keys --markdown > docs/keys.md"
        );
        let plain = paw(&sandbox, &sandbox.root(), &["help", topic]);
        let leftovers =
            plain.stdout.contains("](") || plain.stdout.contains("<!--") || plain.stdout.contains("```");
        assert!(plain.code == 0 && !leftovers, "{plain}");
        let long = plain.stdout.lines().find(|line| !line.starts_with(' ') && line.chars().count() > 80);
        assert_eq!(long, None, "{topic} is too wide for a terminal");
    }
}

#[test]
fn a_chapter_is_shown_through_the_pager_of_whoever_reads() {
    let mut sandbox = Sandbox::new();
    sandbox.install_program("my-pager", "#!/bin/sh\necho \"paged with $1\"\nhead -n 1 \"$2\"\n");
    sandbox.set("PAGER", "my-pager --quietly");
    let terminal = paw_testkit::Terminal::run(&sandbox, &sandbox.root(), PROGRAM, &["help", "sessions"]);
    terminal.wait_for("paged with --quietly");
    terminal.wait_for("Sessions");
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn help_about_nothing_says_where_to_look() {
    let sandbox = Sandbox::new();
    for words in [
        &["help", "nonsense"][..],
        &["help", "start", "over"],
        &["help", "__dashboard"],
        &["help", "\x1b[31mred"],
    ] {
        let ran = paw(&sandbox, &sandbox.root(), words);
        assert!(ran.code == 2 && ran.stderr.contains("`git paw help` lists them"), "{ran}");
        assert!(!ran.stderr.contains('\x1b'), "{ran:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new();
    let dir = sandbox.root().join("man");
    let ran = paw(&sandbox, &sandbox.root(), &["man", dir.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran}");
    let commands = whole::commands(&sandbox, &[]);
    assert!(commands.contains(&"worktree create".to_owned()), "{commands:?}");
    for command in commands {
        let page = fs::read_to_string(dir.join(format!("git-paw-{}.1", command.replace(' ', "-"))));
        let page = page.unwrap_or_else(|error| panic!("{command}: {error}")).replace("\\-", "-");
        assert!(page.contains(".SH EXAMPLES\n"), "{page}");
        assert!(page.contains(".SH SYNOPSIS") && page.contains(&format!("git paw {command}")), "{page}");
    }
    let names = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let hidden: Vec<_> = names.filter(|name| name.contains("__")).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

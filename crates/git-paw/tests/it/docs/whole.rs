//! The guide as a whole: nothing is missing from it, and no link leads nowhere.

use std::path::Path;

use paw_testkit::Sandbox;

use super::{load_page, pages, root};
use crate::paw::paw;

/// Every command that people may type, with those below it.
pub(super) fn commands(sandbox: &Sandbox, above: &[&str]) -> Vec<String> {
    let args: Vec<&str> = above.iter().copied().chain(["--help"]).collect();
    let help = paw(sandbox, &sandbox.root(), &args).stdout;
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let names =
        listed.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let mut commands = Vec::new();
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        if name == "help" && !above.is_empty() {
            continue;
        }
        let path: Vec<&str> = above.iter().copied().chain([name]).collect();
        commands.push(path.join(" "));
        commands.extend(self::commands(sandbox, &path));
    }
    commands
}

/// Targets of links, with the line they are on. What stands in code is no link.
fn links(markdown: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut code = false;
    for (line, number) in markdown.lines().zip(1..) {
        code ^= line.starts_with("```");
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|after| Some(after.split_once(')')?.0.to_owned()));
        if !code {
            links.extend(targets.map(|target| (number, target)));
        }
    }
    links
}

/// How mdBook and forges name the place of a heading.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let dir = root().join(&page).parent().unwrap().to_path_buf();
        for (line, target) in
            links(&load_page(&page)).into_iter().filter(|(_, target)| !target.contains("://"))
        {
            let (file, place) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { root().join(&page) } else { dir.join(file) };
            assert!(path.exists(), "{page}:{line}: {target} is not there");
            if !place.is_empty() {
                let text = std::fs::read_to_string(&path).unwrap();
                let found =
                    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == place);
                assert!(found, "{page}:{line}: {target} has no such heading");
            }
        }
    }
}

#[test]
fn the_summary_has_every_chapter_once() {
    let summary = links(&load_page("docs/SUMMARY.md"));
    for page in
        pages().iter().filter_map(|page| page.strip_prefix("docs/")).filter(|page| *page != "SUMMARY.md")
    {
        assert_eq!(summary.iter().filter(|(_, target)| target == page).count(), 1, "{page}");
    }
}

#[test]
fn every_command_is_mentioned() {
    let sandbox = Sandbox::new();
    let guide: String = pages().iter().map(|page| load_page(page)).collect();
    let missing: Vec<_> = commands(&sandbox, &[])
        .into_iter()
        .filter(|command| !guide.contains(&format!("git paw {command}")))
        .collect();
    assert!(missing.is_empty(), "the guide does not know {missing:?}");
}

#[test]
fn the_book_is_made_of_these_pages() {
    let book: toml::Table = toml::from_str(&load_page("docs/book.toml")).unwrap();
    assert_eq!(book["book"]["src"].as_str(), Some("."));
    let build = Path::new(book["build"]["build-dir"].as_str().unwrap());
    assert!(build.starts_with(".."), "mdBook must not find its own output among the pages");
}

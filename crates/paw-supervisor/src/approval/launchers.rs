//! Programs that run another program: what they run is judged instead.

use paw_core::config::ApprovalLevel;

use super::characters::quoted;
use super::file_tree::FileTree;
use super::find;
use super::judge::{Judge, texts};
use super::syntax::{ShellNode, WordPart, WordSource};
use super::tools;
use super::word::ShellWord;

/// The words before the program that is run, and why they are harmless.
const PREFIXES: &[(&str, &str)] = &[
    ("time", "measures time"),
    ("time -p", "measures time"),
    ("nice", "lowers the priority"),
    ("uv run", "runs in the project's environment; what is missing is downloaded"),
    ("uv run --offline", "runs in the project's environment, without downloading"),
    ("poetry run", "runs in the project's environment"),
    ("pipenv run", "runs in the project's environment"),
    ("bundle exec", "runs with the project's gems"),
];

/// Launchers that download what is missing.
const FETCHING: &[&str] = &["uv run", "npx", "pnpm exec", "yarn exec", "bunx", "bun x"];

/// Node tools run by a package manager, which would download a package that is not installed.
const PACKAGE_RUNNERS: &[&str] = &[
    "npx",
    "npx --no-install",
    "npx --no",
    "pnpm exec",
    "pnpm",
    "yarn run",
    "yarn exec",
    "yarn",
    "bunx",
    "bun x",
    "bun run",
];

/// Judges what a launcher runs; `None` if the program is not one.
pub(super) fn find(
    words: &[ShellWord],
    before: &[ShellNode],
    judge: &mut Judge<'_>,
) -> Result<Option<String>, String> {
    let texts = texts(words);
    match texts.as_slice() {
        ["timeout", ..] => {
            let skip =
                timeout_words(&texts).ok_or("`timeout` with arguments that are not on the allowlist")?;
            return judge.judge_words(&words[skip..], before).map(Some);
        }
        ["nice", "-n", number, _, ..] if is_number(number) => {
            return judge.judge_words(&words[3..], before).map(Some);
        }
        ["env", ..] => return environment(words, before, judge).map(Some),
        ["xargs", ..] => return arguments(words, before, judge).map(Some),
        _ => {}
    }
    let prefixed = |prefix: &str| {
        let count = prefix.split(' ').count();
        (texts.len() > count && prefix.split(' ').eq(texts[..count].iter().copied())).then_some(count)
    };
    if let Some(count) = PREFIXES.iter().filter_map(|(prefix, _)| prefixed(prefix)).max() {
        if texts[count].starts_with('-') {
            return Ok(None);
        }
        require_network(&texts[..count], judge)?;
        return judge.judge_words(&words[count..], before).map(Some);
    }
    if let Some(tool) = installed_tool(texts[0]) {
        let words: Vec<_> =
            [ShellWord::literal(tool)].into_iter().chain(words[1..].iter().cloned()).collect();
        return judge.judge_words(&words, before).map(Some);
    }
    let Some(count) = PACKAGE_RUNNERS.iter().filter_map(|prefix| prefixed(prefix)).max() else {
        return Ok(None);
    };
    let Some(package) = tools::package_of(texts[count]) else { return Ok(None) };
    if !judge.place.packages.contains(package) {
        return Err(format!("{} is not in the lockfile of the default branch", quoted(package)));
    }
    require_network(&texts[..count], judge)?;
    judge.judge_words(&words[count..], before).map(Some)
}

/// A launcher that could download something is not for the conservative level.
fn require_network(words: &[&str], judge: &Judge<'_>) -> Result<(), String> {
    let name = words.join(" ");
    if FETCHING.contains(&name.as_str()) && judge.rules.level == ApprovalLevel::Conservative {
        return Err(format!("{name} can use the network, and the level is conservative"));
    }
    Ok(())
}

/// `timeout -k 5 60`
fn timeout_words(texts: &[&str]) -> Option<usize> {
    let mut at = 1;
    loop {
        match texts.get(at..)? {
            ["-k" | "--kill-after", number, ..] if is_number(number) => at += 2,
            ["-s" | "--signal", "INT" | "TERM" | "KILL" | "HUP", ..] => at += 2,
            ["--preserve-status" | "--foreground" | "-v" | "--verbose", ..] => at += 1,
            [number, _, ..] if is_number(number) => return Some(at + 1),
            _ => return None,
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_suffix(['s', 'm', 'h']).unwrap_or(text);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `env NAME=value program`
fn environment(words: &[ShellWord], before: &[ShellNode], judge: &mut Judge<'_>) -> Result<String, String> {
    let mut rest = &words[1..];
    while let Some((first, more)) = rest.split_first() {
        let Some((name, value)) = first.text.split_once('=').filter(|(name, _)| !name.starts_with('-'))
        else {
            break;
        };
        if first.unknown || first.glob {
            return Err(format!("setting the variable {} is not on the allowlist", quoted(name)));
        }
        let value = WordSource { parts: vec![WordPart::Text { text: value.to_owned(), quoted: true }] };
        judge.judge_assignment(name, &value, false)?;
        rest = more;
    }
    if rest.is_empty() || rest.len() == words.len() - 1 {
        return Err("`env` prints the environment or has options".to_owned());
    }
    judge.judge_words(rest, before)
}

/// `.venv/bin/pytest`, `node_modules/.bin/jest`: programs that are installed for the project.
fn installed_tool(program: &str) -> Option<&str> {
    let program = program.strip_prefix("./").unwrap_or(program);
    let directories = [".venv/bin/", "venv/bin/", "node_modules/.bin/"];
    let tool = directories.iter().find_map(|directory| program.strip_prefix(directory))?;
    (!tool.contains('/') && tools::is_installable(tool)).then_some(tool)
}

/// `xargs program`: the program gets the files that the commands before it list.
fn arguments(words: &[ShellWord], before: &[ShellNode], judge: &mut Judge<'_>) -> Result<String, String> {
    let mut with_nul = false;
    let mut mark = None;
    let mut at = 1;
    loop {
        let texts: Vec<_> = words[at.min(words.len())..].iter().map(|word| word.text.as_str()).collect();
        match texts.as_slice() {
            ["-0" | "--null", ..] => {
                with_nul = true;
                at += 1;
            }
            ["-r" | "--no-run-if-empty" | "-t", ..] => at += 1,
            ["-n" | "-P" | "-L", number, ..] if number.chars().all(|c| c.is_ascii_digit()) => at += 2,
            ["-I", replaced, ..] => {
                mark = Some((*replaced).to_owned());
                at += 2;
            }
            ["-I{}", ..] => {
                mark = Some("{}".to_owned());
                at += 1;
            }
            [option, ..] if option.starts_with('-') => {
                return Err(format!("xargs: the option {} is not on the allowlist", quoted(option)));
            }
            [] => return Err("`xargs` without a program".to_owned()),
            _ => break,
        }
    }
    let tree = FileTree { splits: !with_nul, ..find::listed_files(before, with_nul, judge)? };
    judge.judge_words(&with_listed(&words[at..], mark, &tree)?, &[])
}

fn with_listed(words: &[ShellWord], mark: Option<String>, tree: &FileTree) -> Result<Vec<ShellWord>, String> {
    let Some(mark) = mark else {
        let files = ShellWord { text: "{}".to_owned(), tree: Some(tree.clone()), ..ShellWord::default() };
        return Ok(words.iter().cloned().chain([files]).collect());
    };
    if mark.is_empty() {
        return Err("`xargs -I` without a mark".to_owned());
    }
    find::with_files(words, &mark, tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_has_a_reason() {
        assert!(PREFIXES.iter().all(|(_, why)| !why.is_empty()));
    }

    #[test]
    fn timeout_takes_a_duration_and_few_options() {
        assert_eq!(timeout_words(&["timeout", "60", "ls"]), Some(2));
        assert_eq!(timeout_words(&["timeout", "-k", "5", "1m", "ls"]), Some(4));
        assert_eq!(timeout_words(&["timeout", "ls"]), None);
        assert_eq!(timeout_words(&["timeout", "60"]), None);
    }
}

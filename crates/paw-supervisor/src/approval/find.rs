//! `find` and other commands that list files, and the commands that get those files as arguments.

use super::characters::quoted;
use super::file_tree::FileTree;
use super::judge::Judge;
use super::syntax::{Redirect, ShellNode, SimpleCommand};
use super::word::ShellWord;

/// Judges the commands of `-exec`, and returns the other arguments.
pub(super) fn without_actions(args: &[ShellWord], judge: &mut Judge<'_>) -> Result<Vec<ShellWord>, String> {
    let mut others = Vec::new();
    let mut actions = Vec::new();
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        if word.text != "-exec" {
            others.push(word.clone());
            continue;
        }
        let mut action = Vec::new();
        loop {
            let Some(word) = rest.next() else { return Err("`-exec` does not end".to_owned()) };
            match word.text.as_str() {
                ";" => break,
                "+" if action.last().is_some_and(|last: &ShellWord| last.text == "{}") => break,
                _ => action.push(word.clone()),
            }
        }
        actions.push(action);
    }
    let tree = tree_of(&others);
    for action in actions {
        let words = with_files(&action, "{}", &tree)?;
        judge.judge_words(&words, &[])?;
    }
    Ok(others)
}

/// The command with the files in place of `mark`.
pub(super) fn with_files(words: &[ShellWord], mark: &str, tree: &FileTree) -> Result<Vec<ShellWord>, String> {
    let files = |word: &ShellWord| {
        if word.text == mark {
            Ok(ShellWord { text: mark.to_owned(), tree: Some(tree.clone()), ..ShellWord::default() })
        } else if word.text.contains(mark) {
            Err(format!("{} contains a file name", quoted(&word.text)))
        } else {
            Ok(word.clone())
        }
    };
    words.iter().map(files).collect()
}

/// The files that `find` could list with these arguments. What is not understood selects more, never less.
fn tree_of(args: &[ShellWord]) -> FileTree {
    let texts: Vec<_> = args.iter().map(|word| word.text.as_str()).collect();
    let is_root = |text: &&&str| !text.starts_with('-') && !matches!(**text, "(" | "!");
    let mut roots: Vec<_> = texts.iter().take_while(is_root).map(|text| (*text).to_owned()).collect();
    if roots.is_empty() {
        roots.push(".".to_owned());
    }
    let negated = |at: usize| at > 0 && matches!(texts[at - 1], "!" | "-not");
    let has_name = |part: &&[&str]| part.iter().any(|text| matches!(*text, "-name" | "-iname"));
    // `! ( -name a )` selects everything else.
    let inverted = texts.windows(2).any(|pair| {
        matches!(pair[0], "!" | "-not")
            && !matches!(pair[1], "-name" | "-iname" | "-path" | "-ipath" | "-type" | "-empty")
    });
    let grouped = texts.iter().scan(0_i32, |depth, text| {
        *depth += i32::from(*text == "(") - i32::from(*text == ")");
        Some((*depth, *text))
    });
    let loose = grouped.clone().any(|(depth, text)| depth == 0 && matches!(text, "-o" | "-or" | ","));
    let mut names = Vec::new();
    if !inverted && texts.split(|text| matches!(*text, "-o" | "-or" | ",")).all(|part| has_name(&part)) {
        for (at, pair) in texts.windows(2).enumerate() {
            if matches!(pair[0], "-name" | "-iname") {
                names.push(if negated(at) { "*".to_owned() } else { pair[1].to_owned() });
            }
        }
    }
    let plain_files = !loose
        && grouped
            .zip(texts.iter().skip(1))
            .enumerate()
            .any(|(at, ((depth, text), next))| depth == 0 && text == "-type" && *next == "f" && !negated(at));
    FileTree { roots, names, follows: !plain_files, ..FileTree::default() }
}

/// The files that the commands before `xargs` list, if they list files: one per line, or with NUL after each.
pub(super) fn listed_files(
    before: &[ShellNode],
    with_nul: bool,
    judge: &mut Judge<'_>,
) -> Result<FileTree, String> {
    let unknown = || "`xargs` after a command that does not list files".to_owned();
    let Some((first, filters)) = before.split_first() else { return Err(unknown()) };
    for filter in filters {
        let words = words_of(filter, judge).ok_or_else(unknown)?;
        if !passes_lines(&words) {
            return Err(unknown());
        }
    }
    let words = words_of(first, judge).ok_or_else(unknown)?;
    let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
    if with_nul != (texts.contains(&"-print0") && !texts.contains(&"-print") && filters.is_empty()) {
        return Err("`xargs` separates names in another way than the command before".to_owned());
    }
    // git prints names that begin at the root of the worktree.
    let at_root = judge.shell.dirs == [judge.shell.bounds.root.clone()];
    let tracked =
        || FileTree { roots: vec![".".to_owned()], follows: true, tracked: true, ..FileTree::default() };
    match texts.as_slice() {
        ["find", args @ ..] if prints_names(args) => Ok(tree_of(&words[1..])),
        ["git", "ls-files"] => Ok(tracked()),
        ["git", "diff", "--name-only"] if at_root => Ok(tracked()),
        ["git", "ls-files", pattern] if pattern.starts_with("*.") && words[2].quoted => {
            Ok(FileTree { names: vec![(*pattern).to_owned()], ..tracked() })
        }
        ["git", "diff", "--name-only", more] if at_root && !more.starts_with('-') => Ok(tracked()),
        ["grep", flags, pattern, files @ ..] if is_listing(flags) && !pattern.starts_with('-') => {
            listing(files).ok_or_else(unknown)
        }
        ["rg", "-l" | "--files-with-matches", pattern, files @ ..] if !pattern.starts_with('-') => {
            listing(files).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// Whether `find` prints nothing but names.
fn prints_names(args: &[&str]) -> bool {
    !args.iter().any(|arg| matches!(*arg, "-exec" | "-printf" | "-ls"))
}

/// `-rl`, `-lr`, `-rln`
fn is_listing(flags: &str) -> bool {
    let letters = flags.strip_prefix('-').unwrap_or_default();
    letters.contains('l') && letters.chars().all(|c| "rliEFw".contains(c))
}

/// The files below the operands of a search that prints names.
fn listing(args: &[&str]) -> Option<FileTree> {
    let (options, files): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with('-'));
    let names = options.iter().map(|option| option.strip_prefix("--include=")).collect::<Option<Vec<_>>>()?;
    let roots = if files.is_empty() { vec!["."] } else { files };
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    Some(FileTree { roots: owned(roots), names: owned(names), follows: true, ..FileTree::default() })
}

fn words_of(node: &ShellNode, judge: &mut Judge<'_>) -> Option<Vec<ShellWord>> {
    let ShellNode::Command(SimpleCommand { words, redirects, .. }) = node else { return None };
    // Other input would be passed on.
    let silent = |redirect: &Redirect| matches!(redirect, Redirect::Into(target) if target.plain() == Some("/dev/null"));
    if !redirects.iter().all(silent) {
        return None;
    }
    words.iter().map(|word| judge.expand(word).ok()).collect()
}

/// Programs that print some of the lines they read, unchanged.
fn passes_lines(words: &[ShellWord]) -> bool {
    let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
    match texts.as_slice() {
        ["sort" | "uniq" | "head" | "tail"] | ["sort", "-u" | "-r"] => true,
        ["head" | "tail", count] => {
            count.strip_prefix('-').is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
        }
        ["head" | "tail", "-n", count] => count.chars().all(|c| c.is_ascii_digit()),
        ["grep", pattern] | ["grep", "-v" | "-i" | "-E" | "-F" | "-vE" | "-Ev", pattern] => {
            !pattern.starts_with('-')
        }
        _ => false,
    }
}

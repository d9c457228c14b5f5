//! What a list of options cannot say about some programs: where copies go, which files are read below a directory, what
//! `find` runs, and where a push leads.

use super::characters::quoted;
use super::file_tree::FileTree;
use super::judge::Judge;
use super::path::PathAccess;
use super::printed;
use super::shell::ShellState;
use super::tools::{AllowedCall, ExtraCheck};
use super::usage::MatchedArguments;
use super::word::ShellWord;

/// Takes out arguments that are commands themselves, after they were judged.
pub(super) fn prepare(
    call: &AllowedCall,
    args: &[ShellWord],
    judge: &mut Judge<'_>,
) -> Result<Vec<ShellWord>, String> {
    match call.check {
        Some(ExtraCheck::Find) => super::find::without_actions(args, judge),
        Some(ExtraCheck::Test) => {
            let end = match call.words.as_str() {
                "[" => Some("]"),
                "[[" => Some("]]"),
                _ => None,
            };
            let expression = match (args.split_last(), end) {
                (_, None) => args,
                (Some((last, expression)), Some(end)) if last.text == end => expression,
                (_, Some(end)) => return Err(format!("`{end}` is missing")),
            };
            super::test_expression::check(expression, &judge.shell).map(|()| Vec::new())
        }
        _ => Ok(args.to_vec()),
    }
}

pub(super) fn check(
    call: &AllowedCall,
    args: &[ShellWord],
    found: &MatchedArguments,
    judge: &Judge<'_>,
) -> Result<(), String> {
    let shell = &judge.shell;
    match call.check {
        Some(ExtraCheck::Copy) => check_copy(found, shell),
        Some(ExtraCheck::Grep) => check_grep(found, shell),
        Some(ExtraCheck::Ripgrep) => check_ripgrep(found, shell),
        Some(ExtraCheck::Address) => check_address(call, found, judge),
        Some(ExtraCheck::Printed) => printed::check(&call.words, args, found, shell),
        Some(ExtraCheck::Prints) => check_printed_trees(found, shell),
        Some(ExtraCheck::InPlace) => check_in_place(found),
        Some(ExtraCheck::Staged) => printed::check_staged(found, shell),
        Some(ExtraCheck::Trees) => check_trees(found, shell),
        Some(ExtraCheck::Script) if !judge.rules.writes => check_script(found),
        Some(ExtraCheck::Push) => check_push(found, judge),
        Some(ExtraCheck::Find | ExtraCheck::Script | ExtraCheck::Test) | None => Ok(()),
    }
}

/// A copy into a directory goes to an entry of the same name, which may be a link.
fn check_copy(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    let Some((target, sources)) = found.operands.split_last() else { return Ok(()) };
    if target.glob || target.tree.is_some() {
        return Err(format!("the target {} is a pattern", quoted(&target.text)));
    }
    let directory = target.text.trim_end_matches('/');
    for source in sources {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if source.tree.is_some() || matches!(name, "" | "." | "..") {
            check_below(&target.text, shell)?;
            if source.tree.is_none() {
                check_below(&source.text, shell)?;
            }
            continue;
        }
        let reached = format!("{directory}/{name}");
        shell.check_path(&reached, source.glob, PathAccess::Write)?;
        // Directories are merged into existing ones, and take their settings along.
        check_below(if source.glob { &target.text } else { &reached }, shell)?;
        check_below(&source.text, shell)?;
    }
    Ok(())
}

fn check_below(path: &str, shell: &ShellState<'_>) -> Result<(), String> {
    let tree = FileTree { roots: vec![path.to_owned()], follows: true, ..FileTree::default() };
    shell.check_tree(&tree, PathAccess::Write)
}

fn roots(operands: &[ShellWord]) -> Vec<String> {
    let named: Vec<_> = operands.iter().map(|word| word.text.clone()).collect();
    if named.is_empty() { vec![".".to_owned()] } else { named }
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Vec<String> {
    values.map(str::to_owned).collect()
}

fn check_grep(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    if !found.has(&["-r", "--recursive"]) {
        return Ok(());
    }
    let skip = usize::from(!found.has(&["-e", "--regexp"]));
    let files = found.operands.get(skip..).unwrap_or_default();
    if files.iter().any(|word| word.tree.is_some()) {
        return Err("a recursive search of listed files".to_owned());
    }
    // With both, the order decides about files that neither matches.
    let both = found.has(&["--include"]) && found.has(&["--exclude"]);
    let selection = |name| if both { Vec::new() } else { texts(found.values(&[name])) };
    let tree = FileTree {
        roots: roots(files),
        names: selection("--include"),
        without: selection("--exclude"),
        without_dirs: texts(found.values(&["--exclude-dir"])),
        ..FileTree::default()
    };
    shell.check_tree(&tree, PathAccess::Read)
}

/// Types of source code, none of which includes a file with secrets.
const CODE: [&str; 22] = [
    "rust", "py", "python", "js", "ts", "go", "java", "c", "cpp", "h", "rb", "ruby", "php", "swift",
    "kotlin", "scala", "css", "html", "md", "markdown", "sql", "elixir",
];

fn check_ripgrep(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    let skip = usize::from(!found.has(&["-e", "--regexp", "--files"]));
    if found.has(&["--files"]) {
        return Ok(());
    }
    let files = found.operands.get(skip..).unwrap_or_default();
    // Listed files are checked where they are listed.
    if files.iter().any(|word| word.tree.is_some()) {
        return Ok(());
    }
    let mut globs =
        found.values(&["-g", "--glob", "--iglob"]).filter(|glob| !glob.starts_with('!')).peekable();
    let coded = found.values(&["-t", "--type"]).all(|name| CODE.contains(&name));
    if found.has(&["-t", "--type"]) && coded && globs.peek().is_none() {
        return Ok(());
    }
    // A pattern for a directory selects everything below it.
    let name = |glob: &str| {
        let last = glob.rsplit('/').next().unwrap_or(glob).to_lowercase();
        if last.is_empty() || !last.contains(['.', '*']) { "*".to_owned() } else { last }
    };
    let tree = FileTree {
        roots: roots(files),
        names: globs.map(name).collect(),
        hides_dots: !found.has(&["-u", "-.", "--hidden", "--unrestricted"]),
        ..FileTree::default()
    };
    shell.check_tree(&tree, PathAccess::Read)
}

/// The address of a remote may contain a password.
fn check_address(call: &AllowedCall, found: &MatchedArguments, judge: &Judge<'_>) -> Result<(), String> {
    let prints = match call.words.as_str() {
        "git remote" => found.has(&["-v", "--verbose"]),
        "git ls-remote" => found.has(&["--get-url"]),
        words if words.starts_with("git config") => {
            found.operands.iter().any(|key| key.text.to_ascii_lowercase().starts_with("remote."))
        }
        _ => true,
    };
    if prints && judge.place.has_secret_remote {
        return Err("the address of a remote contains a password".to_owned());
    }
    Ok(())
}

/// Without one of these options, a formatter prints every file below a directory.
fn check_printed_trees(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    let silent = ["--check", "-c", "-l", "--list-different", "--write", "-w", "--fix", "--version"];
    if found.has(&silent) {
        return Ok(());
    }
    let files: Vec<_> = found.operands.iter().filter(|word| word.tree.is_none()).cloned().collect();
    shell.check_tree(&FileTree { roots: roots(&files), ..FileTree::default() }, PathAccess::Read)
}

/// BSD's sed takes the word after `-i` for a suffix, and the next one for its script.
fn check_in_place(found: &MatchedArguments) -> Result<(), String> {
    let bare = found.options.iter().any(|(name, value)| {
        matches!(name.as_str(), "-i" | "--in-place") && value.as_deref().unwrap_or_default().is_empty()
    });
    if cfg!(target_os = "macos") && bare {
        return Err(
            "`-i` without a suffix means something else on other systems; `-i.bak` is clear".to_owned()
        );
    }
    Ok(())
}

/// Scripts that format or fix, by their names.
fn check_script(found: &MatchedArguments) -> Result<(), String> {
    const WRITING: [&str; 9] =
        ["format", "fmt", "fix", "write", "prettier", "update", "generate", "codegen", "build"];
    let writes = |name: &str| {
        let parts: Vec<_> = name.split([':', '-', '.', '_']).collect();
        parts.iter().any(|part| WRITING.contains(part)) && !parts.contains(&"check")
    };
    match found.operands.first() {
        Some(script) if writes(&script.text) => {
            Err(format!("the script {} writes files, which is switched off", quoted(&script.text)))
        }
        _ => Ok(()),
    }
}

/// `diff` compares the files of two directories, or a file with the one of its name in a directory, and opens what links
/// lead to.
fn check_trees(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    let is_dir = |word: &ShellWord| shell.dirs.iter().any(|dir| dir.join(&word.text).is_dir());
    if !found.has(&["-r", "--recursive"]) && !found.operands.iter().any(is_dir) {
        return Ok(());
    }
    let tree = FileTree { roots: roots(&found.operands), follows: true, ..FileTree::default() };
    shell.check_tree(&tree, PathAccess::Read)
}

/// Without a target, the configuration decides where a push goes.
fn check_push(found: &MatchedArguments, judge: &Judge<'_>) -> Result<(), String> {
    let own =
        judge.shell.branch.filter(|own| !super::argument::is_trunk(own) && judge.shell.trunk != Some(*own));
    if own.is_none() {
        return Err("the worktree is not on an agent's branch".to_owned());
    }
    if found.operands.first().is_some_and(|remote| remote.text != "origin") {
        return Err("only `origin` may be pushed to".to_owned());
    }
    let complete = found.operands.get(1).is_some_and(|branch| branch.text.contains(':'));
    if complete || judge.place.pushes_own_branch {
        Ok(())
    } else {
        Err("git's configuration decides where this push goes; name the branch twice, as in `feat/x:feat/x`"
            .to_owned())
    }
}

/// An argument after the words of a user rule: no option, no assignment, and no path outside of the worktree.
pub(super) fn check_plain_argument(word: &ShellWord, shell: &ShellState<'_>) -> Result<(), String> {
    let text = &word.text;
    if word.unknown || word.tree.is_some() {
        return Err(format!("{} depends on the output of a command", quoted(text)));
    }
    if word.glob && text.starts_with(['*', '?', '[']) {
        return Err(format!("{} could match a file whose name is an option", quoted(text)));
    }
    if text.is_empty() { Ok(()) } else { shell.check_path(text, word.glob, PathAccess::Write) }
}

//! Which files a git command would print or stage. git itself is asked, with options that only list names: a secret may be
//! tracked, in another commit, or in a stash.

use std::time::Duration;

use paw_host::git::Git;

use super::characters::quoted;
use super::protected::{self, Protection};
use super::shell::ShellState;
use super::usage::MatchedArguments;
use super::word::ShellWord;

/// A longer answer is not waited for.
const LIMIT: Duration = Duration::from_secs(2);

/// Options of `git log` that print content.
const PATCHES: [&str; 15] = [
    "-p",
    "-u",
    "--patch",
    "--patch-with-stat",
    "-U",
    "--unified",
    "-W",
    "--function-context",
    "--word-diff",
    "--color-words",
    "--cc",
    "-c",
    "-m",
    "--check",
    "--inter-hunk-context",
];

/// Options that exclude a list of names, or add other lines to it.
const DROPPED: [&str; 15] = [
    "-s",
    "--no-patch",
    "--name-status",
    "--name-only",
    "--check",
    "-q",
    "--quiet",
    "-z",
    "--oneline",
    "--graph",
    "--format",
    "--pretty",
    "--decorate",
    "--show-signature",
    "--exit-code",
];

/// git would look into submodules with the settings that they have.
const IGNORED: &str = "--ignore-submodules=dirty";

/// Checks a command that prints content: differences, commits, stashes, objects or matches.
pub(super) fn check(
    call: &str,
    args: &[ShellWord],
    found: &MatchedArguments,
    shell: &ShellState<'_>,
) -> Result<(), String> {
    let verb = call.strip_prefix("git ").unwrap_or(call);
    if !prints_content(verb, found) {
        return Ok(());
    }
    if shell.moved {
        return Err("an earlier command may change what git prints".to_owned());
    }
    let queries = queries(verb, args, found)?;
    for dir in &shell.dirs {
        let git = Git::at(dir);
        check_objects(&git, found)?;
        for query in &queries {
            check_listed(&git, query, "prints")?;
        }
        if shell.staged {
            check_listed(&git, &Query::of(["diff", "--name-only", "-z", IGNORED, "HEAD"]), "prints")?;
        }
    }
    Ok(())
}

/// `git add` of directories takes files along that are neither tracked nor ignored.
pub(super) fn check_staged(found: &MatchedArguments, shell: &ShellState<'_>) -> Result<(), String> {
    if found.has(&["-u", "--update", "--refresh", "--renormalize"]) {
        return Ok(());
    }
    let mut query = Query::of(["ls-files", "--others", "--exclude-standard", "-z", "--"]);
    query.args.extend(found.operands.iter().map(|word| word.text.clone()));
    if found.operands.is_empty() {
        query.args.push(":/".to_owned());
    }
    shell.dirs.iter().try_for_each(|dir| check_listed(&Git::at(dir), &query, "stages"))
}

/// The arguments of a git command that lists names, and of the command that was asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Query {
    args: Vec<String>,
    /// If the list fails, this has to fail, too.
    original: Vec<String>,
}

impl Query {
    fn of<const N: usize>(args: [&str; N]) -> Self {
        let args: Vec<_> = args.map(str::to_owned).into();
        Self { original: args.clone(), args }
    }
}

fn prints_content(verb: &str, found: &MatchedArguments) -> bool {
    match verb {
        // Only the lines of a file that was checked.
        "log" | "show" | "whatchanged" if found.has(&["-L"]) => false,
        "log" | "whatchanged" | "stash list" => found.has(&PATCHES),
        "status" | "commit" => found.has(&["-v", "--verbose"]),
        "grep" => !found.has(&["-l", "-L", "--files-with-matches", "--name-only", "-c", "--count", "-q"]),
        "cat-file" => found.has(&["-p"]) || found.operands.len() > 1,
        _ => true,
    }
}

fn queries(verb: &str, args: &[ShellWord], found: &MatchedArguments) -> Result<Vec<Query>, String> {
    let operands: Vec<_> = found.operands.iter().map(|word| word.text.as_str()).collect();
    let history = |range: &str| Query::of(["log", "--format=", "--name-only", "-z", "-m", range]);
    match verb {
        "merge-tree" if operands.len() > 2 && !found.has(&["--write-tree"]) => {
            Err("prints the changes of both sides".to_owned())
        }
        "cat-file" | "merge-tree" => Ok(Vec::new()),
        "status" | "commit" => Ok(vec![Query::of(["diff", "--name-only", "-z", IGNORED, "HEAD"])]),
        "range-diff" => match operands.as_slice() {
            [base, one, two] if operands.iter().all(|operand| !operand.contains("..")) => {
                Ok(vec![history(&format!("{base}..{one}")), history(&format!("{base}..{two}"))])
            }
            ranges if ranges.iter().all(|range| range.contains("..")) => {
                Ok(ranges.iter().map(|range| history(range)).collect())
            }
            _ => Err("which commits are compared is not known".to_owned()),
        },
        "grep" => Ok(vec![rewritten(&["grep"], &["-l", "-z"], args, &[])?]),
        "diff-tree" => Ok(vec![rewritten(&["diff-tree"], &["--name-only", "-z", "-r"], args, &DROPPED)?]),
        "diff" | "diff-index" | "diff-files" => {
            Ok(vec![rewritten(&[verb], &["--name-only", "-z", IGNORED], args, &DROPPED)?])
        }
        _ => {
            let words: Vec<_> = verb.split(' ').collect();
            Ok(vec![rewritten(&words, &["--name-only", "-z", "--format="], args, &DROPPED)?])
        }
    }
}

/// The command with other options.
fn rewritten(verb: &[&str], added: &[&str], args: &[ShellWord], dropped: &[&str]) -> Result<Query, String> {
    let mut kept = Vec::new();
    let mut is_operand = false;
    for word in args {
        if word.unknown || word.tree.is_some() {
            return Err(format!("{} depends on the output of a command", quoted(&word.text)));
        }
        let text = word.text.as_str();
        is_operand |= text == "--";
        let name = text.split('=').next().unwrap_or(text);
        let is_option = !is_operand && text.starts_with('-');
        // `-pq`
        let joined = is_option && !text.starts_with("--") && text.len() > 2 && text.contains(['s', 'q', 'z']);
        if joined && !dropped.is_empty() && text.chars().skip(1).all(|c| c.is_ascii_alphabetic()) {
            return Err(format!("{} joins several options", quoted(text)));
        }
        if !(is_option && dropped.contains(&name)) {
            kept.push(text);
        }
    }
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let original = args.iter().map(|word| word.text.as_str()).collect::<Vec<_>>();
    let safe = if dropped.is_empty() { &[][..] } else { &["--no-ext-diff", "--no-textconv", IGNORED] };
    Ok(Query {
        args: owned(&[verb, added, &kept].concat()),
        original: owned(&[verb, safe, &original].concat()),
    })
}

fn check_listed(git: &Git, query: &Query, does: &str) -> Result<(), String> {
    let names = match git.list_names(&query.args, LIMIT) {
        Ok(Some(names)) => names,
        // What git refuses prints nothing.
        Ok(None) if matches!(git.list_names(&query.original, LIMIT), Ok(None)) => return Ok(()),
        Ok(None) | Err(_) => return Err(format!("it is not known which files git {does}")),
    };
    match names.iter().find(|name| is_secret(name)) {
        Some(name) => Err(format!("git {does} {}, which is protected", quoted(name))),
        None => Ok(()),
    }
}

/// A name may follow that of a commit: `HEAD:config/.env`.
fn is_secret(name: &str) -> bool {
    let after = name.split_once(':').map_or(name, |(_, after)| after);
    [name, after].iter().any(|name| protected::find(name.as_ref()) == Some(Protection::Secret))
}

/// An object that is named by its id is a file whose name is not known.
fn check_objects(git: &Git, found: &MatchedArguments) -> Result<(), String> {
    let is_id = |text: &str| text.len() >= 4 && text.chars().all(|c| c.is_ascii_hexdigit());
    for word in &found.operands {
        let named = word.text.split([':', '^', '~', '@']).next().unwrap_or_default();
        let could_be_file = !word.text.contains(':') && (is_id(named) || word.text.contains("^{"));
        if could_be_file && git.find_object_type(&word.text).as_deref() == Some("blob") {
            return Err(format!("{} is a file whose name is not known", quoted(&word.text)));
        }
    }
    Ok(())
}

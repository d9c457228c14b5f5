//! What of a page is typed: `console` blocks, and what happens behind the scenes in comments that begin with `run:`.

/// Something to type, and where on the page it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) command: String,
    /// What the page shows below it.
    pub(super) shown: Vec<String>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Typed by a person, or by an agent in its worktree.
    Typed { agent: Option<String>, fails: bool },
    /// Needs what a test does not have; only its arguments are looked at.
    Ignored,
    /// The page does not show it.
    Behind,
}

/// Everything on a page, in its order.
pub(super) fn steps(markdown: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = markdown.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body: Vec<_> = lines.by_ref().take_while(|(line, _)| *line != "```").collect();
            if info == "console" || info.starts_with("console,") {
                let kind = kind(info, number);
                steps.extend(typed(&body, &kind));
            }
        } else if let Some(first) = line.strip_prefix("<!-- run:") {
            let mut script = vec![first];
            while !script.last().is_some_and(|line| line.ends_with("-->")) {
                script.push(lines.next().expect("a comment that ends").0);
            }
            let script = script.join("\n");
            let command = script.trim_end_matches("-->").trim().to_owned();
            steps.push(Step { line: number, command, shown: Vec::new(), kind: Kind::Behind });
        }
    }
    steps
}

fn kind(info: &str, line: usize) -> Kind {
    let words: Vec<&str> = info.split(',').skip(1).collect();
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    if let Some(reason) = value("ignore=") {
        assert!(reason.len() > 5, "line {line}: a block is ignored without a reason");
        return Kind::Ignored;
    }
    let known = |word: &&&str| **word == "fails" || word.starts_with("agent=");
    assert_eq!(words.iter().filter(known).count(), words.len(), "line {line}: what does {info} mean?");
    Kind::Typed { agent: value("agent=").map(str::to_owned), fails: words.contains(&"fails") }
}

/// `$ ` begins a command, `> ` goes on with it, anything else is what it prints.
fn typed(body: &[(&str, usize)], kind: &Kind) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (text, line) in body {
        match (text.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                let (command, kind) = (command.to_owned(), kind.clone());
                steps.push(Step { line: *line, command, shown: Vec::new(), kind });
            }
            (None, None) => panic!("line {line}: a block has to begin with a command"),
            (None, Some(step)) => match text.strip_prefix("> ") {
                Some(more) if step.shown.is_empty() => step.command = format!("{}\n{more}", step.command),
                _ => step.shown.push((*text).to_owned()),
            },
        }
    }
    steps
}

/// Whether lines are what a page shows of them: `…` stands for anything, alone on a line for any lines.
pub(super) fn matches(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((any, more)), _) if any == "…" => {
            (0..=printed.len()).any(|skipped| matches(more, &printed[skipped..]))
        }
        (Some((line, more)), Some((found, rest))) => {
            line_matches(line.trim_end(), found) && matches(more, rest)
        }
        (Some(_), None) => false,
    }
}

fn line_matches(shown: &str, found: &str) -> bool {
    // The end of a line may be nothing, and then there is no blank before it.
    is_like(shown, found) || shown.strip_suffix(" …").is_some_and(|start| is_like(start.trim_end(), found))
}

fn is_like(shown: &str, found: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[test]
fn what_is_left_out_may_be_anything() {
    let is = |shown: &[&str], printed: &[&str]| {
        matches(&shown.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), printed)
    };
    assert!(is(&["a…c", "…", "end"], &["abc", "x", "y", "end"]));
    assert!(is(&["…", "end"], &["end"]));
    assert!(!is(&["a"], &["a", "b"]) && !is(&["a", "b"], &["a"]) && !is(&["a…c"], &["abd"]));
    assert!(is(&["a …"], &["a"]) && is(&["a …"], &["a b"]) && !is(&["a …"], &["ab"]));
    assert!(is(&["… of … ok"], &["1 of 2 ok"]) && !is(&["… of … ok"], &["1 of 2"]));
}

#[test]
fn a_page_is_read_in_its_order() {
    let page = "<!-- run: touch x -->\n```console,agent=feat-a\n$ cat <<E\n> one\n> E\none\n$ false\n```\n```sh\n$ no\n```\n";
    let found: Vec<_> = steps(page).into_iter().map(|step| (step.line, step.command, step.shown)).collect();
    let expected = [
        (1, "touch x".to_owned(), vec![]),
        (3, "cat <<E\none\nE".to_owned(), vec!["one".to_owned()]),
        (7, "false".to_owned(), vec![]),
    ];
    assert_eq!(found, expected);
}

//! Reads a command line, if both readers agree on it.

use super::grammar;
use super::syntax::{self, Redirect, ShellLine, ShellNode, SimpleCommand, WordPart, WordSource};

pub(super) fn read(text: &str) -> Result<ShellLine, String> {
    let line = syntax::read(text)?;
    if line.pieces == grammar::pieces(text)? {
        Ok(line)
    } else {
        Err("ambiguous: can be parsed in two ways".to_owned())
    }
}

/// The words of exactly one simple command without redirections, as in a user rule.
pub(super) fn read_one(text: &str) -> Option<Vec<WordSource>> {
    let mut nodes = read(text).ok()?.nodes;
    match (nodes.pop()?, nodes.is_empty()) {
        (ShellNode::Command(SimpleCommand { assignments, words, redirects }), true)
            if assignments.is_empty() && redirects.is_empty() =>
        {
            Some(words)
        }
        _ => None,
    }
}

/// All simple commands of a line, including those in substitutions.
pub(super) fn simple_commands(nodes: &[ShellNode]) -> Vec<&SimpleCommand> {
    let mut found = Vec::new();
    let mut open: Vec<&ShellNode> = nodes.iter().rev().collect();
    while let Some(node) = open.pop() {
        match node {
            ShellNode::Command(command) => {
                found.push(command);
                let values = command.assignments.iter().map(|(_, value)| value);
                let targets = command.redirects.iter().filter_map(|redirect| match redirect {
                    Redirect::From(word) | Redirect::Into(word) => Some(word),
                    Redirect::Joined | Redirect::Here(_) => None,
                });
                open.extend(command.words.iter().chain(values).chain(targets).flat_map(substitutions));
            }
            ShellNode::Pipeline(nodes) | ShellNode::Subshell(nodes) | ShellNode::Group(nodes) => {
                open.extend(nodes.iter().rev());
            }
            ShellNode::List(first, others) => {
                open.extend(others.iter().rev().map(|(_, node)| node));
                open.push(first);
            }
            ShellNode::For { values, body, .. } => {
                open.extend(body.iter().rev());
                open.extend(values.iter().flat_map(substitutions));
            }
        }
    }
    found
}

fn substitutions(word: &WordSource) -> impl Iterator<Item = &ShellNode> {
    let nodes = word.parts.iter().filter_map(|part| match part {
        WordPart::Output { nodes, .. } => Some(nodes),
        _ => None,
    });
    nodes.flatten()
}

/// The text of a word, with expansions left out and braces as they are.
pub(super) fn text_of(word: &WordSource) -> String {
    let text = |part: &WordPart| match part {
        WordPart::Text { text, .. } | WordPart::Choice { text, .. } => text.clone(),
        _ => String::new(),
    };
    word.parts.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use paw_host::process::Command;
    use proptest::prelude::*;

    use super::*;

    fn texts(line: &str) -> Vec<Vec<String>> {
        let line = read(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        let commands = simple_commands(&line.nodes).into_iter();
        commands.map(|command| command.words.iter().map(text_of).collect()).collect()
    }

    #[test]
    fn every_simple_command_of_a_line_is_found() {
        assert_eq!(texts("a b && c | d 2>&1; e"), [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]]);
        assert_eq!(texts("\na\n\nb || c;\n"), [["a"], ["b"], ["c"]]);
        assert_eq!(texts("if a; then b; else c; fi; for x in y z; do d $x; done; (e)").len(), 5);
        assert_eq!(texts("a \"$(b)\"; c=\"$(d)\""), [vec!["a", ""], vec!["b"], vec![], vec!["d"]]);
    }

    #[test]
    fn both_readers_accept_everyday_constructs() {
        for line in [
            "git commit -m \"$(cat <<'EOF'\nfix: it's \"quoted\" $x `y`\n\n- a) b\nEOF\n)\"",
            "cat <<'EOF' > docs/x.md\n# title\n$(no)\nEOF",
            "cat > docs/x.md <<'EOF'\ntext\nEOF\n",
            "cat > docs/x.md <<EOF\ntext\nEOF\nls",
            "cat <<'EOF' | grep x\ntext\nEOF",
            "RUST_BACKTRACE=1 cargo test",
            "A=1 B=2 c",
            "export CI=1 && npm test",
            "CI=1",
            "ls # comment; rm",
            "# only\nls",
            "cargo test &> out.txt",
            "cargo test; echo $?",
            "cargo test; echo \"exit: $?\"",
            "[ -f x ] && echo y",
            "[ ! -f x ] || echo y",
            "[ \"$?\" -eq 0 ]",
            "[ $? -ne 0 ] && ls",
            "[ a = b ]",
            "[ \"a\" != \"b\" ]",
            "[ -n \"x\" ]",
            "[ -z x ]",
            "if [ -f x ]; then cat x; else echo no; fi",
            "if cargo test; then echo ok; fi",
            "for f in a b c; do echo $f; done",
            "for f in a b c; do\n  echo \"== $f\"\n  wc -l \"$f\"\ndone",
            "for f in src/*.rs; do wc -l ${f}; done | sort -n",
            "(cd a && ls)",
            "{ ls; pwd; } > out.txt 2>&1",
            "! grep x y",
            "time cargo test",
            "grep \"foo$\" x",
            "grep -n \"a\\|b\" x",
            "echo \"branch $(git branch --show-current)\"",
            "cd \"$(git rev-parse --show-toplevel)\" && ls",
            "cd $(git rev-parse --show-toplevel)",
            "find . -name '*.rs' -exec grep -l x {} \\;",
            "find . -name '*.rs' -exec grep -l x {} +",
            "echo \"$(a) $(b)\"",
            "echo \"$(a)  $b $(c) \"",
            "a | b; echo \"${PIPESTATUS[0]}\" ${PIPESTATUS[1]}",
            "[ ${PIPESTATUS[0]} -eq 0 ] && echo ok",
            "mkdir -p src/{a,b-c}/d",
            "cat {a,b}.rs x{1..3}",
            "for i in {1..3}; do a; done",
            "[[ -f x ]] && echo y",
            "[[ ! -d x ]]",
            "[[ \"a\" == \"b\" ]]",
            "[[ $? -ne 0 ]]",
            "if [[ -n \"$x\" ]]; then a; fi",
        ] {
            assert!(
                read(line).is_ok(),
                "{line}: {:?}\n{:?}\n{:?}",
                read(line).err(),
                syntax::read(line).map(|l| l.pieces),
                grammar::pieces(line)
            );
        }
    }

    #[test]
    fn an_argument_after_a_redirection_belongs_to_its_command() {
        assert_eq!(texts("git log >/dev/null --output=x"), [["git", "log", "--output=x"]]);
        assert_eq!(texts("a >b c && d"), [vec!["a", "c"], vec!["d"]]);
    }

    #[test]
    fn incomplete_lines_are_refused() {
        for line in ["", "  \n ", ";", "a &&", "a |", "| a", "a > ", "> a", "a && && b", "a ; ; b"] {
            assert!(read(line).is_err(), "{line:?}");
        }
    }

    /// The commands that a real shell runs for this text. bash finds no program, and a handler records each command.
    fn run_by_bash(text: &str) -> Vec<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let handler = r#"exec 9>>ran; command_not_found_handle() { printf '%s\0' "$@" $'\1' >&9; }"#;
        let script = format!("{handler}\n{text}\n");
        let command = Command::new("/bin/bash").args(["-c", &script]).dir(dir.path()).env("PATH", "/nowhere");
        command.time_limit(std::time::Duration::from_secs(20)).capture().unwrap();
        let ran = std::fs::read_to_string(dir.path().join("ran")).unwrap();
        let commands = ran.split_terminator("\u{1}\0");
        commands.map(|words| words.split_terminator('\0').map(str::to_owned).collect()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn bash_runs_only_commands_that_were_parsed(parts in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "c-d", "-x", "--y=z", "1", "2", " ", " ", " ", "'q r'", "'\"'", "'$(b)'", "\"s 't\"", "\"\\\\\"",
            "\"\\\"\"", "\"a;b\"", "\\ ", "\\;", "\\'", "\\\\", "\\&", ";", "; ", " && ", "&&", "|", " | ", "\n", " >f ", ">f",
            " 2>&1 ", ">&2", " >>g ", " <f", "2>", "@{1}", "x{}y", "#z", " # z\n", "^", "%", ",", "=", "+", "\t", "''", "\"\"",
            "A=1 ", " &>f ", "if a; then b; fi", "(a; b)", "{ a; }", "! a", " <<'E'\n$(b)\nE\n", " <<E\nb;c\nE\n",
            "for f in x; do a; done", "else", "fi", "\"$(a)\"", "E\n",
        ]), 1..12)) {
            let text = parts.concat();
            let Ok(line) = read(&text) else { return Ok(()) };
            let mut expected: Vec<Vec<String>> = simple_commands(&line.nodes)
                .into_iter()
                .map(|command| command.words.iter().map(text_of).collect())
                .collect();
            for ran in run_by_bash(&text) {
                let at = expected.iter().position(|known| *known == ran);
                prop_assert!(at.is_some(), "bash ran {ran:?} for {text:?}, which was parsed as {expected:?}");
                expected.remove(at.unwrap_or_default());
            }
        }
    }
}

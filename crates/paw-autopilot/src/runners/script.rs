//! Parses a `test` script of `package.json` that needs no shell.

/// A script that starts one program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestScript {
    /// Leading assignments such as `NODE_ENV=test`.
    pub variables: Vec<(String, String)>,
    pub words: Vec<String>,
}

/// Programs that start the program named after them.
const STARTERS: [&str; 3] = ["cross-env", "npx", "env"];

/// Parses a script; `None` if it needs a shell.
pub fn read(script: &str) -> Option<TestScript> {
    let mut read = TestScript::default();
    for word in words(script)? {
        let is_first = read.words.is_empty();
        match assignment(&word) {
            Some((name, value)) if is_first => read.variables.push((name.to_owned(), value.to_owned())),
            _ if is_first && STARTERS.contains(&word.as_str()) => {}
            _ => read.words.push(word),
        }
    }
    let program = read.words.first_mut()?;
    if let Some(name) = program.rsplit_once("node_modules/.bin/").map(|(_, name)| name.to_owned()) {
        *program = name;
    }
    // Options of a starter are not understood.
    (!program.starts_with('-')).then_some(read)
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, value))
}

/// Splits a line into words and removes quotes; `None` if it contains shell syntax.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        other => word.push(other),
                    }
                }
            }
            c if c.is_whitespace() && c != '\n' => words.extend(word.take()),
            c if "`$&|;<>(){}[]*?!#~\\\n".contains(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(script: &str) -> Option<String> {
        let read = read(script)?;
        let variables = read.variables.iter().map(|(name, value)| format!("{name}={value}"));
        Some(variables.chain(read.words.iter().map(|word| format!("<{word}>"))).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn script_that_starts_one_program_is_parsed() {
        for (script, means) in [
            ("vitest run --config=x.ts", "<vitest> <run> <--config=x.ts>"),
            ("mocha 'test/**/*.js' \"a b\"", "<mocha> <test/**/*.js> <a b>"),
            ("NODE_ENV=test jest -t x=y", "NODE_ENV=test <jest> <-t> <x=y>"),
            ("cross-env A=1 B='2 3' npx jest", "A=1 B=2 3 <jest>"),
            ("./node_modules/.bin/jest --ci", "<jest> <--ci>"),
        ] {
            assert_eq!(shown(script).as_deref(), Some(means), "{script}");
        }
    }

    #[test]
    fn script_that_needs_a_shell_is_not_parsed() {
        for script in [
            "tsc && jest",
            "jest $X",
            "jest \"$X\"",
            "mocha test/*.js",
            "jest 'open",
            "jest | cat",
            "",
            "   ",
            "A=1",
            "npx --yes jest",
            "jest\nrm x",
        ] {
            assert_eq!(shown(script), None, "{script}");
        }
    }

    proptest! {
        #[test]
        fn script_parser_never_panics(script in "([a-z=é'\"\\\\$ ]|npx |A=1 ){0,20}") {
            read(&script);
        }
    }
}

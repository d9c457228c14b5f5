//! Locates errors that say what is missing but not where it is used.

use super::FileChange;
use super::file_kind::FileRules;
use super::test_code::is_test_line;
use crate::runners::{BuildProblem, SourceLocation};

/// The locations an error names, else the changed test files that use a name it quotes.
pub(super) fn locate_error(
    rules: &FileRules,
    changes: &[FileChange],
    broken: &BuildProblem,
) -> Vec<SourceLocation> {
    if !broken.places.is_empty() {
        return broken.places.clone();
    }
    let first_line = broken.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let names = quoted(first_line);
    let uses = |text: &str| names.iter().any(|name| text.contains(name));
    let blamed = changes.iter().filter(|change| {
        let text = change.after.as_deref().unwrap_or_default();
        is_test_line(rules, &change.path, text, None) && uses(text)
    });
    blamed.map(|change| SourceLocation::new(change.path.clone(), None)).collect()
}

/// Quoted words.
fn quoted(line: &str) -> Vec<&str> {
    let between = |quote: char| line.split(quote).skip(1).step_by(2).filter(|word| !word.is_empty());
    ['\'', '"', '`'].into_iter().flat_map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "Exception during run: SyntaxError: The requested module '../math.js' does not provide an \
        export named 'subtract'\n    at ModuleJobSync.runSync (node:internal/modules/esm/module_job:423:37)";

    fn places(changes: &[(&str, &str)], broken: &BuildProblem) -> Vec<String> {
        let change = |(path, text): &(&str, &str)| FileChange {
            path: path.into(),
            after: Some((*text).to_owned()),
            ..FileChange::default()
        };
        let changes: Vec<_> = changes.iter().map(change).collect();
        let places = locate_error(&FileRules::default(), &changes, broken);
        places.into_iter().map(|place| place.file.display().to_string()).collect()
    }

    #[test]
    fn error_without_location_is_located_by_quoted_names() {
        let changes = [
            ("test/math.js", "import { subtract } from '../math.js';"),
            ("test/other.js", "import { add } from '../sum.js';"),
            ("src/user.js", "subtract()"),
        ];
        assert_eq!(places(&changes, &BuildProblem::new(MESSAGE, Vec::new())), ["test/math.js"]);
        assert!(places(&changes[1..], &BuildProblem::new(MESSAGE, Vec::new())).is_empty());
    }

    #[test]
    fn error_with_location_keeps_it() {
        let located = BuildProblem::new(MESSAGE, vec![SourceLocation::new("src/a.js", Some(3))]);
        assert_eq!(places(&[("test/math.js", "subtract")], &located), ["src/a.js"]);
    }
}

//! The files a subtask mentions, and where their tests go.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::evidence::{FileRules, SourceKind};
use crate::tasks::Subtask;
use crate::tasks::model::text_field;

/// The files a subtask lists, then those its text mentions, without duplicates.
pub(crate) fn files_of(subtask: &Subtask) -> Vec<PathBuf> {
    let listed = subtask.fields.get("relevantFiles").and_then(Value::as_array);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut add = |path: &str| {
        if let Some(path) = inside(path).filter(|path| !files.contains(path)) {
            files.push(path);
        }
    };
    for entry in listed.into_iter().flatten().filter(|entry| entry["action"] != "reference") {
        add(entry["path"].as_str().or(entry.as_str()).unwrap_or_default());
    }
    for field in ["title", "description", "details", "testStrategy"] {
        let text = text_field(&subtask.fields, field).unwrap_or_default();
        text.split(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;".contains(c))
            .filter(|word| is_file(word))
            .for_each(&mut add);
    }
    files
}

const ENDINGS: [&str; 22] = [
    "rs", "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go", "java", "kt", "cs", "rb", "php", "c",
    "h", "cpp", "sql", "vue", "svelte", "swift",
];

/// `src/schema.js`, but neither `e.g.` nor `Node.js`.
fn is_file(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let named = stem.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let library = ending == "js" && !word.contains('/') && stem.starts_with(char::is_uppercase);
    named && ENDINGS.contains(&ending) && !library && !word.contains("://")
}

fn inside(path: &str) -> Option<PathBuf> {
    let path = Path::new(path.trim_end_matches(['.', ':', '!', '?']).trim_start_matches("./"));
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    (path.components().all(plain) && path.extension().is_some()).then(|| path.to_path_buf())
}

/// Splits paths into tests and code. If no tests are named, suggests the usual paths. `tests_dir`: the project has a
/// `tests` directory.
pub(super) fn tests_for(
    rules: &FileRules,
    named: &[PathBuf],
    tests_dir: bool,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut tests, files): (Vec<PathBuf>, Vec<PathBuf>) =
        named.iter().cloned().partition(|path| rules.kind(path) == SourceKind::Test);
    if tests.is_empty() {
        tests = files.iter().filter_map(|file| usual(file, tests_dir)).collect();
        tests.dedup();
    }
    (tests, files)
}

fn usual(file: &Path, tests_dir: bool) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?;
    let dir = file.parent().unwrap_or(Path::new(""));
    Some(match file.extension()?.to_str()? {
        // Rust tests are in the same file.
        "rs" => file.to_path_buf(),
        "py" if tests_dir => Path::new("tests").join(format!("test_{stem}.py")),
        "py" => dir.join(format!("test_{stem}.py")),
        "go" => dir.join(format!("{stem}_test.go")),
        ending @ ("js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "vue" | "svelte") => {
            let ending = if matches!(ending, "vue" | "svelte") { "js" } else { ending };
            dir.join("__tests__").join(format!("{stem}.test.{ending}"))
        }
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tasks::TaskFile;

    pub(crate) fn subtask(fields: &Value) -> Subtask {
        let file = json!({"tasks": [{"id": 42, "title": "t", "subtasks": [fields]}]});
        let mut tags = TaskFile::parse(&file.to_string()).unwrap().tags;
        tags.remove(0).tasks.remove(0).subtasks.remove(0)
    }

    fn named(fields: &Value) -> Vec<String> {
        files_of(&subtask(fields)).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn files_are_found_in_lists_and_in_text() {
        let fields = json!({"id": 1, "title": "Add schema", "details": "Write `src/schema.js`, then see ./src/api/a.ts. Use Node.js, e.g. v20.",
            "relevantFiles": [{"path": "db/x.sql", "action": "create"}, {"path": "y.rs", "action": "reference"}, {"path": "/etc/passwd.py"}]});
        assert_eq!(named(&fields), ["db/x.sql", "src/schema.js", "src/api/a.ts"]);
        assert!(named(&json!({"id": 1, "title": "See https://x.invalid/a.js and ../up.py"})).is_empty());
    }

    #[test]
    fn test_paths_are_derived_from_code_unless_they_are_named() {
        let of = |files: &[&str]| {
            let named: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let (tests, files) = tests_for(&FileRules::default(), &named, false);
            (format!("{tests:?}"), files.len())
        };
        assert_eq!(of(&["src/schema.js"]), (r#"["src/__tests__/schema.test.js"]"#.into(), 1));
        assert_eq!(of(&["src/components/W.jsx"]).0, r#"["src/components/__tests__/W.test.jsx"]"#);
        assert_eq!(of(&["metrics.py", "tests/test_m.py"]), (r#"["tests/test_m.py"]"#.into(), 1));
        assert_eq!(
            (of(&["a/b.go"]).0, of(&["src/a.rs"]).0),
            (r#"["a/b_test.go"]"#.into(), r#"["src/a.rs"]"#.into())
        );
        let (tests, _) = tests_for(&FileRules::default(), &["metrics/schema.py".into()], true);
        assert_eq!(tests, [PathBuf::from("tests/test_schema.py")]);
        assert_eq!(of(&["x.sql"]), ("[]".into(), 1));
    }

    proptest! {
        #[test]
        fn file_finder_never_panics(words in "\\PC{0,60}") {
            named(&json!({"id": 1, "title": "t", "details": words, "relevantFiles": [{"path": words}]}));
        }
    }
}

//! Where the tests of a file would go, by the habits of its language.

use std::path::{Path, PathBuf};

use crate::evidence::{Kind, Rules};

/// The tests and the rest of some files; tests that are not named stand where they usually do. `tests_dir`: the project
/// has a directory `tests`.
pub(super) fn tests_for(rules: &Rules, named: &[PathBuf], tests_dir: bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut tests, files): (Vec<PathBuf>, Vec<PathBuf>) =
        named.iter().cloned().partition(|path| rules.kind(path) == Kind::Test);
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
        // Rust keeps its tests in the file itself.
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
mod tests {
    use super::*;

    #[test]
    fn tests_stand_beside_their_code_unless_they_are_named() {
        let of = |files: &[&str]| {
            let named: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let (tests, files) = tests_for(&Rules::default(), &named, false);
            (format!("{tests:?}"), files.len())
        };
        assert_eq!(of(&["src/schema.js"]), (r#"["src/__tests__/schema.test.js"]"#.into(), 1));
        assert_eq!(of(&["src/components/W.jsx"]).0, r#"["src/components/__tests__/W.test.jsx"]"#);
        assert_eq!(of(&["metrics.py", "tests/test_m.py"]), (r#"["tests/test_m.py"]"#.into(), 1));
        assert_eq!(
            (of(&["a/b.go"]).0, of(&["src/a.rs"]).0),
            (r#"["a/b_test.go"]"#.into(), r#"["src/a.rs"]"#.into())
        );
        let (tests, _) = tests_for(&Rules::default(), &["metrics/schema.py".into()], true);
        assert_eq!(tests, [PathBuf::from("tests/test_schema.py")]);
        assert_eq!(of(&["x.sql"]), ("[]".into(), 1));
    }
}

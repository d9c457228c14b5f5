//! Suggests a test command from the files of a project.

use std::path::Path;

use paw_host::files;

/// The command that runs the project's tests, judged by the files in its root. A target of its own comes first, because a
/// person wrote it for this purpose.
pub fn find_test_command(root: &Path) -> Option<String> {
    let text = |name: &str| files::load_text(&root.join(name)).ok().flatten();
    let exists = |name: &str| root.join(name).is_file();
    suggest(&text, &exists).map(str::to_owned)
}

fn suggest(text: &dyn Fn(&str) -> Option<String>, exists: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let has_target =
        |names: &[&str]| names.iter().filter_map(|name| text(name)).any(|text| has_test_target(&text));
    if has_target(&["justfile", "Justfile", ".justfile"]) {
        return Some("just test");
    }
    if has_target(&["Makefile", "makefile", "GNUmakefile"]) {
        return Some("make test");
    }
    if let Some(command) =
        text("package.json").filter(|text| has_test_script(text)).map(|_| node_command(exists))
    {
        return Some(command);
    }
    let usual = [
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("mix.exs", "mix test"),
        ("gradlew", "./gradlew test"),
        ("mvnw", "./mvnw test"),
        ("pom.xml", "mvn test"),
        ("build.gradle", "gradle test"),
        ("build.gradle.kts", "gradle test"),
        ("deno.json", "deno test"),
        ("Package.swift", "swift test"),
        ("pytest.ini", "pytest"),
        ("tox.ini", "pytest"),
        ("setup.py", "pytest"),
        ("pyproject.toml", "pytest"),
        ("Gemfile", "bundle exec rake test"),
    ];
    usual.into_iter().find(|(file, _)| exists(file)).map(|(_, command)| command)
}

/// `test:` or `test arguments:`, at the start of a line.
fn has_test_target(text: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.strip_prefix("test").filter(|rest| rest.starts_with([':', ' ']));
        rest.is_some_and(|rest| rest.contains(':') && !rest.contains(":="))
    })
}

fn has_test_script(text: &str) -> bool {
    let package: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let script = package.as_ref().and_then(|package| package["scripts"]["test"].as_str());
    // npm writes a script that always fails into a new package.
    script.is_some_and(|script| !script.contains("no test specified"))
}

fn node_command(exists: &dyn Fn(&str) -> bool) -> &'static str {
    let lockfiles = [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
        ("bun.lockb", "bun run test"),
    ];
    lockfiles.into_iter().find(|(file, _)| exists(file)).map_or("npm test", |(_, command)| command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(files: &[(&str, &str)]) -> Option<&'static str> {
        let text =
            |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned());
        let exists = |name: &str| files.iter().any(|(file, _)| *file == name);
        suggest(&text, &exists)
    }

    #[test]
    fn the_test_command_is_suggested_from_the_files_of_the_project() {
        let node = r#"{"scripts": {"test": "vitest run"}}"#;
        let unused = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        for (files, command) in [
            (&[("Cargo.toml", "")][..], Some("cargo test")),
            (&[("package.json", node)], Some("npm test")),
            (&[("package.json", node), ("pnpm-lock.yaml", "")], Some("pnpm test")),
            (&[("package.json", unused)], None),
            (&[("package.json", "not json")], None),
            (
                &[("Makefile", "build:\n\tcc x.c\n\ntest: build\n\t./x\n"), ("Cargo.toml", "")],
                Some("make test"),
            ),
            (&[("Makefile", "tests = 1\ntest := x\n\ttest: no\n"), ("go.mod", "")], Some("go test ./...")),
            (&[("justfile", "test filter='':\n    cargo test {{filter}}\n")], Some("just test")),
            (&[("pyproject.toml", "")], Some("pytest")),
            (&[("README.md", "")], None),
        ] {
            assert_eq!(suggested(files), command, "{files:?}");
        }
    }
}

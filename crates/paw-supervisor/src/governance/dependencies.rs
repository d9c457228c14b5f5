//! The dependencies that a manifest declares. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

/// How the manifests of one language are read.
type DependencyReader = fn(&str) -> BTreeSet<String>;

/// The reader of a manifest, by its file name.
pub(super) fn reader(file_name: &str) -> Option<DependencyReader> {
    match file_name {
        "Cargo.toml" => Some(cargo),
        "package.json" => Some(npm),
        "pyproject.toml" => Some(pyproject),
        "go.mod" => Some(go),
        _ => {
            let rest = file_name.strip_prefix("requirements")?.strip_suffix(".txt");
            rest.is_some().then_some(requirements as DependencyReader)
        }
    }
}

fn cargo(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Ok(manifest) = text.parse::<toml::Table>() {
        collect_cargo(&manifest, &mut names);
        for section in ["workspace", "target"] {
            let below = manifest.get(section).and_then(toml::Value::as_table);
            below.inspect(|table| collect_cargo(table, &mut names));
            let platforms = below.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
            platforms.for_each(|platform| collect_cargo(platform, &mut names));
        }
    }
    names
}

fn collect_cargo(table: &toml::Table, names: &mut BTreeSet<String>) {
    for key in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let found = table.get(key).and_then(toml::Value::as_table);
        names.extend(found.into_iter().flat_map(toml::Table::keys).cloned());
    }
}

fn npm(text: &str) -> BTreeSet<String> {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let keys = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let tables = keys.into_iter().filter_map(|key| manifest.get(key)?.as_object());
    tables.flat_map(serde_json::Map::keys).cloned().collect()
}

fn pyproject(text: &str) -> BTreeSet<String> {
    let Ok(manifest) = text.parse::<toml::Table>() else { return BTreeSet::new() };
    let project = manifest.get("project").and_then(toml::Value::as_table);
    let plain = project.and_then(|project| project.get("dependencies")).and_then(toml::Value::as_array);
    let groups =
        [project.and_then(|project| project.get("optional-dependencies")), manifest.get("dependency-groups")];
    let groups = groups.into_iter().flatten().filter_map(toml::Value::as_table).flat_map(toml::Table::values);
    let lists = plain.into_iter().chain(groups.filter_map(toml::Value::as_array));
    let mut names: BTreeSet<String> =
        lists.flatten().filter_map(toml::Value::as_str).filter_map(requirement).collect();
    let poetry = manifest.get("tool").and_then(|tool| tool.get("poetry")).and_then(toml::Value::as_table);
    if let Some(poetry) = poetry {
        collect_cargo(poetry, &mut names);
        names.remove("python");
    }
    names
}

fn requirements(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(requirement).collect()
}

/// `name[extra]>=1.0 ; marker` → `name`.
fn requirement(line: &str) -> Option<String> {
    let line = line.trim();
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
    let is_name = line.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_name.then(|| line[..end].to_lowercase())
}

fn go(text: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut names = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        match line {
            "require (" => in_block = true,
            ")" => in_block = false,
            _ => {
                let required = line.strip_prefix("require ").or(in_block.then_some(line));
                let name = required.and_then(|rest| rest.split_whitespace().next());
                names.extend(name.filter(|name| !name.starts_with("//")).map(str::to_owned));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dependencies_of_common_manifests_are_read() {
        let table = [
            (
                "Cargo.toml",
                "[dependencies]\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n[workspace.dependencies]\ntoml = \"1\"\n[dev-dependencies]\ninsta = \"1\"\n",
                "insta nix serde toml",
            ),
            (
                "package.json",
                r#"{"dependencies": {"react": "1"}, "devDependencies": {"vite": "2"}}"#,
                "react vite",
            ),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\"Requests[socks]>=2\", \"attrs\"]\n[dependency-groups]\ndev = [\"pytest\"]\n[tool.poetry.dependencies]\npython = \"3\"\nrich = \"1\"\n",
                "attrs pytest requests rich",
            ),
            (
                "requirements-dev.txt",
                "# no\n-r base.txt\nflask==3\n\nurllib3 ; python_version<'3'\n",
                "flask urllib3",
            ),
            (
                "go.mod",
                "module x\nrequire a.b/c v1\nrequire (\n\td.e/f v2 // indirect\n\t// no\n)\n",
                "a.b/c d.e/f",
            ),
        ];
        for (name, text, expected) in table {
            let found: Vec<_> = reader(name).unwrap()(text).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{name}");
        }
        assert!(reader("README.md").is_none());
    }

    proptest! {
        #[test]
        fn no_manifest_makes_it_panic(text in "(\\PC|\n|require \\(|\\[project\\]|dependencies|=|\\{|\\}){0,40}") {
            for name in ["Cargo.toml", "package.json", "pyproject.toml", "go.mod", "requirements.txt"] {
                reader(name).unwrap()(&text);
            }
        }
    }
}

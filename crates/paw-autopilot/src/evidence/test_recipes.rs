//! Follows a test command to package.json scripts and Makefile or justfile recipes. Only these decide which tests
//! run; the rest of such a file is product code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Target names that usually run tests.
const USUAL: [&str; 3] = ["test", "tests", "check"];

/// The scripts that run with the tests: `test`, scripts the command names, scripts these call, and their pre and post
/// scripts.
pub(super) fn scripts(manifest: &Value, line: Option<&str>) -> BTreeMap<String, Value> {
    let Some(all) = manifest["scripts"].as_object() else { return BTreeMap::new() };
    let asked: BTreeSet<&str> = line.map(|line| words(line).collect()).unwrap_or_default();
    let mut reached: BTreeMap<String, Value> = BTreeMap::new();
    let is_first = |name: &String| name == "test" || asked.contains(name.as_str());
    let mut next: Vec<&String> = all.keys().filter(|name| is_first(name)).collect();
    while let Some(name) = next.pop() {
        let Some(text) = all.get(name).filter(|_| !reached.contains_key(name)) else { continue };
        reached.insert(name.clone(), text.clone());
        let named: BTreeSet<&str> = text.as_str().map(|text| words(text).collect()).unwrap_or_default();
        let around =
            |other: &str| [format!("pre{name}"), format!("post{name}")].iter().any(|one| one == other);
        next.extend(all.keys().filter(|other| named.contains(other.as_str()) || around(other)));
    }
    reached
}

pub(super) fn has_recipes(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
    matches!(name.as_str(), "makefile" | "gnumakefile" | "justfile" | ".justfile")
}

/// Whether the recipes that the command runs have changed. Additional dependencies are allowed.
pub(super) fn changes_recipes(line: &str, before: &str, after: &str) -> bool {
    let (old, new) = (Recipes::of(before), Recipes::of(after));
    let reached = old.reached_from(line);
    reached.iter().any(|(name, is_first)| {
        let (Some(then), now) = (old.rules.get(name), new.rules.get(name)) else { return false };
        let Some(now) = now else { return true };
        let fewer = *is_first && !then.needs.is_subset(&now.needs);
        fewer || then.lines != now.lines || then.programs(&old) != now.programs(&new)
    })
}

/// The rules and variables of a file, parsed approximately.
#[derive(Default)]
struct Recipes {
    rules: BTreeMap<String, Rule>,
    variables: BTreeMap<String, Vec<String>>,
    default: Option<String>,
}

#[derive(Default)]
struct Rule {
    needs: BTreeSet<String>,
    lines: Vec<String>,
}

impl Recipes {
    fn of(text: &str) -> Self {
        let mut recipes = Self::default();
        let mut current: Vec<String> = Vec::new();
        for line in text.lines() {
            let bare = line.trim();
            if line.starts_with(['\t', ' ']) && !current.is_empty() {
                for name in &current {
                    recipes.rules.entry(name.clone()).or_default().lines.push(bare.to_owned());
                }
            } else if bare.is_empty() || bare.starts_with('#') {
            } else if let Some((name, value)) = assignment(bare) {
                recipes.variables.entry(name.to_owned()).or_default().push(value.to_owned());
                current.clear();
            } else if let Some((names, needs)) = bare.split_once(':') {
                current = names.split_whitespace().map(str::to_owned).collect();
                for name in &current {
                    let rule = recipes.rules.entry(name.clone()).or_default();
                    rule.needs.extend(needs.split_whitespace().map(str::to_owned));
                    if recipes.default.is_none() && !name.starts_with('.') {
                        recipes.default = Some(name.clone());
                    }
                }
            }
        }
        recipes
    }

    /// The rules that a command runs, and whether it names them directly.
    fn reached_from(&self, line: &str) -> BTreeMap<String, bool> {
        let named = words(line).chain(USUAL).filter(|name| self.rules.contains_key(*name));
        let mut next: Vec<(String, bool)> = named.map(|name| (name.to_owned(), true)).collect();
        if next.is_empty() {
            next.extend(self.default.clone().map(|name| (name, true)));
        }
        let mut reached = BTreeMap::new();
        while let Some((name, is_first)) = next.pop() {
            let Some(rule) = self.rules.get(&name).filter(|_| !reached.contains_key(&name)) else { continue };
            reached.insert(name, is_first);
            let called = rule.lines.iter().flat_map(|line| words(line)).map(str::to_owned);
            next.extend(rule.needs.iter().cloned().chain(called).map(|name| (name, false)));
        }
        reached
    }
}

impl Rule {
    /// The values of variables that its lines start with.
    fn programs<'a>(&self, recipes: &'a Recipes) -> Vec<Option<&'a Vec<String>>> {
        let first = self.lines.iter().filter_map(|line| {
            let line = line.trim_start_matches(['@', '-', '+', ' ']);
            let name = line.strip_prefix("$(").or(line.strip_prefix("${"))?;
            Some(name.split([')', '}']).next().unwrap_or_default())
        });
        first.map(|name| recipes.variables.get(name)).collect()
    }
}

/// `NAME = value`, `NAME := value`, `NAME += value`
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name);
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    plain.then_some((name, value.trim()))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || ":_-.".contains(c))).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn package_scripts_are_followed_recursively() {
        let manifest = json!({"scripts": {
            "test": "npm run unit && npm run e2e:all", "preunit": "tsc", "unit": "vitest", "e2e:all": "playwright test",
            "build": "vite build", "verify": "jest", "loop": "npm run loop",
        }});
        let names = |line| scripts(&manifest, line).into_keys().collect::<Vec<_>>();
        assert_eq!(names(None), ["e2e:all", "preunit", "test", "unit"]);
        assert_eq!(names(Some("npm run verify; npm run loop")).len(), 6);
        assert!(scripts(&json!({"scripts": []}), None).is_empty());
    }

    const MAKEFILE: &str = "CC = cc\nRUN := python3 -m pytest\nOBJS = a.o b.o\n\nall: app\n\ntest: app unit\n\t@echo testing\n\n\
        unit:\n\t$(RUN) tests\n\napp: $(OBJS) main.o\n\t$(CC) -o app $(OBJS)\n\nclean:\n\trm -f app\n";

    #[test]
    fn changed_test_recipe_is_detected() {
        let changes = |from: &str, to: &str| {
            assert!(MAKEFILE.contains(from), "{from}");
            changes_recipes("make test", MAKEFILE, &MAKEFILE.replace(from, to))
        };
        assert!(changes("$(RUN) tests", "true"));
        assert!(changes("test: app unit", "test: app"));
        assert!(changes("\t@echo testing\n", ""));
        assert!(changes("RUN := python3 -m pytest", "RUN := true"));
        assert!(changes("unit:\n\t$(RUN) tests\n", ""));
        assert!(changes("unit:\n", "RUN = true\nunit:\n"));
    }

    #[test]
    fn build_dependencies_and_other_recipes_may_change() {
        let changes = |from: &str, to: &str| {
            assert!(MAKEFILE.contains(from), "{from}");
            changes_recipes("make test", MAKEFILE, &MAKEFILE.replace(from, to))
        };
        assert!(!changes("a.o b.o", "a.o b.o c.o"));
        assert!(!changes("$(OBJS) main.o", "$(OBJS) main.o more.o"));
        assert!(!changes("rm -f app", "rm -rf app build"));
        assert!(!changes("test: app unit", "test: app unit more"));
        assert!(!changes("clean:", "new: app\n\t./app\n\nclean:"));
        assert!(changes_recipes("make", "all:\n\t./run\n", "all:\n\ttrue\n"), "the first is what is made");
        assert!(changes_recipes("just check", "check *args:\n  ./run\n", "check *args:\n  true\n"));
    }
}

//! What `package.json` says about tests: which runner, with which arguments, and through which package manager.

use serde_json::Value;

use super::call::Call;

/// Who runs scripts here, by the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    pub fn of_files(has: impl Fn(&str) -> bool) -> Self {
        if has("pnpm-lock.yaml") {
            Self::Pnpm
        } else if has("yarn.lock") {
            Self::Yarn
        } else if has("bun.lock") || has("bun.lockb") {
            Self::Bun
        } else {
            Self::Npm
        }
    }

    pub fn test_command(self) -> &'static str {
        match self {
            Self::Npm => "npm test",
            Self::Pnpm => "pnpm test",
            Self::Yarn => "yarn test",
            Self::Bun => "bun run test",
        }
    }

    /// How a program that the project has installed is started, where it cannot be started by its path. Never
    /// downloads anything.
    fn runs(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npx", "--no-install"],
            Self::Pnpm => &["pnpm", "exec"],
            Self::Yarn => &["yarn", "run"],
            Self::Bun => &["bun", "run"],
        }
    }
}

/// A runner that comes as a program of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The program and what comes before its own arguments.
    starts: Vec<String>,
    /// What the project's own script gives it.
    args: Vec<String>,
    /// What people call it.
    pub shown: String,
}

impl Tool {
    pub fn at(program: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { starts: vec![program.into()], args: Vec::new(), shown: shown.into() }
    }

    /// A call with these arguments first, then those of the script, save the ones that must not be there.
    pub fn call(&self, first: &[&str], without: &[&str]) -> Call {
        let mut words = self.starts.iter().map(String::as_str);
        let call = Call::new(words.next().unwrap_or_default()).args(words).args(first);
        call.args(self.args.iter().filter(|arg| !without.contains(&arg.as_str())))
    }
}

/// The runner a package uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageRunner {
    Vitest(Tool),
    Jest(Tool),
    Mocha(Tool),
    Node(Vec<String>),
    Bun,
    /// A script that is more than one runner with arguments.
    Script(String),
}

/// Reads a manifest. `local` finds a program that the project has installed.
pub fn find_runner(
    manifest: &str,
    manager: Manager,
    local: impl Fn(&str) -> Option<String>,
) -> Option<PackageRunner> {
    let manifest: Value = serde_json::from_str(manifest).ok()?;
    let script = manifest["scripts"]["test"].as_str().map(str::trim).filter(|script| !is_placeholder(script));
    let shown = manager.test_command();
    let tool = |name: &str, args: Vec<String>, shown: &str| {
        let starts = match local(name) {
            Some(path) => vec![path],
            None => manager.runs().iter().copied().chain([name]).map(str::to_owned).collect(),
        };
        Tool { starts, args, shown: shown.to_owned() }
    };
    let Some(script) = script else {
        let uses = |name: &str| {
            ["dependencies", "devDependencies"].iter().any(|list| manifest[*list][name].is_string())
        };
        let name = ["vitest", "jest", "mocha"].into_iter().find(|name| uses(name))?;
        return of_tool(name, tool(name, Vec::new(), name));
    };
    match plain_words(script).as_deref() {
        Some([node, test, args @ ..]) if node == "node" && test == "--test" => {
            Some(PackageRunner::Node(args.to_vec()))
        }
        Some([bun, test]) if bun == "bun" && test == "test" => Some(PackageRunner::Bun),
        Some([name, args @ ..]) if ["vitest", "jest", "mocha"].contains(&name.as_str()) => {
            of_tool(name, tool(name, args.to_vec(), shown))
        }
        _ => Some(PackageRunner::Script(shown.to_owned())),
    }
}

fn of_tool(name: &str, tool: Tool) -> Option<PackageRunner> {
    match name {
        "vitest" => Some(PackageRunner::Vitest(tool)),
        "jest" => Some(PackageRunner::Jest(tool)),
        "mocha" => Some(PackageRunner::Mocha(tool)),
        _ => None,
    }
}

/// What a new package has instead of tests.
fn is_placeholder(script: &str) -> bool {
    script.is_empty() || script.contains("no test specified")
}

/// The words of a script that no shell is needed for, or nothing.
fn plain_words(script: &str) -> Option<Vec<String>> {
    let special = |c: char| "\"'`$&|;<>(){}[]*?!#~\\=\n".contains(c);
    let words: Vec<String> = script.split_whitespace().map(str::to_owned).collect();
    // An option with a value is no assignment, a word in front of the program is.
    let harmless =
        |word: &String| !word.replacen('=', "", usize::from(word.starts_with('-'))).contains(special);
    words.iter().all(harmless).then_some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runner(script: &str) -> Option<PackageRunner> {
        let manifest = json!({"scripts": {"test": script}, "devDependencies": {"jest": "1"}}).to_string();
        find_runner(&manifest, Manager::Npm, |name| {
            (name == "vitest").then(|| "/app/node_modules/.bin/vitest".into())
        })
    }

    fn shown(call: &Call) -> String {
        call.command("/app".as_ref(), "/tmp".as_ref()).to_string()
    }

    #[test]
    fn a_plain_runner_is_recognised_with_its_arguments() {
        let Some(PackageRunner::Vitest(tool)) = runner("vitest run --config=x.ts") else { panic!() };
        assert_eq!(shown(&tool.call(&["run"], &["run"])), "/app/node_modules/.bin/vitest run --config=x.ts");
        let Some(PackageRunner::Jest(tool)) = runner("jest --watch") else { panic!() };
        assert_eq!(shown(&tool.call(&[], &["--watch"])), "npx --no-install jest");
        assert_eq!(runner("node --test test/"), Some(PackageRunner::Node(vec!["test/".into()])));
        assert_eq!(runner("bun test"), Some(PackageRunner::Bun));
    }

    #[test]
    fn a_script_that_needs_a_shell_is_run_as_it_is() {
        for script in ["tsc && jest", "NODE_ENV=test jest", "jest 'a b'", "jest $X", "make test", "npm run x"]
        {
            assert_eq!(runner(script), Some(PackageRunner::Script("npm test".into())), "{script}");
        }
    }

    #[test]
    fn without_a_script_the_dependencies_decide() {
        let placeholder = "echo \"Error: no test specified\" && exit 1";
        assert!(matches!(runner(placeholder), Some(PackageRunner::Jest(_))));
        assert_eq!(find_runner("{}", Manager::Npm, |_| None), None);
        assert_eq!(find_runner("{", Manager::Npm, |_| None), None);
        assert_eq!(find_runner("[1]", Manager::Npm, |_| None), None);
    }

    #[test]
    fn the_lock_file_names_the_package_manager() {
        let of = |file: &str| Manager::of_files(|name| name == file).test_command();
        assert_eq!(of("pnpm-lock.yaml"), "pnpm test");
        assert_eq!(of("yarn.lock"), "yarn test");
        assert_eq!(of("bun.lockb"), "bun run test");
        assert_eq!(of("package-lock.json"), "npm test");
    }
}

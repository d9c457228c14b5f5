//! Test settings in `package.json`: the runner, its arguments and the package manager.

use serde_json::Value;

use super::command::RunnerCommand;
use super::script::{self, TestScript};

/// The package manager, by its lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageManager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl PackageManager {
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

    /// How to start an installed program without its path. Never downloads anything.
    fn runs(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npx", "--no-install"],
            Self::Pnpm => &["pnpm", "exec"],
            Self::Yarn => &["yarn", "run"],
            Self::Bun => &["bun", "run"],
        }
    }
}

/// A runner installed in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageTool {
    /// The program and leading arguments.
    starts: Vec<String>,
    /// The project's `test` script.
    script: TestScript,
    /// The display name.
    pub shown: String,
}

impl PackageTool {
    pub fn at(program: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { starts: vec![program.into()], script: TestScript::default(), shown: shown.into() }
    }

    /// A command with these arguments first, then those of the script, without the excluded ones.
    pub fn call(&self, first: &[&str], without: &[&str]) -> RunnerCommand {
        let mut words = self.starts.iter().map(String::as_str);
        let call = RunnerCommand::new(words.next().unwrap_or_default()).args(words).args(first);
        let call = call.args(self.script.words.iter().skip(1).filter(|arg| !without.contains(&arg.as_str())));
        self.script.variables.iter().fold(call, |call, (name, value)| call.variable(name, value))
    }
}

/// The runner of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageRunner {
    Vitest(PackageTool),
    Jest(PackageTool),
    Mocha(PackageTool),
    /// `node`, with its script.
    Node(TestScript),
    Bun,
    /// A script that needs a shell.
    Script(String),
}

const TOOLS: [&str; 3] = ["vitest", "jest", "mocha"];

/// Finds runners in a manifest: the one in its script, then those among its dependencies. `local` finds installed
/// programs.
pub fn find_runners(
    manifest: &str,
    manager: PackageManager,
    local: impl Fn(&str) -> Option<String>,
) -> serde_json::Result<Vec<PackageRunner>> {
    let manifest: Value = serde_json::from_str(manifest)?;
    let tool = |name: &str, script: TestScript, shown: &str| {
        let starts = match local(name) {
            Some(path) => vec![path],
            None => manager.runs().iter().copied().chain([name]).map(str::to_owned).collect(),
        };
        of_tool(name, PackageTool { starts, script, shown: shown.to_owned() })
    };
    let script = manifest["scripts"]["test"].as_str().map(str::trim).filter(|script| !is_placeholder(script));
    let by_script = script.map(|script| {
        let shown = manager.test_command();
        let whole = || PackageRunner::Script(shown.to_owned());
        let Some(script) = script::read(script) else { return whole() };
        match script.words.as_slice() {
            [node, args @ ..] if node == "node" && is_told_to_test(args) => PackageRunner::Node(script),
            [bun, test] if bun == "bun" && test == "test" => PackageRunner::Bun,
            [name, ..] => tool(&name.clone(), script, shown).unwrap_or_else(whole),
            [] => whole(),
        }
    });
    let uses =
        |name: &str| ["dependencies", "devDependencies"].iter().any(|list| manifest[*list][name].is_string());
    let tools = TOOLS.into_iter().filter(|name| uses(name));
    let mut found: Vec<PackageRunner> = by_script.into_iter().collect();
    for runner in tools.filter_map(|name| tool(name, TestScript::default(), name)) {
        if !found.iter().any(|known| std::mem::discriminant(known) == std::mem::discriminant(&runner)) {
            found.push(runner);
        }
    }
    Ok(found)
}

/// Whether `--test` is an option of node: after a program's name it belongs to that program.
fn is_told_to_test(args: &[String]) -> bool {
    const WITH_VALUE: [&str; 9] = [
        "--import",
        "--require",
        "-r",
        "--loader",
        "--experimental-loader",
        "--env-file",
        "--conditions",
        "-C",
        "--test-name-pattern",
    ];
    let mut args = args.iter();
    while let Some(arg) = args.next().filter(|arg| arg.starts_with('-')) {
        if arg == "--test" {
            return true;
        }
        if WITH_VALUE.contains(&arg.as_str()) {
            args.next();
        }
    }
    false
}

fn of_tool(name: &str, tool: PackageTool) -> Option<PackageRunner> {
    match name {
        "vitest" => Some(PackageRunner::Vitest(tool)),
        "jest" => Some(PackageRunner::Jest(tool)),
        "mocha" => Some(PackageRunner::Mocha(tool)),
        _ => None,
    }
}

/// The default script of a new package.
fn is_placeholder(script: &str) -> bool {
    script.is_empty() || script.contains("no test specified")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runners(script: &str) -> Vec<PackageRunner> {
        let manifest = json!({"scripts": {"test": script}, "devDependencies": {"jest": "1"}}).to_string();
        let local = |name: &str| (name == "vitest").then(|| "/app/node_modules/.bin/vitest".into());
        find_runners(&manifest, PackageManager::Npm, local).unwrap()
    }

    fn shown(call: &RunnerCommand) -> String {
        call.command("/app".as_ref(), "/tmp".as_ref()).to_string()
    }

    #[test]
    fn package_script_with_a_known_runner_is_recognised() {
        let [PackageRunner::Vitest(tool), PackageRunner::Jest(_)] = &runners("vitest run --config=x.ts")[..]
        else {
            panic!()
        };
        assert_eq!(shown(&tool.call(&["run"], &["run"])), "/app/node_modules/.bin/vitest run --config=x.ts");
        let [PackageRunner::Jest(tool)] = &runners("jest --watch")[..] else { panic!() };
        assert_eq!(shown(&tool.call(&[], &["--watch"])), "npx --no-install jest");
        assert!(
            matches!(&runners("node --test test/")[0], PackageRunner::Node(script) if script.words.len() == 3)
        );
        assert_eq!(runners("bun test")[0], PackageRunner::Bun);
    }

    #[test]
    fn package_script_that_needs_a_shell_runs_unchanged() {
        for script in ["tsc && jest", "jest $X", "make test", "npm run x"] {
            assert_eq!(runners(script)[0], PackageRunner::Script("npm test".into()), "{script}");
        }
    }

    #[test]
    fn package_dependencies_decide_without_a_script() {
        assert!(matches!(runners("node --import ./setup.mjs --test")[..], [PackageRunner::Node(_), ..]));
        assert!(matches!(runners("node scripts/run.js --test")[..], [PackageRunner::Script(_), ..]));
        let placeholder = "echo \"Error: no test specified\" && exit 1";
        assert!(matches!(runners(placeholder)[..], [PackageRunner::Jest(_)]));
        let found = |manifest: &str| find_runners(manifest, PackageManager::Npm, |_| None);
        assert!(matches!(
            found(r#"{"devDependencies": {"jest": "1", "vitest": "2"}}"#).unwrap()[..],
            [PackageRunner::Vitest(_), PackageRunner::Jest(_)]
        ));
        for nothing in
            ["{}", "[1]", r#"{"scripts": [], "devDependencies": 7}"#, r#"{"scripts": {"test": 1}}"#]
        {
            assert!(found(nothing).unwrap().is_empty(), "{nothing}");
        }
        assert!(found("{").is_err());
    }

    #[test]
    fn lock_file_decides_the_package_manager() {
        let of = |file: &str| PackageManager::of_files(|name| name == file);
        let started = |manager: PackageManager| {
            let manifest = r#"{"devDependencies": {"vitest": "1"}}"#;
            let found = find_runners(manifest, manager, |_| None).unwrap();
            let [PackageRunner::Vitest(tool)] = &found[..] else { panic!() };
            shown(&tool.call(&["run"], &[]))
        };
        for (lock, test, start) in [
            ("pnpm-lock.yaml", "pnpm test", "pnpm exec vitest run"),
            ("yarn.lock", "yarn test", "yarn run vitest run"),
            ("bun.lock", "bun run test", "bun run vitest run"),
            ("bun.lockb", "bun run test", "bun run vitest run"),
            ("package-lock.json", "npm test", "npx --no-install vitest run"),
        ] {
            assert_eq!((of(lock).test_command(), started(of(lock)).as_str()), (test, start), "{lock}");
        }
    }
}

//! Files that a test runner or git loads by itself: settings, setup files, plugins, hooks, and modules that take the
//! place of the runner's own. A change of one can change every result.

use std::path::Path;

use super::FileChange;
use super::file_kind::{FileRules, SourceKind};
use super::fixtures::adds_only_fixtures;
use super::runner_names::find_added_name;
use super::test_config::changes_test_config;

/// Settings that runners look for in every parent directory of a project, too.
pub const RUNNER_SETTINGS: [&str; 24] = [
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "conftest.py",
    "package.json",
    "babel.config.js",
    "babel.config.json",
    ".babelrc",
    "jest.config.js",
    "vitest.config.ts",
    ".mocharc.js",
    ".mocharc.json",
    ".mocharc.yml",
    ".npmrc",
    "bunfig.toml",
    "node_modules",
    "Cargo.toml",
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.work",
];

/// Loaded without being named by a test.
const LOADED: [&str; 16] = [
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.work",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".swcrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "mocha.opts",
];

const LOADED_PREFIXES: [&str; 10] = [
    "jest.setup.",
    "vitest.setup.",
    "setupTests.",
    "setup-tests.",
    "globalSetup.",
    "global-setup.",
    "jest.",
    "vitest.",
    "babel.config.",
    ".babelrc",
];

/// Directories whose content is loaded, or runs as hooks.
const LOADED_DIRS: [&str; 3] = ["node_modules", ".husky", ".githooks"];

/// Modules of Python's runners.
const RUNNER_MODULES: [&str; 10] = [
    "pytest",
    "_pytest",
    "unittest",
    "pluggy",
    "iniconfig",
    "nose2",
    "doctest",
    "pytest_cov",
    "coverage",
    "xdist",
];

/// Modules that runners import and that a new file of this name would replace.
const IMPORTED: &str = " abc argparse ast asyncio atexit base64 bdb bisect builtins code codecs collections concurrent \
    configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis email enum \
    errno faulthandler fnmatch functools gc genericpath getopt gettext glob hashlib heapq html importlib inspect io \
    itertools json keyword linecache locale logging marshal math ntpath numbers opcode operator optparse os packaging \
    pathlib pdb pickle pkgutil platform posixpath pprint py queue random re reprlib runpy select selectors shlex \
    shutil signal site socket stat string struct subprocess sysconfig tempfile textwrap threading time token tokenize \
    tomli tomllib traceback tracemalloc types typing unicodedata urllib uuid warnings weakref xml zipfile zipimport \
    exceptiongroup pygments attr attrs ";

/// Whether a runner or git loads this file by itself.
pub fn is_runner_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parts = || path.iter().filter_map(|part| part.to_str());
    LOADED.contains(&name)
        || RUNNER_SETTINGS[..5].contains(&name) && name != "pyproject.toml" && name != "setup.cfg"
        || is_code(name) && LOADED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || has_ending(name, "pth")
        || parts().any(|part| LOADED_DIRS.contains(&part))
        || path.starts_with("__mocks__")
        || is_runner_module(path)
}

fn is_runner_module(path: &Path) -> bool {
    let is_python =
        path.extension().is_some_and(|end| ["py", "pyi", "so", "pyc"].iter().any(|known| end == *known));
    let stems =
        path.iter().filter_map(|part| part.to_str()).map(|part| part.split('.').next().unwrap_or(part));
    is_python && stems.into_iter().any(|stem| RUNNER_MODULES.contains(&stem))
}

/// Whether a new file takes the place of a module that the runner imports. Only modules outside of packages do.
fn replaces_module(change: &FileChange) -> bool {
    let path = &change.path;
    let is_first = |part: &str| !["src", "lib", "test", "tests"].contains(&part);
    let first = path.iter().filter_map(|part| part.to_str()).find(|part| is_first(part)).unwrap_or_default();
    let module = first.split('.').next().unwrap_or_default();
    let is_python = path.extension().is_some_and(|end| end == "py");
    change.before.is_none() && is_python && IMPORTED.contains(&format!(" {module} "))
}

/// Whether a change needs the user's permission. In RED, files such as `conftest.py` may gain fixtures.
pub fn changes_runner_file(rules: &FileRules, change: &FileChange, may_add_fixtures: bool) -> bool {
    if rules.allows(change) {
        return false;
    }
    if change.path.file_name().is_some_and(|name| name == "conftest.py") {
        let before = change.before.as_deref().unwrap_or_default();
        let is_harmless = may_add_fixtures
            && change.after.as_deref().is_some_and(|after| adds_only_fixtures(before, after));
        return !is_harmless;
    }
    is_runner_file(&change.path) || replaces_module(change)
}

/// Whether only the user can allow a change: of a protected file, or of code that names the test runner.
pub fn needs_permission(rules: &FileRules, change: &FileChange) -> bool {
    let names_runner = || find_added_name(rules, change).is_some();
    is_protected(rules, change) || (rules.kind(&change.path) == SourceKind::Production && names_runner())
}

/// Whether a change is one of settings and files that a runner loads.
pub(super) fn is_protected(rules: &FileRules, change: &FileChange) -> bool {
    changes_test_config(rules, change) || changes_runner_file(rules, change, false)
}

fn is_code(name: &str) -> bool {
    ["js", "cjs", "mjs", "ts", "cts", "mts", "json", "jsx", "tsx"].iter().any(|end| has_ending(name, end))
        || name.starts_with(".babelrc")
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_runners_load_by_themselves_are_recognised() {
        for path in [
            "conftest.py",
            "tests/conftest.py",
            "pytest.py",
            "tests/pytest/__init__.py",
            "src/unittest.py",
            "sitecustomize.py",
            "x.pth",
            "jest.setup.ts",
            "babel.config.js",
            ".babelrc",
            "packages/a/node_modules/jest/index.js",
            "__mocks__/fs.js",
            ".husky/pre-commit",
            "build.rs",
            "tox.ini",
        ] {
            assert!(is_runner_file(Path::new(path)), "{path}");
        }
        for path in [
            "tests/test_a.py",
            "app/pytestish.py",
            "src/lib.rs",
            "src/__mocks__/a.js",
            "docs/unittest.md",
            "setup.cfg",
        ] {
            assert!(!is_runner_file(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn only_new_modules_outside_of_packages_replace_the_runners() {
        let change = |path: &str, before: Option<&str>| FileChange {
            path: path.into(),
            before: before.map(str::to_owned),
            after: Some("x".into()),
            ..FileChange::default()
        };
        for path in ["json.py", "tests/traceback.py", "xml/__init__.py", "src/inspect.py"] {
            assert!(replaces_module(&change(path, None)), "{path}");
            assert!(!replaces_module(&change(path, Some("old"))), "{path}");
        }
        assert!(!replaces_module(&change("app/json.py", None)) && !replaces_module(&change("json.js", None)));
    }
}

//! Files that programs write: build output, caches, lock files. Conflicts about them are rarely worth a look.

/// Directories that build tools, package managers and test runners fill.
const DIRECTORIES: [&str; 24] = [
    "__pycache__",
    ".cache",
    ".eggs",
    ".gradle",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "_build",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "target",
    "venv",
];

/// Files that package managers write.
const NAMES: [&str; 18] = [
    ".DS_Store",
    ".coverage",
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "flake.lock",
    "go.sum",
    "mix.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// Endings of compiled, minified and generated files.
const ENDINGS: [&str; 14] = [
    ".class",
    ".gen.go",
    ".generated.ts",
    ".g.dart",
    ".log",
    ".map",
    ".min.css",
    ".min.js",
    ".o",
    ".pb.go",
    ".pyc",
    ".pyo",
    ".tsbuildinfo",
    "_pb2.py",
];

/// Whether a path of a repository is, by convention, written by a program.
pub(crate) fn is_generated(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_output = |part: &str| DIRECTORIES.contains(&part) || part.ends_with(".egg-info");
    directories.split('/').any(is_output)
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_caches_and_lock_files_are_generated_and_sources_are_not() {
        for path in [
            "__pycache__/a.cpython-311.pyc",
            "web/node_modules/x/index.js",
            "target/debug/app",
            "Cargo.lock",
            "api/v1/user.pb.go",
            "app/static/main.min.js",
            "src/app.egg-info/PKG-INFO",
        ] {
            assert!(is_generated(path), "{path}");
        }
        for path in
            ["src/build.rs", "build.gradle", "src/target.rs", "docs/dist.md", "a/Makefile", "x.lock.rs"]
        {
            assert!(!is_generated(path), "{path}");
        }
    }
}

//! Names that commands may not touch without asking, as plain tables.
//!
//! A name is matched against every component of a path, in any case. `*` matches any text.

use std::path::Path;

use paw_agent::cli;
use paw_core::paths::CheckoutDir;

/// Why a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// It may hold a secret: neither read nor written.
    Secret,
    /// The settings of git paw or an AI CLI: neither read nor written by name. Recursive readers may see it.
    Settings,
    /// It decides what other commands run: not written.
    Steering,
}

/// Places for secrets: git's state, credentials, private keys.
const SECRETS: &[&str] = &[
    ".git",
    ".aider*",
    ".aws",
    ".boto",
    ".azure",
    ".claude.json",
    ".credentials*",
    ".databrickscfg",
    ".docker",
    ".env*",
    "*.env",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".mcp.json",
    ".my.cnf",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".password-store",
    ".s3cfg",
    ".secrets",
    ".ssh",
    ".terraformrc",
    ".vault-token",
    ".vault_pass*",
    ".yarnrc*",
    "*.gpg",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.kubeconfig",
    "*.ovpn",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*.secret",
    "*.tfstate",
    "*.tfvars",
    "*.token",
    "auth.json",
    "application_default_credentials.json",
    "credentials",
    "credentials.*",
    "firebase-adminsdk*.json",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "kubeconfig",
    "oauth_creds.json",
    "opencode.json",
    "opencode.jsonc",
    "secrets.*",
    "service-account*.json",
    "service_account*.json",
];

/// Names that only look like secrets: templates, public keys, source code.
const PUBLIC: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "*.pub",
    "*.rs",
    "*.py",
    "*.go",
    "*.js",
    "*.ts",
    "*.tsx",
    "*.jsx",
    "*.java",
    "*.kt",
    "*.rb",
    "*.php",
    "*.cs",
    "*.swift",
    "*.c",
    "*.h",
    "*.cc",
    "*.cpp",
    "*.hpp",
    "*.ex",
    "*.exs",
    "*.md",
    "*.html",
];

/// Files that decide what other commands run: toolchains, build and package settings, hooks, CI, editors, shells,
/// and directories whose programs the tables call by name.
const STEERING: &[&str] = &[
    ".bash*",
    ".bazelrc",
    ".bin",
    ".buildkite",
    ".bundle",
    ".bunfig.toml",
    "bunfig.toml",
    ".cargo",
    ".circleci",
    ".curlrc",
    ".devcontainer",
    ".direnv",
    ".drone.yml",
    ".exrc",
    ".gdbinit",
    ".gitattributes",
    ".gitconfig",
    ".githooks",
    ".github",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".hg",
    ".husky",
    ".idea",
    ".inputrc",
    ".jj",
    ".lefthook*",
    "lefthook.y*ml",
    ".lldbinit",
    ".mise*",
    "mise.toml",
    "mise.local.toml",
    ".mvn",
    "mvnw",
    "mvnw.cmd",
    "gradlew",
    "gradlew.bat",
    "gradle-wrapper.*",
    "node_modules",
    ".overcommit.yml",
    ".pnp.*",
    ".pnpmfile.cjs",
    "pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".ripgreprc",
    ".rtx*",
    "rust-toolchain",
    "rust-toolchain.toml",
    "simple-git-hooks.*",
    ".simple-git-hooks.*",
    "sitecustomize.py",
    ".svn",
    ".tool-versions",
    ".travis.yml",
    "usercustomize.py",
    "*.pth",
    ".venv",
    "venv",
    ".vimrc",
    ".vscode",
    ".wgetrc",
    ".yarn",
    ".zprofile",
    ".zsh*",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Whether a path may hold a secret, or settings of git paw or an AI CLI.
pub(crate) fn is_private(path: &Path) -> bool {
    matches!(find(path), Some(Protection::Secret | Protection::Settings))
}

/// How the path is protected by the name of one of its components.
pub(super) fn find(path: &Path) -> Option<Protection> {
    let mut found = None;
    for part in path.components() {
        match of_name(&part.as_os_str().to_string_lossy()) {
            Some(Protection::Secret) => return Some(Protection::Secret),
            Some(protection) => found = found.or(Some(protection)),
            None => {}
        }
    }
    found
}

/// How one file name is protected.
pub(super) fn of_name(name: &str) -> Option<Protection> {
    let name = name.to_ascii_lowercase();
    let among = |names: &[&str]| names.iter().any(|pattern| matches(&pattern.to_ascii_lowercase(), &name));
    if among(SECRETS) && !among(PUBLIC) {
        return Some(Protection::Secret);
    }
    if among(&[CheckoutDir::NAME, ".codeium", ".windsurf"]) || cli::ALL.iter().any(|cli| among(cli.settings))
    {
        return Some(Protection::Settings);
    }
    among(STEERING).then_some(Protection::Steering)
}

/// Whether a pattern with `*`, `?` and `[…]` matches a whole name. What is not understood matches, which errs on the safe
/// side.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    fn step(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) | (Some(('{' | '\\', _)), _) => true,
            (Some(('[', rest)), _) => match split_class(rest) {
                Some((class, rest)) => {
                    name.split_first().is_some_and(|(c, name)| fits(class, *c) && step(rest, name))
                }
                None => true,
            },
            (Some(('*', rest)), _) => (0..=name.len()).any(|skip| step(rest, &name[skip..])),
            (Some(('?', rest)), Some((_, name))) => step(rest, name),
            (Some((a, rest)), Some((b, name))) if a == b => step(rest, name),
            _ => false,
        }
    }
    const LONGEST: usize = 64;
    if pattern.len() > LONGEST || pattern.matches('*').count() > 4 {
        return true;
    }
    let (pattern, name): (Vec<_>, Vec<_>) = (pattern.chars().collect(), name.chars().collect());
    step(&pattern, &name)
}

/// The letters of `[abc]`, and what follows.
fn split_class(pattern: &[char]) -> Option<(&[char], &[char])> {
    let end = 1 + pattern.iter().skip(1).position(|c| *c == ']')?;
    Some((&pattern[..end], &pattern[end + 1..]))
}

/// Names are compared in lower case, so that a negated class may contain any letter.
fn fits(class: &[char], c: char) -> bool {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._ -".contains(*c);
    let ranges = class.windows(3).filter(|three| three[1] == '-');
    !class.iter().all(is_plain)
        || class.contains(&c)
        || ranges.into_iter().any(|three| three[0] <= c && c <= three[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_secret_settings_steering_or_free() {
        for (protection, names) in [
            (
                Some(Protection::Secret),
                &[".git", ".ENV", ".env.local", "id_rsa", "server.pem", "credentials.json"][..],
            ),
            (Some(Protection::Settings), &[".claude", ".codex", ".gemini", ".factory", ".clinerules"]),
            (
                Some(Protection::Steering),
                &[".cargo", "rust-toolchain.toml", ".github", ".husky", ".vscode", ".mise.toml"],
            ),
            (
                None,
                &[
                    ".gitignore",
                    ".env.example",
                    "id_rsa.pub",
                    "credentials.rs",
                    "src",
                    "keys.rs",
                    "environment",
                    "Makefile",
                ],
            ),
        ] {
            for name in names {
                assert_eq!(of_name(name), protection, "{name}");
            }
        }
    }

    #[test]
    fn the_settings_of_every_cli_in_the_catalog_are_protected() {
        for cli in &cli::ALL {
            assert!(!cli.settings.is_empty(), "{}", cli.name);
            for name in cli.settings {
                assert!(of_name(&name.replace('*', "x")).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn wildcards_match_whole_names() {
        assert!(
            matches("*.env", "prod.env") && matches("a*c", "abc") && matches("?b", "ab") && matches("*", "")
        );
        assert!(matches("[.]env", ".env") && matches(".[a-z]nv", ".env") && matches("[!x]env", ".env"));
        assert!(matches("[id", "x") && !matches("[id].tsx", ".env") && matches("[id].tsx", "i.tsx"));
        assert!(
            !matches("*.rs", ".env") && !matches("a", "ab") && !matches("?", "") && !matches("*.rs", "x.rst")
        );
    }
}

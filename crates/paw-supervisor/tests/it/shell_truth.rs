//! Approved lines, mutated, are run by a real shell in a scratch repository: nothing outside changes, no secret is printed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use paw_host::process::Command;
use paw_supervisor::approval::{ApprovalRules, CommandContext, judge};
use proptest::prelude::*;

/// In every file that must not be read.
const SECRET: &str = "canary-4711";

/// Files and links of the scratch repository. A link has its target after `->`.
const FILES: &[(&str, &str)] = &[
    ("tree/Cargo.toml", "[package]\nname = \"x\"\n"),
    ("tree/src/main.rs", "fn main() {}\nfn old_name() {}\n"),
    ("tree/src/lib.rs", "pub fn one() {}\n"),
    ("tree/docs/guide.txt", "one\ntwo\nthree\n"),
    ("tree/docs/list.txt", "/etc/hostname\n../other/secret\n"),
    ("tree/docs/a b.txt", "spaces\n"),
    ("tree/docs/-n", "option\n"),
    ("tree/docs/sub/x", "in a directory with a space above\n"),
    ("tree/package.json", "{\"name\": \"x\", \"env\": 1}\n"),
    ("tree/.env", "KEY=canary-4711\n"),
    ("tree/config/.env", "KEY=canary-4711\n"),
    ("tree/config/app.toml", "a = 1\n"),
    ("tree/.npmrc", "token=canary-4711\n"),
    ("tree/server.pem", "canary-4711\n"),
    ("tree/tests/fixture.pem", "KEY canary-4711 in git\n"),
    ("tree/docs/47", "a file with the name of an exit code\n"),
    ("tree/.cargo/config.toml", "[build]\n"),
    ("tree/.github/workflows/ci.yml", "on: push\n"),
    ("tree/.claude/settings.json", "{}\n"),
    ("other/secret", "canary-4711\n"),
    ("home/.ssh/id_rsa", "canary-4711\n"),
];
const LINKS: &[(&str, &str)] = &[
    ("tree/docs/key.md", "../../other/secret"),
    ("tree/linked/main.rs", "../../other/secret"),
    ("tree/linked/guide.txt", "../../other/secret"),
    ("tree/linked/dir", "../../other"),
    ("tree/out", "../other"),
    ("tree/dangling", "../other/new"),
    ("tree/in", "src"),
    ("tree/env-link", ".env"),
    ("tree/docs/1", "../../other/secret"),
    ("tree/deep", "docs/sub"),
];

/// Words that mutations put into lines.
const PATHS: &[&str] = &[
    "src/main.rs",
    "src",
    ".",
    "docs",
    "docs/guide.txt",
    "config",
    "linked",
    "linked/main.rs",
    "linked/dir",
    "out",
    "out/secret",
    "docs/key.md",
    ".env",
    "config/.env",
    "env-link",
    "dangling",
    "in/main.rs",
    "../other/secret",
    "../other",
    "docs/*",
    "*",
    ".*",
    "src/*.rs",
    "linked/*",
    "~/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "docs/list.txt",
    "'docs/a b.txt'",
    ".cargo/config.toml",
    ".github/workflows",
    "server.pem",
    "docs/new.txt",
    "\"$PWD/../other/secret\"",
    "src/../../other/secret",
    "/proc/self/cwd/../other/secret",
    ".git/config",
    "HEAD:.env",
    "new/dir",
    "{}",
    "./-n",
    "docs/-n",
    "*.pem",
    "c*/.e*",
    "config/.e*",
    "[.]env",
    "tests",
    "tests/fixture.pem",
    "'*.pem'",
    "HEAD~1",
    "deep/../../other/secret",
    "docs/$?",
    "\"$?\"",
    "$'\\x2eenv'",
    "\"$(echo .env)\"",
    "$(pwd)/.env",
    "`echo .env`",
    "${f}",
    "$f",
    "\"$f\"",
    "$f/etc/hostname",
    "~+/.env",
    "src{,/../.env}",
    "{src/main.rs,.env}",
    "{.,..}/other/secret",
    ".{env,x}",
    "docs/{guide.txt,key.md}",
    "docs/${PIPESTATUS[0]}",
    "\"$(echo src) $(echo .env)\"",
];
const OPTIONS: &[&str] = &[
    "-r",
    "-R",
    "-L",
    "-a",
    "-f",
    "-i",
    "-n",
    "-o docs/out",
    "--output=../other/secret",
    "-exec cat {} +",
    "-exec cat {} \\;",
    "--include=.env",
    "--include='*'",
    "-e KEY",
    "-e .",
    "-0",
    "-p",
    "--hidden",
    "--exclude-dir=src",
    "-t",
    "-T",
    "-H",
    "-follow",
    "-type f",
    "-name '.env'",
    "-name '*'",
    "-delete",
    "--",
    "-v",
    "-c",
    "--no-index",
    "--untracked",
    "-h",
    "-s",
    "-l",
    "-w",
    "-d recurse",
    "-N",
    "--incl=.env",
    "--rec",
    "--dereference-rec",
    "--outp=../other/secret",
    "--exclude=x --include=*.rs",
    "-L1,5:.env",
    "-I cat",
    "-print0",
    "--ext",
    "--textconv",
    "--all",
    "-5",
];
const WRAPPERS: &[&str] = &[
    "{} | cat",
    "{} > docs/new.txt",
    "{} >> linked/main.rs",
    "{} > out/secret",
    "{} > dangling",
    "{} 2>&1",
    "{} &> docs/new.txt",
    "echo \"$({})\"",
    "{} # x",
    "({})",
    "{ {}; }",
    "if true; then {}; fi",
    "for f in src docs; do {}; done",
    "for f in docs/*; do cat \"$f\"; done; {}",
    "! {}",
    "cd src && {}",
    "cd docs; {}",
    "cd out; {}",
    "cd linked && {}",
    "timeout 5 {}",
    "LC_ALL=C {}",
    "HOME=. {}",
    "f=.env; {}",
    "f=src; {}",
    "{} | xargs cat",
    "{} | xargs -0 cat",
    "{} | head -5 | xargs cat",
    "find . -name '*.rs' -exec {} \\;",
    "{} <<'E'\n../other/secret\nE",
    "cat <<'E' | {}\nKEY\nE",
    "{} < docs/list.txt",
    "{} < .env",
    "mkdir -p new && cd new && {}",
    "cp -r docs new && {}",
    "mv linked docs/moved && {}",
    "{} || cat .env",
    "time {}",
    "f=.env; false && f=src/main.rs; {}",
    "f=.env; if false; then f=src/main.rs; fi; {}",
    "f=.env; f=src/main.rs | cat; {}",
    "f=.env; x=$(f=src/main.rs); {}",
    "f=.env; (f=src/main.rs); {}",
    "f=src/main.rs && {}",
    "true || f=src; {}",
    "false && f=src || {}",
    "for f in src/main.rs docs; do {}; done",
    "for f in docs/*; do {}; done",
    "false; {}",
    "(exit 47); {}",
    "! cd src && {}",
    "cd deep && cd .. && {}",
    "cd src && cd .. && {}",
    "GIT_EXTERNAL_DIFF=cat {}",
    "GIT_DIR=../other {}",
    "LESSOPEN='|cat .env' PAGER=less {}",
    "BASH_ENV=docs/list.txt {}",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='cat .env' {}",
    "cd() { cat .env; }; {}",
    "alias ls='cat .env'; {}",
    "echo $((1)); {}",
    "cat <({})",
    "{} | tee out/secret",
    "sh <<'E'\n{}\nE",
    "git ls-files -z | xargs -0 cat; {}",
    "env CI=1 {}",
    "{}; git status",
    "mv docs/guide.txt docs/moved.txt && {}",
    "git mv docs/guide.txt docs/moved.txt && {}",
    "[[ -f src/main.rs ]] && {}",
    "for f in */*; do {}; done",
    "for f in d*/; do {}; done",
    "for f in {docs,config}; do {}; done",
];
/// Other ways to write a word, or something that looks like one.
const QUOTES: &[&str] = &[
    "\"{}\"",
    "'{}'",
    "\\{}",
    "\"\"{}",
    "{}''",
    "$'{}'",
    "$\"{}\"",
    "\"$(echo {})\"",
    "$(echo {})",
    "\"$PWD/{}\"",
    "./{}",
];
/// Lines to begin with.
const SEEDS: &[&str] = &[
    "cat src/main.rs",
    "cat -n src/*.rs",
    "head -n 3 docs/guide.txt",
    "tail -2 docs/guide.txt",
    "ls -la",
    "ls -R src",
    "grep -rn fn src",
    "grep -n one docs/guide.txt",
    "grep -rn --include=*.rs fn .",
    "grep -e fn src/lib.rs",
    "sed -n 1,2p src/main.rs",
    "sed -i s/old_name/new_name/ src/main.rs",
    "sed 's/a/b/g' docs/guide.txt",
    "awk '{print $1}' docs/guide.txt",
    "sort docs/guide.txt",
    "uniq docs/guide.txt",
    "cut -c1-3 docs/guide.txt",
    "wc -l src/main.rs",
    "diff -r src src",
    "diff src/main.rs src/lib.rs",
    "cp src/main.rs docs/copy.rs",
    "cp src/main.rs docs",
    "cp -r src docs/copy",
    "mv src/main.rs docs/main.rs",
    "mv docs/guide.txt docs/sub",
    "mkdir -p new/dir",
    "touch docs/new.txt",
    "tee docs/new.txt",
    "chmod +x src/main.rs",
    "find . -name '*.rs'",
    "find src -type f",
    "find src -name '*.rs' -exec cat {} +",
    "find src -name '*.rs' | xargs cat",
    "find docs -type f -print0 | xargs -0 wc -l",
    "git status",
    "git log --oneline",
    "git diff",
    "git show HEAD:src/main.rs",
    "git ls-files",
    "git grep -n fn",
    "git add src",
    "git add -A",
    "git commit -m x",
    "git restore --staged src",
    "git mv src/main.rs src/other.rs",
    "git blame src/main.rs",
    "git cat-file -p HEAD",
    "git ls-files | xargs wc -l",
    "echo hello",
    "echo hello > docs/new.txt",
    "printf '%s\\n' x",
    "jq .name package.json",
    "test -f src/main.rs",
    "[ -f src/main.rs ]",
    "[[ -f src/main.rs ]]",
    "cat src/{main,lib}.rs",
    "mkdir -p new/{a,b}",
    "echo {1..3}",
    "ls docs | head -1; echo ${PIPESTATUS[0]}",
    "pwd",
    "stat -c %s src/main.rs",
    "file src/main.rs",
    "du -s src",
    "base64 src/main.rs",
    "od -c docs/guide.txt",
    "nl docs/guide.txt",
    "tac docs/guide.txt",
    "paste docs/guide.txt",
    "comm docs/guide.txt docs/guide.txt",
    "tr a b",
    "basename src/main.rs",
    "realpath src",
    "readlink in",
    "md5sum src/main.rs",
    "seq 3",
    "date +%F",
    "sh -n src/main.rs",
    "env CI=1 ls",
    "timeout 5 cat src/main.rs",
];

/// A scratch directory with a worktree, a home directory, and files outside of both.
struct Scratch {
    dir: tempfile::TempDir,
}

static TEMPLATE: LazyLock<Scratch> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (name, target) in LINKS {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }
    let scratch = Scratch { dir };
    let setup = "git init -q -b feat/x . && printf '.env\\nconfig/.env\\n.npmrc\\nserver.pem\\n' > .git/info/exclude \
                 && git add -A && git commit -q -m first && echo '// more' >> src/lib.rs && git commit -qam second";
    let ran = scratch.run(setup);
    assert!(ran.0, "{}", ran.1);
    scratch
});

impl Scratch {
    fn copy(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy_tree(self.dir.path(), dir.path());
        Self { dir }
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("tree")
    }

    fn place(&self) -> CommandContext {
        CommandContext {
            home: Some(self.dir.path().join("home")),
            branch: Some("feat/x".to_owned()),
            ..CommandContext::at(self.tree())
        }
    }

    /// Whether the line succeeded, and everything it printed.
    fn run(&self, line: &str) -> (bool, String) {
        let shell = ["-c", line];
        // Agents use both kinds of shells.
        let name =
            if line.len().is_multiple_of(2) && Path::new("/bin/bash").exists() { "bash" } else { "sh" };
        let command = if *ISOLATES { Command::new("unshare").args(["-n", name]) } else { Command::new(name) };
        let output = command
            .args(shell)
            .dir(self.tree())
            .env("HOME", self.dir.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .env("KEY_OF_USER", SECRET)
            .time_limit(Duration::from_secs(20))
            .capture()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.exit.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// What must stay as it is: everything outside, and protected files.
    fn fixed(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.dir.path().join("home"), self.dir.path().join("other")];
        open.extend(
            [".env", "config/.env", ".npmrc", ".cargo", ".github", ".claude", ".git/config", ".git/hooks"]
                .map(|name| self.tree().join(name)),
        );
        while let Some(path) = open.pop() {
            if path.is_symlink() {
                found.insert(
                    path.clone(),
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                );
            } else if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
        found
    }
}

/// Whether a shell can be run without a network.
static ISOLATES: LazyLock<bool> = LazyLock::new(|| {
    let works =
        Command::new("unshare").args(["-n", "true"]).capture().is_ok_and(|output| output.exit.success());
    if !works {
        println!("skipped: the network is on, because unshare does not work here");
    }
    works
});

fn copy_tree(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Runs a line if it is approved. Returns whether it was.
fn check(line: &str) -> Result<bool, String> {
    let scratch = TEMPLATE.copy();
    if !judge(line, &ApprovalRules::default(), &scratch.place()).is_allow() {
        return Ok(false);
    }
    let before = scratch.fixed();
    let (_, printed) = scratch.run(line);
    if printed.contains(SECRET) {
        return Err(format!("{line}\nprinted a secret:\n{printed}"));
    }
    let after = scratch.fixed();
    if before != after {
        let changed: Vec<_> = before
            .iter()
            .filter(|(path, text)| after.get(*path) != Some(text))
            .map(|(path, _)| path)
            .collect();
        let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        return Err(format!("{line}\nchanged {changed:?}, added {new:?}"));
    }
    Ok(true)
}

/// A change of a line.
#[derive(Debug, Clone)]
enum Mutation {
    Wrap(&'static str),
    Insert(usize, &'static str),
    Replace(usize, &'static str),
    Quote(usize, &'static str),
}

impl Mutation {
    fn apply(&self, line: &str) -> String {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let at = |index: usize| 1 + index % words.len();
        match self {
            Self::Wrap(shape) => return shape.replace("{}", line),
            Self::Insert(index, word) => words.insert(at(*index), (*word).to_owned()),
            Self::Replace(index, word) if words.len() > 1 => {
                let at = 1 + index % (words.len() - 1);
                (*word).clone_into(&mut words[at]);
            }
            Self::Quote(index, quotes) => {
                let at = index % words.len();
                words[at] = quotes.replace("{}", &words[at]);
            }
            Self::Replace(..) => {}
        }
        words.join(" ")
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        2 => prop::sample::select(WRAPPERS).prop_map(Mutation::Wrap),
        2 => (any::<usize>(), prop::sample::select(OPTIONS)).prop_map(|(at, word)| Mutation::Insert(at, word)),
        2 => (any::<usize>(), prop::sample::select(PATHS)).prop_map(|(at, word)| Mutation::Insert(at, word)),
        3 => (any::<usize>(), prop::sample::select(PATHS)).prop_map(|(at, word)| Mutation::Replace(at, word)),
        1 => (any::<usize>(), prop::sample::select(QUOTES)).prop_map(|(at, quotes)| Mutation::Quote(at, quotes)),
    ]
}

#[test]
fn the_lines_that_mutations_begin_with_are_approved_and_harmless() {
    for seed in SEEDS {
        // The directory with odd names is asked about where names would be split.
        let asked = ["git ls-files | xargs wc -l"].contains(seed);
        assert_eq!(check(seed), Ok(!asked), "{seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn an_approved_line_neither_prints_secrets_nor_writes_outside(
        seed in prop::sample::select(SEEDS),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let line = mutations.iter().fold(seed.to_owned(), |line, mutation| mutation.apply(&line));
        if let Err(why) = check(&line) {
            prop_assert!(false, "{why}");
        }
    }
}

/// More for a long search: `PROPTEST_CASES=20000`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

//! A git directory that reads the objects of another one and copies its refs, and nothing else of it.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::files::{FileError, create_dir, remove_all};
use crate::git::{Git, GitError, run};

/// The settings of the user that the copy keeps, as git sees them in the repository. None of them names a program.
const SETTINGS: &str = r"^(user\.(name|email|signingkey|useconfigonly)|(author|committer)\.(name|email)|commit\.gpgsign|gpg\.format|core\.(ignorecase|precomposeunicode|symlinks|filemode)|remote\..*\.(url|promisor|partialclonefilter)|extensions\.(partialclone|objectformat))$";
/// Refs that are ours, belong to one worktree, or replace objects by others.
const LEFT_OUT: [&str; 6] =
    ["refs/paw/", "refs/replace/", "refs/stash", "refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// What a private git directory contains.
#[derive(Debug)]
pub(super) struct PrivateRepo {
    common_dir: PathBuf,
    config: String,
    packed_refs: Vec<u8>,
    /// `refs/remotes/origin/HEAD` and the ref it points to.
    symbolic_refs: Vec<(String, String)>,
    shallow: Option<Vec<u8>>,
}

impl PrivateRepo {
    pub(super) fn load(common_dir: &Path) -> Result<Self, GitError> {
        let git = Git::at(common_dir);
        let ask = |args: &[&str]| git.plumbing(None, args.iter().copied()).env("GIT_DIR", common_dir);
        let settings = ask(&["config", "-z", "--get-regexp", SETTINGS]).capture()?;
        let refs = run(&ask(&["for-each-ref", "--format=%(objectname) %(refname) %(symref)"]))?;
        let mut packed_refs = b"# pack-refs with: sorted \n".to_vec();
        let mut symbolic_refs = Vec::new();
        for line in refs.split(|byte| *byte == b'\n') {
            let Some((plain, symbolic)) = split_last(line) else { continue };
            let Some((_, name)) = split_last(plain) else { continue };
            if LEFT_OUT.iter().any(|prefix| name.starts_with(prefix.as_bytes())) {
                continue;
            }
            if symbolic.is_empty() {
                packed_refs.extend_from_slice(plain);
                packed_refs.push(b'\n');
            } else if let (Ok(name), Ok(target)) =
                (String::from_utf8(name.to_vec()), String::from_utf8(symbolic.to_vec()))
            {
                symbolic_refs.push((name, target));
            }
        }
        Ok(Self {
            common_dir: common_dir.to_path_buf(),
            config: config(&settings.stdout, &common_dir.join("lfs")),
            packed_refs,
            symbolic_refs,
            shallow: fs::read(common_dir.join("shallow")).ok(),
        })
    }

    /// Writes the git directory with `commit` checked out, replacing everything there except `kept`.
    pub(super) fn write(&self, git_dir: &Path, commit: &str, kept: &[&str]) -> Result<(), FileError> {
        for entry in fs::read_dir(git_dir).into_iter().flatten().filter_map(Result::ok) {
            if !kept.iter().any(|kept| entry.file_name() == *kept) {
                remove_all(&entry.path())?;
            }
        }
        let write = |name: &str, bytes: &[u8]| {
            let path = git_dir.join(name);
            if let Some(dir) = path.parent() {
                create_dir(dir)?;
            }
            // Half a file is no harm: the directory is written again for every checkout.
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(FileError::when("write", &path))
        };
        let objects = self.common_dir.join("objects");
        write("objects/info/alternates", &[objects.as_os_str().as_bytes(), b"\n"].concat())?;
        create_dir(&git_dir.join("refs"))?;
        write("config", self.config.as_bytes())?;
        write("packed-refs", &self.packed_refs)?;
        for (name, target) in &self.symbolic_refs {
            write(name, format!("ref: {target}\n").as_bytes())?;
        }
        if let Some(shallow) = &self.shallow {
            write("shallow", shallow)?;
        }
        // git recognizes the directory by this file, so it comes last.
        write("HEAD", format!("{commit}\n").as_bytes())
    }
}

/// The part before the last space, and the part after it.
fn split_last(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().rposition(|byte| *byte == b' ')?;
    Some((&line[..at], &line[at + 1..]))
}

/// Stat data decides about files, in full, whatever the user's settings are.
fn config(settings: &[u8], lfs: &Path) -> String {
    let settings = String::from_utf8_lossy(settings);
    let mut config = String::from(
        "[core]\n\tbare = false\n\tlogallrefupdates = false\n\ttrustctime = true\n\tcheckStat = default\n",
    );
    let mut extensions = String::new();
    // Without a remote, no program that runs here can push by its name. A partial clone needs it to fetch objects.
    let is_partial = settings.contains("extensions.partialclone\n");
    for setting in settings.split('\0').filter(|setting| !setting.is_empty()) {
        // A key without a value is true.
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        let Some((section, name)) = key.rsplit_once('.') else { continue };
        let line = format!("\t{name} = {}\n", quoted(value));
        match section.split_once('.') {
            None if section == "extensions" => extensions.push_str(&line),
            // Writing to a string cannot fail.
            None => drop(write!(config, "[{section}]\n{line}")),
            Some(("remote", _)) if !is_partial => {}
            Some((section, sub)) => drop(write!(config, "[{section} {}]\n{line}", quoted(sub))),
        }
    }
    // Where git-lfs, if the user's own settings have it, finds files that were downloaded.
    let _ = write!(config, "[lfs]\n\tstorage = {}\n", quoted(&lfs.to_string_lossy()));
    let version = u8::from(!extensions.is_empty());
    let _ = writeln!(config, "[core]\n\trepositoryformatversion = {version}");
    if !extensions.is_empty() {
        let _ = write!(config, "[extensions]\n{extensions}");
    }
    config
}

fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_quoted_and_a_key_without_a_value_is_true() {
        let settings = b"user.name\nA \"B\" \\ C\0remote.a.b.promisor\0extensions.objectformat\nsha256\0\
            extensions.partialclone\na.b\0";
        let lfs = Path::new("/r/.git/lfs");
        let config = config(settings, lfs);
        assert!(config.contains("[user]\n\tname = \"A \\\"B\\\" \\\\ C\"\n"), "{config}");
        assert!(config.contains("[remote \"a.b\"]\n\tpromisor = \"true\"\n"), "{config}");
        assert!(
            config.ends_with("[extensions]\n\tobjectformat = \"sha256\"\n\tpartialclone = \"a.b\"\n"),
            "{config}"
        );
        let plain = super::config(b"remote.origin.url\nhttps://example.com\0", lfs);
        assert!(plain.contains("repositoryformatversion = 0") && !plain.contains("example"), "{plain}");
    }
}

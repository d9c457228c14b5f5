//! The engine: bubblewrap, with a mount and a process namespace of its own for every program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::Access as Permission;

use super::{PathAccess, Sandbox, mounts};
use crate::process::{Command, find_program};

/// Capabilities that lead out of a mount namespace: mounting, raw devices, kernel code, files by handle.
const DROPPED: [&str; 6] =
    ["CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT", "CAP_MKNOD", "CAP_DAC_READ_SEARCH"];
/// In front of everything it prints.
pub(super) const PREFIX: &[u8] = b"bwrap: ";
const TRIAL_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bubblewrap {
    program: PathBuf,
    user: User,
}

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// bubblewrap creates a user namespace and drops all capabilities.
    Normal,
    /// With the capabilities of this system, except the dangerous ones, so that root keeps access to files of other users.
    Root,
    /// Root that may not mount anything, as in most containers.
    RootInContainer,
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mounted {
    Rule(PathAccess),
    /// Unchanged, but a mount point: nothing inside can rename it and put something else at its path.
    Pinned,
}

/// The engine of this machine; else why there is none.
pub(super) fn find() -> Result<&'static Bubblewrap, String> {
    static FOUND: OnceLock<Result<Bubblewrap, String>> = OnceLock::new();
    FOUND.get_or_init(look).as_ref().map_err(Clone::clone)
}

fn look() -> Result<Bubblewrap, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_program("bwrap", &path).ok_or("bubblewrap is not installed")?;
    let is_root = rustix::process::geteuid().is_root();
    let users: &[User] = if is_root { &[User::Root, User::RootInContainer] } else { &[User::Normal] };
    let mut reason = String::new();
    for user in users {
        let engine = Bubblewrap { program: program.clone(), user: *user };
        match engine.try_out() {
            Ok(()) => return Ok(engine),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

impl Bubblewrap {
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs a program with every option that a sandbox needs. User namespaces may be off, or `/proc` not mountable.
    fn try_out(&self) -> Result<(), String> {
        let mut line = self.isolation();
        line.extend(["--perms", "0700", "--tmpfs", "/sys", "--", "true"].map(OsString::from));
        let trial = Command::new(&self.program).args(line).harmless_environment().time_limit(TRIAL_LIMIT);
        let try_once = || trial.capture().map_err(|error| error.to_string());
        let mut output = try_once()?;
        for _ in 1..super::ATTEMPTS {
            if output.exit.success() || !super::is_lost_mount(&output.stderr) {
                break;
            }
            output = try_once()?;
        }
        if output.exit.success() {
            return Ok(());
        }
        let printed = String::from_utf8_lossy(&output.stderr);
        let reason = printed.lines().next().unwrap_or_default().trim_start_matches("bwrap: ");
        Err(format!("bubblewrap does not work here: {reason}"))
    }

    /// The options before those of a sandbox. `--new-session` takes away the terminal, into which a program could type.
    fn isolation(&self) -> Vec<OsString> {
        let mut line = words(&["--die-with-parent", "--unshare-pid", "--new-session"]);
        match self.user {
            User::Normal => {}
            User::Root => line.extend(DROPPED.iter().flat_map(|name| words(&["--cap-drop", name]))),
            User::RootInContainer => line.extend(words(&["--unshare-user", "--cap-drop", "ALL"])),
        }
        line.extend(words(&["--dev-bind", "/", "/", "--proc", "/proc"]));
        line
    }

    /// Everything before the program. The order of the paths puts a directory before what is below it.
    pub(super) fn arguments(&self, sandbox: &Sandbox, dir: Option<&Path>) -> Vec<OsString> {
        let mut sandbox = mounts::with_aliases(sandbox);
        if self.user != User::Normal {
            sandbox = without_devices(sandbox);
        }
        let mut line = self.isolation();
        for (path, mounted) in plan(&sandbox, is_renamable) {
            let target = path.as_os_str();
            let dev_null = OsStr::new("/dev/null");
            match mounted {
                Mounted::Rule(PathAccess::Hidden) if path.is_dir() => {
                    line.extend(words(&["--perms", "0700", "--tmpfs"]));
                    line.push(target.to_owned());
                }
                Mounted::Rule(PathAccess::Hidden) => bind(&mut line, "--ro-bind", dev_null, target),
                Mounted::Rule(PathAccess::ReadOnly) => bind(&mut line, "--ro-bind", target, target),
                Mounted::Rule(PathAccess::Writable) | Mounted::Pinned => {
                    bind(&mut line, "--dev-bind", target, target);
                }
            }
        }
        if let Some(dir) = dir {
            line.extend([OsString::from("--chdir"), dir.as_os_str().to_owned()]);
        }
        line
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn bind(line: &mut Vec<OsString>, option: &str, from: &OsStr, to: &OsStr) {
    line.extend([OsString::from(option), from.to_owned(), to.to_owned()]);
}

/// The rules, and the directories above them that have to stay where they are.
fn plan(sandbox: &Sandbox, is_renamable: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, Mounted> {
    let mut plan = BTreeMap::new();
    for (path, access) in &sandbox.rules {
        for above in path.ancestors().skip(1).filter(|above| above.parent().is_some()) {
            if sandbox.access(above) == PathAccess::Writable && is_renamable(above) {
                plan.entry(above.to_path_buf()).or_insert(Mounted::Pinned);
            }
        }
        plan.insert(path.clone(), Mounted::Rule(*access));
    }
    plan
}

/// Whether this user may rename the directory.
fn is_renamable(dir: &Path) -> bool {
    dir.parent().is_some_and(|parent| rustix::fs::access(parent, Permission::WRITE_OK).is_ok())
}

/// Root could read a disk's bytes, or have the kernel run a program through `/sys`.
fn without_devices(sandbox: Sandbox) -> Sandbox {
    let is_disk =
        |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect()
    };
    let top = list(Path::new("/dev"));
    let below = [Path::new("/dev/mapper"), Path::new("/dev/block")].into_iter().flat_map(list);
    let disks: Vec<PathBuf> = top.into_iter().chain(below).filter(is_disk).collect();
    let sandbox = sandbox.with(Path::new("/sys"), PathAccess::ReadOnly);
    disks.iter().fold(sandbox, |sandbox, disk| sandbox.with(disk, PathAccess::Hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_a_rule_are_pinned_unless_a_rule_protects_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("src/app/.git/paw")).unwrap();
        let sandbox = Sandbox::default()
            .with(&root.join("src/app"), PathAccess::ReadOnly)
            .with(&root.join("src/app/.git/paw"), PathAccess::Hidden);
        let plan: Vec<_> = plan(&sandbox, |above| above.starts_with(&root)).into_iter().collect();
        let expected = [
            (root.clone(), Mounted::Pinned),
            (root.join("src"), Mounted::Pinned),
            (root.join("src/app"), Mounted::Rule(PathAccess::ReadOnly)),
            (root.join("src/app/.git/paw"), Mounted::Rule(PathAccess::Hidden)),
        ];
        assert_eq!(plan, expected);
    }
}

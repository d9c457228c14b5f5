//! Sandboxes with the real bubblewrap, and programs that try to get out.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_host::process::{Command, Exit, Output, ProcessError};
use paw_host::sandbox::{PathAccess, Sandbox, require_engine};
use rustix::io::{FdFlags, fcntl_setfd};

/// How long a script may take.
const LIMIT: Duration = Duration::from_mins(1);

/// A directory with `secret/key`, `kept/file` and `own/`, and a sandbox that hides, protects and allows them.
struct Scene {
    _dir: tempfile::TempDir,
    root: PathBuf,
    sandbox: Sandbox,
}

impl Scene {
    /// `None`, with a message, where sandboxes do not work.
    fn new() -> Option<Self> {
        if let Err(reason) = require_engine() {
            skip(&reason);
            return None;
        }
        Some(Self::in_dir(tempfile::tempdir().unwrap()))
    }

    fn in_dir(dir: tempfile::TempDir) -> Self {
        let root = dir.path().canonicalize().unwrap();
        for (path, text) in [("secret/key", "the key"), ("kept/file", "kept"), ("own/file", "own")] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let sandbox = Sandbox::default()
            .with(&root.join("secret"), PathAccess::Hidden)
            .with(&root.join("kept"), PathAccess::ReadOnly)
            .with(&root.join("own"), PathAccess::Writable);
        Self { _dir: dir, root, sandbox }
    }

    fn sh(&self, script: &str) -> Command {
        Command::new("sh").args(["-c", script]).dir(self.root.join("own")).sandbox(&self.sandbox)
    }

    fn run(&self, script: &str) -> String {
        let Output { stdout, stderr, .. } = self.sh(script).time_limit(LIMIT).capture().unwrap();
        format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr))
    }

    /// Whether nothing outside of `own` has changed.
    fn is_intact(&self) -> bool {
        let text = |path: &str| fs::read_to_string(self.root.join(path)).unwrap_or_default();
        let names = |path: &str| fs::read_dir(self.root.join(path)).map(Iterator::count).unwrap_or_default();
        text("secret/key") == "the key"
            && text("kept/file") == "kept"
            && names("kept") == 1
            && names("secret") == 1
    }
}

#[expect(
    clippy::print_stderr,
    clippy::disallowed_macros,
    reason = "a skipped test reports that in its output"
)]
fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

#[test]
fn a_sandboxed_program_writes_only_where_it_may() {
    let Some(scene) = Scene::new() else { return };
    let output = scene.sh("cat ../kept/file; echo new >file; cat file; exit 3").capture().unwrap();
    assert_eq!((output.exit, output.stdout.as_slice()), (Exit::Code(3), &b"keptnew\n"[..]));
    assert_eq!(fs::read_to_string(scene.root.join("own/file")).unwrap(), "new\n");
    assert!(scene.run("echo x >../kept/file").contains("Read-only file system"));
    assert!(scene.run("cat ../secret/key").contains("No such file"));
    assert!(scene.is_intact());
}

#[test]
fn hidden_files_cannot_be_read_through_links_proc_or_namespaces() {
    let Some(scene) = Scene::new() else { return };
    symlink(scene.root.join("secret"), scene.root.join("own/link")).unwrap();
    symlink(scene.root.join("secret/key"), scene.root.join("kept/link")).unwrap();
    let key = scene.root.join("secret/key").display().to_string();
    let host = std::process::id();
    let script = format!(
        "cat {key} link/key ../kept/link ./../secret/key; rm -f ../kept/link
         cat /proc/self/root{key} /proc/1/root{key} /proc/{host}/root{key} /proc/{host}/cwd/../secret/key
         for pid in /proc/[0-9]*; do cat $pid/root{key} $pid/cwd/../secret/key $pid/fd/*/key; done
         umount ../secret; umount -l ../secret; mount -o remount,rw ../kept
         unshare -Urm sh -c 'umount {root}/secret; umount -l {root}/secret; cat {key}'
         unshare -m sh -c 'umount {root}/secret; cat {key}'
         nsenter -t 1 -m cat {key}
         mkdir m; mount --bind {root} m; cat m/secret/key
         ln ../secret/key hard; cat hard",
        root = scene.root.display()
    );
    let printed = scene.run(&script);
    assert!(!printed.contains("the key"), "{printed}");
    fs::remove_file(scene.root.join("kept/link")).unwrap();
    assert!(scene.is_intact());
}

#[test]
fn protected_directories_cannot_be_renamed_replaced_or_remounted() {
    let Some(scene) = Scene::new() else { return };
    let script = format!(
        "root={root}; cd $root
         mv kept moved; mv secret moved; mv own moved; rm -rf kept secret
         mv $root $root-moved; mkdir -p $root/kept; echo planted >$root/kept/file
         mount -o remount,bind,rw kept; unshare -Urm sh -c \"mount -o remount,bind,rw $root/kept; echo x >$root/kept/file\"
         ln -s kept linked; echo x >linked/file; ln kept/file own/hard; echo x >own/hard",
        root = scene.root.display()
    );
    let printed = scene.run(&script);
    assert!(scene.is_intact(), "{printed}");
    assert!(!PathBuf::from(format!("{}-moved", scene.root.display())).exists(), "{printed}");
}

#[test]
fn inherited_descriptors_do_not_reach_a_sandboxed_program() {
    let Some(scene) = Scene::new() else { return };
    let dir = fs::File::open(scene.root.join("secret")).unwrap();
    let key = fs::File::open(scene.root.join("secret/key")).unwrap();
    for file in [&dir, &key] {
        fcntl_setfd(file, FdFlags::empty()).unwrap();
    }
    let printed = scene.run(
        "exec 2>/dev/null; for fd in $(seq 3 99); do cat /proc/$$/fd/$fd /proc/$$/fd/$fd/key; done
         exec ls /proc/self/fd",
    );
    // The last one is the directory that ls reads.
    assert_eq!(printed, "0\n1\n2\n3\n");
}

#[test]
fn every_process_ends_with_the_sandboxed_program() {
    let Some(scene) = Scene::new() else { return };
    let marker = format!("6{:06}", std::process::id());
    let script = format!("setsid env -i sleep {marker} & (sleep {marker} &); sleep {marker} & echo started");
    assert_eq!(scene.run(&script), "started\n");
    assert_eq!(find_process(&marker), None);
    let running = scene.sh(&script).start("sandbox-test").unwrap();
    running.follow(|_, _| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!(find_process(&marker), None);
}

/// A process with this word on its command line.
fn find_process(word: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let has = |path: &PathBuf| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    };
    entries.filter(|path| path.join("cmdline").exists()).find(has)
}

#[test]
fn a_sandboxed_program_may_clean_up_when_its_time_is_over() {
    let Some(scene) = Scene::new() else { return };
    let limit = Duration::from_millis(500);
    let output =
        scene.sh("trap 'echo bye; exit 0' TERM; sleep 600 & wait").time_limit(limit).capture().unwrap();
    assert_eq!((output.exit, output.stdout.as_slice()), (Exit::TimedOut { limit }, &b"bye\n"[..]));
    let stubborn = scene.sh("trap '' TERM; echo on; sleep 600").time_limit(limit).capture().unwrap();
    assert_eq!(stubborn.exit, Exit::TimedOut { limit });
}

#[test]
fn a_sandboxed_program_has_no_terminal_and_a_missing_one_is_an_error() {
    let Some(scene) = Scene::new() else { return };
    assert!(scene.run("echo x >/dev/tty").contains("/dev/tty"));
    let missing = Command::new("no-such-program-here").sandbox(&scene.sandbox).capture();
    assert!(matches!(missing, Err(ProcessError::NotFound(_))));
    let command = scene.sh("true");
    assert_eq!(command.to_string(), "sh -c true");
}

const INSIDE: &str = "PAW_TEST_MOUNTS";

#[test]
fn other_mounts_of_hidden_files_are_hidden_too() {
    let Some(scene) = Scene::new() else { return };
    let root = scene.root.display().to_string();
    if let Some(dir) = std::env::var_os(INSIDE) {
        let (root, real) = (PathBuf::from(dir), PathBuf::from("secret"));
        let sandbox = Sandbox::default()
            .with(&root.join(&real), PathAccess::Hidden)
            .with(&root.join("kept"), PathAccess::ReadOnly);
        let script = "cat all/secret/key part/key; echo x >all/kept/file; cat proc/*/root$PWD/secret/key";
        let output = Command::new("sh").args(["-c", script]).dir(&root).sandbox(&sandbox).capture().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.contains("the key") && output.stderr.len() > 10, "{printed}");
        return;
    }
    for dir in ["all", "part", "proc"] {
        fs::create_dir(scene.root.join(dir)).unwrap();
    }
    let test = "sandbox::other_mounts_of_hidden_files_are_hidden_too";
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "mount --rbind {root} {root}/all && mount --bind {root}/secret {root}/part && mount --rbind /proc {root}/proc \
         && exec {} --exact {test} --nocapture",
        exe.display()
    );
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let output = Command::new("unshare").args([namespace, "sh", "-c", &script]).env(INSIDE, &root).capture();
    match output {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare failed") => {
            skip("mount namespaces are not available");
        }
        Ok(output) => {
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.exit.success() && printed.contains("1 passed"), "{printed}{output:?}");
            assert!(scene.is_intact(), "{printed}");
        }
        Err(error) => skip(&error.to_string()),
    }
}

#[test]
fn a_normal_user_gets_the_same_sandbox_as_root() {
    let user = "65534";
    if !rustix::process::geteuid().is_root() {
        return skip("the other tests run as a normal user already");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // The build directory may be closed to other users. A file that this process had written would still be busy.
    let exe = dir.path().join("tests");
    Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&exe).capture().unwrap();
    let drop_root = ["--reuid", user, "--regid", user, "--clear-groups"];
    let again = Command::new("setpriv").args(drop_root).arg(&exe).args(["sandbox::", "--test-threads=1"]);
    let again = again.env("TMPDIR", dir.path()).env("HOME", dir.path()).dir(dir.path());
    match again.capture() {
        Ok(output) => {
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.exit.success() && !printed.contains(" 0 passed"), "{printed}{output:?}");
        }
        Err(error) => skip(&error.to_string()),
    }
}

#[test]
fn a_sandbox_needs_no_rule_for_a_missing_path() {
    assert_eq!(Sandbox::default().with(Path::new("/no/such/path"), PathAccess::Hidden), Sandbox::default());
}

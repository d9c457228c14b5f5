//! Logs of panes: found by name, converted to text, pruned.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use paw_core::{Diagnostic as _, SessionName};
use paw_session::logs::{self, EscapeStripper, KeptEscapes, LogLimits, LogOwner, LogsError, RepoLogs, prune};
use paw_testkit::{Sandbox, wait_until};

fn strip(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut strip = EscapeStripper::new(KeptEscapes::None);
    strip.push(bytes, &mut text);
    strip.finish(&mut text);
    text
}

/// Lines without trailing spaces, and without empty lines at the end.
fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

#[test]
fn stripped_logs_of_real_clis_match_their_screens() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/screens");
    let mut seen = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(name) = name.strip_suffix(".ansi.txt") {
            let coloured = fs::read(&path).unwrap();
            assert!(coloured.contains(&0x1b), "{name} has no colour to strip");
            let plain = fs::read_to_string(dir.join(format!("{name}.txt"))).unwrap();
            assert_eq!(lines(&strip(&coloured)), lines(&plain), "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
}

/// Compares with a real terminal.
#[test]
fn stripped_line_matches_what_tmux_shows() {
    let streams = [
        "10%\r20%\r100%\r\n",
        "progress 99%\rdone\x1b[K\r\n",
        "lont\x08g\r\n",
        "abcdef\x1b[4D\x1b[2P!\r\n",
        "ac\x1b[D\x1b[@b\r\n",
        "abc\x1b[3D\x1b[2Xd\r\n",
        "secret\x1b[2K\rnew\r\n",
        "abcdef\x1b[3D\x1b[1K\r\n",
        "Do\x1b[1Cyou\x1b[Cwant\r\n",
        "name\x1b[10Gvalue\r\n",
        "a\tb\tc\r\n",
        "日本\x1b[5Gx\r\n",
        "日本\rab\r\n",
        "e\u{301}te\u{301}\r\n",
        "\x1b[1;38;5;0mred\x1b]0;title\x07 \x1b(Bplain\x1b[0m\r\n",
        "x\x1b[3b!\r\n",
        "\x1bP1$r0m\x1b\\after\r\n",
    ];
    let sandbox = Sandbox::new();
    let file = sandbox.write("stream", &streams.concat());
    let show = format!("cat '{}'; printf end; exec sleep 100", file.display());
    let tmux = sandbox.tmux(["-u", "new-session", "-d", "-s", "t", "-x", "80", "-y", "40", &show]);
    assert_eq!(tmux.code, 0, "{tmux}");
    let screen = wait_until("the stream is shown", || {
        let screen = sandbox.tmux(["capture-pane", "-p", "-t", "=t:"]).stdout;
        screen.contains("\nend").then_some(screen)
    });
    let stripped = streams.map(|stream| strip(stream.as_bytes())).concat() + "end";
    assert_eq!(lines(&stripped), lines(&screen));
}

/// A repository with logs of two sessions; the second one is newer.
struct World {
    sandbox: Sandbox,
    dir: PathBuf,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let world = Self { dir: sandbox.root().join("app/.git-paw/logs"), sandbox };
        world.write("paw-app", "feat--add-auth.log", "old", 20);
        world.write("paw-app-2", "feat--add-auth.log", "new", 3);
        world.write("paw-app-2", "feat-add-auth.log", "other", 2);
        world.write("paw-app-2", "~supervisor.log", "boss", 1);
        world.write("paw-app-2", "notes.txt", "none of ours", 1);
        world
    }

    fn write(&self, session: &str, name: &str, text: &str, days_old: u64) -> PathBuf {
        let path = self.sandbox.write(&format!("app/.git-paw/logs/{session}/{name}"), text);
        let modified = SystemTime::now() - Duration::from_secs(days_old * 24 * 60 * 60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        path
    }

    fn found(&self, wanted: &str, session: Option<&str>) -> Result<String, LogsError> {
        let logs = RepoLogs::load(&self.dir).unwrap();
        let log = logs.require(wanted, session)?;
        let mut text = Vec::new();
        assert!(logs::copy(&log.path, KeptEscapes::None, &mut text)?);
        Ok(String::from_utf8(text).unwrap())
    }

    fn left(&self) -> Vec<String> {
        let logs = RepoLogs::load(&self.dir).unwrap();
        let all = logs.sessions.iter().flat_map(|session| &session.logs);
        all.map(|log| log.path.strip_prefix(&self.dir).unwrap().display().to_string()).collect()
    }

    fn prune(&self, limits: LogLimits, running: &[&str]) -> usize {
        let running: Vec<_> = running.iter().map(|name| SessionName::new(*name).unwrap()).collect();
        let root = self.sandbox.root().join("app");
        let now = Timestamp::try_from(SystemTime::now()).unwrap();
        let pruned = prune::prune(&root, &self.dir, limits, now, &running).unwrap();
        assert_eq!(pruned.problems, Vec::<String>::new());
        pruned.files.len()
    }
}

#[test]
fn log_is_found_by_branch_stem_and_file_name_in_the_newest_session() {
    let world = World::new();
    for wanted in ["feat/add-auth", "feat--add-auth", "feat--add-auth.log"] {
        assert_eq!(world.found(wanted, None).unwrap(), "new", "{wanted}");
    }
    assert_eq!(world.found("feat-add-auth", None).unwrap(), "other");
    assert_eq!(world.found("supervisor", None).unwrap(), "boss");
    assert_eq!(world.found("feat/add-auth", Some("paw-app")).unwrap(), "old");
}

#[test]
fn missing_log_is_an_error_that_lists_the_available_ones() {
    let world = World::new();
    let error = world.found("nope", None).unwrap_err().report().to_string();
    assert!(
        error.contains("'nope'") && error.contains("feat/add-auth") && error.contains("supervisor"),
        "{error}"
    );
    let error = world.found("feat/add-auth", Some("other")).unwrap_err().report().to_string();
    assert!(error.contains("'other'") && error.contains("paw-app-2"), "{error}");
    let error = RepoLogs::load(&world.dir.join("none")).unwrap().require("x", None).unwrap_err();
    let error = error.report().to_string();
    assert!(error.contains("[logging]"), "{error}");
}

#[test]
fn log_of_a_long_branch_is_found_by_the_full_branch() {
    let world = World::new();
    let branch = "x/".repeat(200) + "end";
    let file = LogOwner::Agent(branch.parse().unwrap()).file_name();
    world.write("paw-app-2", &file, "long", 0);
    assert_eq!(world.found(&branch, None).unwrap(), "long");
}

#[test]
fn links_in_the_log_directory_are_ignored() {
    let world = World::new();
    let outside = world.sandbox.write("outside/secret.log", "secret");
    std::os::unix::fs::symlink(&outside, world.dir.join("paw-app-2/linked.log")).unwrap();
    std::os::unix::fs::symlink(outside.parent().unwrap(), world.dir.join("paw-linked")).unwrap();
    assert!(world.found("linked", None).is_err());
    assert!(world.found("secret", Some("paw-linked")).is_err());
    world.prune(LogLimits { bytes: Some(0), age: None }, &[]);
    assert!(outside.exists());
}

#[test]
fn prune_deletes_old_logs_and_empty_directories() {
    let world = World::new();
    assert_eq!(world.prune(LogLimits::configured(0, 14), &[]), 1);
    assert_eq!(world.left().len(), 3);
    assert!(!world.dir.join("paw-app").exists());
    assert_eq!(world.prune(LogLimits::configured(0, 14), &[]), 0);
}

#[test]
fn prune_deletes_the_oldest_logs_until_the_size_limit_is_met() {
    let world = World::new();
    assert_eq!(world.prune(LogLimits { bytes: Some(10), age: None }, &[]), 2);
    assert_eq!(world.left(), ["paw-app-2/feat-add-auth.log", "paw-app-2/~supervisor.log"]);
    assert!(world.dir.join("paw-app-2/notes.txt").exists());
}

#[test]
fn prune_keeps_logs_of_running_sessions() {
    let world = World::new();
    assert_eq!(world.prune(LogLimits { bytes: Some(0), age: None }, &["paw-app-2"]), 1);
    assert_eq!(world.left().len(), 3);
}

#[test]
fn prune_without_limits_keeps_everything() {
    let world = World::new();
    assert_eq!(world.prune(LogLimits::configured(0, 0), &[]), 0);
    assert_eq!(world.left().len(), 4);
}

#[test]
fn prune_deletes_nothing_outside_of_the_repository() {
    let world = World::new();
    let elsewhere = world.sandbox.write("home/mail/inbox.log", "precious");
    let root = world.sandbox.root().join("app");
    std::os::unix::fs::symlink(world.sandbox.home(), root.join("logs")).unwrap();
    let everything = LogLimits { bytes: Some(0), age: None };
    for dir in ["../home", "logs", "."] {
        let dir = logs::log_dir(&root, Path::new(dir));
        let pruned = prune::prune(&root, &dir, everything, Timestamp::UNIX_EPOCH, &[]).unwrap();
        assert_eq!(pruned.files, Vec::<PathBuf>::new());
    }
    assert!(elsewhere.exists());
}

#[test]
fn large_log_is_copied_completely_in_chunks() {
    let world = World::new();
    let line = "\x1b[32mcompiling\x1b[0m something\r\n";
    let path = world.write("paw-app-2", "big.log", &line.repeat(200_000), 0);
    let mut text = Vec::new();
    assert!(logs::copy(&path, KeptEscapes::None, &mut text).unwrap());
    assert_eq!(text, "compiling something\n".repeat(200_000).into_bytes());
}

#[test]
fn copying_a_log_to_a_closed_pipe_is_not_an_error() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let world = World::new();
    let path = world.write("paw-app-2", "x.log", "text", 0);
    assert!(!logs::copy(&path, KeptEscapes::None, &mut Gone).unwrap());
}

//! The time from an edit to the warning, and the cost of watching idle and busy worktrees:
//! `cargo bench -p paw-broker --bench radar`.
//!
//! 25 worktrees of 10,000 files. Every agent has changes, and the first agent's meet those of all others. Eight of them then
//! edit once a second, two of them the same file, and a flood of edits shows what the scratch repository keeps after hours.
#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement prints its result, and stops when it cannot measure"
)]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use paw_broker::SessionId;
use paw_broker::conflict::{ConflictLevel, ConflictMonitor, ConflictMonitorEvent, ConflictReport};
use paw_broker::watch::{WatchSettings, WatchTarget};
use paw_core::AgentId;
use paw_core::config::ConflictConfig;
use paw_host::clock::Stopwatch;
use paw_host::process::Command;
use paw_testkit::record_budget;

const FILES: usize = 10_000;
const AGENTS: usize = 25;
const WARNING_BUDGET: Duration = Duration::from_millis(100);
const IDLE_BUDGET: f64 = 0.2;
const BUSY_AGENTS: usize = 8;
const BUSY_SECONDS: u64 = 30;
const BUSY_BUDGET: f64 = 15.0;
/// As many edits as eight agents make in 10 minutes.
const FLOOD: usize = 4_800;
const SCRATCH_BUDGET: u64 = 64 << 20;
const ATTEMPTS: usize = 3;

/// Whether a budget was met, and what was measured.
type Measured = (bool, String);

fn main() -> ExitCode {
    let dir = paw_testkit::bench_dir();
    let root = dir.path().canonicalize().expect("a real path");
    let worktrees = build(&root);
    let watch = Stopwatch::start();
    let (monitor, signals) = start(&root, &worktrees);
    for (number, worktree) in worktrees.iter().enumerate() {
        edit(worktree, number + 100, "own work");
    }
    for number in 1..AGENTS {
        edit(&worktrees[0], number, "the first agent's");
    }
    settle(&signals);
    println!("everything looked at once: {:?}", watch.elapsed());
    let warned = best(|round| warnings(&worktrees, &signals, round));
    let idled = best(|_| idle(&signals));
    let worked = best(|round| busy(&worktrees, &signals, round));
    let kept = flood(&root, &worktrees, &signals);
    drop(monitor);
    let fits = warned.0 && idled.0 && worked.0 && kept.0;
    record_budget("edit to warning, 25 worktrees of 10,000 files, worst", &warned.1, "<= 100 ms", warned.0);
    record_budget("watching 25 idle worktrees", &idled.1, "<= 0.2 % of a core", idled.0);
    record_budget("watching 8 agents that edit once a second", &worked.1, "<= 15 % of a core", worked.0);
    record_budget("scratch repository during 4,800 edits, most", &kept.1, "<= 64 MiB", kept.0);
    if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first attempt within its budget, else the last one.
fn best(mut attempt: impl FnMut(usize) -> Measured) -> Measured {
    let mut measured = attempt(0);
    for round in 1..ATTEMPTS {
        if measured.0 {
            break;
        }
        measured = attempt(round);
    }
    measured
}

fn build(root: &Path) -> Vec<PathBuf> {
    let repo = root.join("repo");
    for number in 0..FILES {
        let path = file(&repo, number);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text(number, "as it was")).expect("a file");
    }
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    git(&repo, &["config", "gc.auto", "0"]);
    git(&repo, &["add", "-A"]);
    git(&repo, &["-c", "user.name=b", "-c", "user.email=b@b", "commit", "--quiet", "-m", "all"]);
    git(&repo, &["repack", "-adq"]);
    let add = |number: usize| {
        let path = root.join(format!("agent-{number:02}"));
        let branch = format!("agent-{number:02}");
        git(&repo, &["worktree", "add", "--quiet", "-b", &branch, path.to_str().expect("a path")]);
        path
    };
    (0..AGENTS).map(add).collect()
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git").args(args.iter().copied()).dir(dir).capture().expect("git");
    assert!(output.exit.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn file(worktree: &Path, number: usize) -> PathBuf {
    worktree.join(format!("dir{}/file{number}.txt", number / 100))
}

fn text(number: usize, middle: &str) -> String {
    let around = format!("line of {number}\n").repeat(20);
    format!("{around}{middle}\n{around}")
}

fn edit(worktree: &Path, number: usize, middle: &str) {
    fs::write(file(worktree, number), text(number, middle)).expect("an edit");
}

fn start(root: &Path, worktrees: &[PathBuf]) -> (ConflictMonitor, Receiver<ConflictMonitorEvent>) {
    let mut settings = WatchSettings::new(root.join("repo/.git"), root.join("scratch"));
    settings.bases = vec!["refs/heads/main".to_owned()];
    let target = |worktree: &PathBuf| WatchTarget {
        agent: AgentId::new(name(worktree)).expect("an id"),
        worktree: worktree.clone(),
        cli: None,
    };
    let (sender, signals) = mpsc::channel();
    let signal = move |signal| drop(sender.send(signal));
    let (session, config) = (SessionId::new("bench"), ConflictConfig::default());
    let monitor = ConflictMonitor::start(session, config, settings, worktrees.iter().map(target), [], signal);
    (monitor.expect("a monitor"), signals)
}

fn name(worktree: &Path) -> &str {
    worktree.file_name().and_then(|name| name.to_str()).expect("a name")
}

/// Waits until nothing has been reported for a while.
fn settle(signals: &Receiver<ConflictMonitorEvent>) {
    while signals.recv_timeout(Duration::from_secs(4)).is_ok() {}
}

fn warnings(worktrees: &[PathBuf], signals: &Receiver<ConflictMonitorEvent>, round: usize) -> Measured {
    let mut times: Vec<Duration> = Vec::new();
    for (number, worktree) in worktrees.iter().enumerate().skip(1) {
        while signals.try_recv().is_ok() {}
        let watch = Stopwatch::start();
        edit(worktree, number, &format!("another's, {round}"));
        loop {
            let signal = signals.recv_timeout(Duration::from_secs(10)).expect("a warning");
            let ConflictMonitorEvent::Publish(message) = signal else { continue };
            let facts = ConflictReport::find(&message);
            if facts.is_some_and(|facts| {
                facts.level == ConflictLevel::Conflict && facts.you.as_str() == name(&worktrees[0])
            }) {
                break;
            }
        }
        times.push(watch.elapsed());
    }
    // Reverted, so that the next round starts from the same state.
    for (number, worktree) in worktrees.iter().enumerate().skip(1) {
        edit(worktree, number, "as it was");
    }
    settle(signals);
    settle(signals);
    times.sort_unstable();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "edit to warning: median {median:?}, worst {worst:?} of {} (budget {WARNING_BUDGET:?})",
        times.len()
    );
    (worst <= WARNING_BUDGET, format!("{} ms", worst.as_millis()))
}

/// Eight agents edit once a second each, two of them the same file.
fn busy(worktrees: &[PathBuf], signals: &Receiver<ConflictMonitorEvent>, round: usize) -> Measured {
    let before = processor_time();
    let watch = Stopwatch::start();
    let mut edits = 0;
    for second in 0..BUSY_SECONDS {
        for (agent, worktree) in worktrees.iter().enumerate().take(BUSY_AGENTS) {
            let number = if agent == 1 { 200 } else { 200 + agent };
            edit(worktree, number, &format!("agent {agent}, round {round}, second {second}"));
            edits += 1;
            let due = Duration::from_secs_f64(f64::from(edits) / BUSY_AGENTS as f64);
            while !watch.remaining(due).is_zero() {
                let _ = signals.recv_timeout(watch.remaining(due));
            }
        }
    }
    let used = processor_time().saturating_sub(before);
    let share = used.as_secs_f64() / watch.elapsed().as_secs_f64() * 100.0;
    let each = used.as_secs_f64() * 1000.0 / f64::from(edits);
    println!("busy: {share:.1} % of a core (budget {BUSY_BUDGET} %), {each:.1} ms for each of {edits} edits");
    (share <= BUSY_BUDGET, format!("{share:.1} %, {each:.1} ms for an edit"))
}

/// Edits as fast as they are seen, and the most that the scratch repository needs meanwhile.
fn flood(root: &Path, worktrees: &[PathBuf], signals: &Receiver<ConflictMonitorEvent>) -> Measured {
    let (mut most, mut files) = (0, 0);
    let watch = Stopwatch::start();
    for number in 0..FLOOD {
        let agent = number % BUSY_AGENTS;
        edit(&worktrees[agent], 300 + 97 * agent + number % 97, &format!("edit {number}"));
        if number % 80 == 79 {
            // Longer than the watcher waits for changes to settle.
            while signals.recv_timeout(Duration::from_millis(150)).is_ok() {}
            let (bytes, count) = scratch_size(&root.join("scratch"));
            (most, files) = (most.max(bytes), files.max(count));
        }
    }
    let mebibytes = most as f64 / f64::from(1 << 20);
    println!("flood: {FLOOD} edits in {:?}, at most {mebibytes:.1} MiB and {files} files", watch.elapsed());
    (most <= SCRATCH_BUDGET, format!("{mebibytes:.1} MiB, {files} files"))
}

/// The disk space and the number of files below a directory.
fn scratch_size(dir: &Path) -> (u64, usize) {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.fold((0, 0), |(bytes, files), entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            let (more, inside) = scratch_size(&entry.path());
            (bytes + more, files + inside)
        }
        Ok(metadata) => (bytes + metadata.blocks() * 512, files + 1),
        Err(_) => (bytes, files),
    })
}

/// The processor time of this process and of all programs it has waited for.
fn idle(signals: &Receiver<ConflictMonitorEvent>) -> Measured {
    let before = processor_time();
    let watch = Stopwatch::start();
    let said = signals.recv_timeout(Duration::from_secs(10)).is_ok();
    let share = processor_time().saturating_sub(before).as_secs_f64() / watch.elapsed().as_secs_f64() * 100.0;
    println!("idle: {share:.3} % of a core (budget {IDLE_BUDGET} %), said something: {said}");
    (share <= IDLE_BUDGET && !said, format!("{share:.3} %"))
}

fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("our own state");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..15].iter().map(|field| field.parse::<u64>().expect("ticks")).sum();
    Duration::from_secs_f64(ticks as f64 / 100.0)
}

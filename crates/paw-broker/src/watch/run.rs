//! The watcher's loop: receives file system events, and scans worktrees when they have settled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};
use paw_core::AgentId;
use paw_host::clock::Stopwatch;
use paw_host::git::{ScratchError, ScratchRepo};

use super::directories::{DirRole, WatchFailure, WatchedDirs};
use super::ignore_rules::IgnoreRules;
use super::walk::{is_repository, walk};
use super::worktree::WatchedWorktree;
use super::{WatchInput, WatchReport, WatchSettings, WatchTarget};

pub(super) struct WatchLoop {
    settings: WatchSettings,
    scratch: Arc<ScratchRepo>,
    directories: WatchedDirs,
    trees: BTreeMap<AgentId, WatchedWorktree>,
    clock: Stopwatch,
    scratch_size: ScratchSize,
    sink: Box<dyn FnMut(WatchReport) + Send>,
}

/// How often the copies are measured while agents work.
const MEASURE_EVERY: Duration = Duration::from_secs(5);

/// The size that the scratch repository may reach.
struct ScratchSize {
    limit: u64,
    measured: Duration,
    /// Not every worktree has been scanned into it yet.
    fresh: bool,
}

impl WatchLoop {
    pub(super) fn new(
        mut settings: WatchSettings,
        inputs: Sender<WatchInput>,
        sink: Box<dyn FnMut(WatchReport) + Send>,
    ) -> Result<Self, ScratchError> {
        // Events contain real paths.
        if let Ok(real) = settings.common_dir.canonicalize() {
            settings.common_dir = real;
        }
        let scratch = Arc::new(ScratchRepo::open(&settings.common_dir, &settings.scratch_dir)?);
        let limit = settings.max_scratch_bytes;
        let system = notify::recommended_watcher(move |event| drop(inputs.send(WatchInput::Event(event))));
        Ok(Self {
            directories: WatchedDirs::new(system, settings.max_watches),
            scratch,
            settings,
            trees: BTreeMap::new(),
            clock: Stopwatch::start(),
            scratch_size: ScratchSize { limit, measured: Duration::ZERO, fresh: false },
            sink,
        })
    }

    pub(super) fn run(&mut self, inbox: &Receiver<WatchInput>, stopped: &AtomicBool) {
        self.watch_shared();
        while !stopped.load(Ordering::Relaxed) {
            let due = self.next_due();
            // A flood of events must not postpone a scan forever.
            if due.is_some_and(|due| due + self.settings.max_settle < self.clock.elapsed()) {
                self.scan_due_worktree();
                continue;
            }
            let input = match due {
                // Nothing to do until the next input.
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => inbox.recv_timeout(due.saturating_sub(self.clock.elapsed())),
            };
            match input {
                Ok(WatchInput::Event(Ok(event))) => self.on_event(&event),
                // An error about one path is followed by events about its parent.
                Ok(WatchInput::Event(Err(error))) => tracing::debug!("file system watcher: {error}"),
                Ok(WatchInput::Add(target)) => self.add(target),
                Ok(WatchInput::Remove(agent)) => self.remove(&agent),
                // Only wakes the loop; the flag ends it.
                Ok(WatchInput::Stop) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.scan_due_worktree(),
            }
        }
    }

    fn due(&self, tree: &WatchedWorktree) -> Option<Duration> {
        let settled = tree.pending.due(self.settings.settle, self.settings.max_settle);
        settled.into_iter().chain(tree.next_scan).min()
    }

    fn next_due(&self) -> Option<Duration> {
        self.trees.values().filter_map(|tree| self.due(tree)).min()
    }

    /// Scans one worktree, so that events are handled between two scans.
    fn scan_due_worktree(&mut self) {
        let now = self.clock.elapsed();
        let due = self.trees.iter().filter_map(|(agent, tree)| Some((self.due(tree)?, agent)));
        let Some(agent) = due.min().filter(|(due, _)| *due <= now).map(|(_, agent)| agent.clone()) else {
            return;
        };
        if self.trees.get(&agent).is_some_and(WatchedWorktree::is_gone) {
            self.remove(&agent);
            (self.sink)(WatchReport::Gone(agent));
            return;
        }
        if self.trees.get(&agent).is_some_and(|tree| tree.pending.needs_walk()) {
            self.rewalk(&agent);
        }
        let Some(tree) = self.trees.get_mut(&agent) else { return };
        let mut changes = tree.pending.take();
        if tree.next_scan.is_some_and(|at| at <= now) {
            changes.whole = true;
        }
        tree.next_scan = tree.polled.is_some().then(|| now + self.settings.poll_every);
        match tree.scan(&changes, now, &self.settings) {
            Ok(work) => {
                tree.reported_failure = None;
                let commit = tree.take_commit().map(|commit| (tree.root.clone(), commit));
                if let Some(work) = work {
                    (self.sink)(WatchReport::Work(work));
                }
                if let Some((worktree, commit)) = commit {
                    (self.sink)(WatchReport::Committed { worktree, commit });
                }
            }
            Err(error) => self.failed(&agent, &error.to_string(), now),
        }
        self.bound_scratch(now);
    }

    /// Measures the copies now and then, and replaces them if they have grown too large.
    fn bound_scratch(&mut self, now: Duration) {
        let size = &mut self.scratch_size;
        if self.scratch.written() < size.limit / 8 && now.saturating_sub(size.measured) < MEASURE_EVERY {
            return;
        }
        size.measured = now;
        let stored = self.scratch.measure();
        if !size.fresh {
            if stored > size.limit {
                self.replace_scratch();
            }
        } else if self.trees.values().all(|tree| tree.pending.is_empty()) {
            // The work of all agents may need more than the limit. Then it is replaced when it has doubled.
            size.fresh = false;
            size.limit = self.settings.max_scratch_bytes.max(2 * stored);
        }
    }

    /// Reports a failure once, and schedules another scan.
    fn failed(&mut self, agent: &AgentId, error: &str, now: Duration) {
        let Some(tree) = self.trees.get_mut(agent) else { return };
        tree.next_scan = Some(now + self.settings.poll_every);
        let text = format!("cannot detect changes of {agent}: {error}");
        if tree.reported_failure.as_ref() != Some(&text) {
            tree.reported_failure = Some(text.clone());
            (self.sink)(WatchReport::Notice { agent: Some(agent.clone()), text });
        }
    }

    /// Deletes the copies, which have grown, and scans everything again.
    fn replace_scratch(&mut self) {
        let now = self.clock.elapsed();
        match ScratchRepo::open(&self.settings.common_dir, &self.settings.scratch_dir) {
            Ok(scratch) => self.scratch = Arc::new(scratch),
            Err(error) => return tracing::warn!("cannot replace the scratch repository: {error}"),
        }
        self.scratch_size.fresh = true;
        for tree in self.trees.values_mut() {
            tree.pending.whole(now);
            if let Err(error) = tree.move_to(&self.scratch, &self.settings) {
                tracing::warn!("cannot move the snapshots of {}: {error}", tree.target.agent);
            }
        }
    }

    fn add(&mut self, target: WatchTarget) {
        let agent = target.agent.clone();
        let known = self.trees.get_mut(&agent);
        if let Some(tree) = known.filter(|tree| tree.target.worktree == target.worktree) {
            tree.target = target;
            return;
        }
        self.remove(&agent);
        match WatchedWorktree::open(target, &self.scratch, &self.settings) {
            Ok(tree) => {
                self.trees.insert(agent.clone(), tree);
                self.watch_admin(&agent);
                self.rewalk(&agent);
                if let Some(tree) = self.trees.get_mut(&agent) {
                    tree.pending.whole(self.clock.elapsed());
                }
            }
            Err(error) => {
                let text = format!("cannot watch the worktree of {agent}: {error}");
                (self.sink)(WatchReport::Notice { agent: Some(agent), text });
            }
        }
    }

    fn watch_admin(&mut self, agent: &AgentId) {
        let Some(admin) = self.trees.get(agent).map(WatchedWorktree::admin_dir) else { return };
        for dir in [admin.join("logs"), admin] {
            // The repository may have no reflogs.
            let _ = self.directories.watch(&dir, DirRole::Admin(agent.clone()));
        }
    }

    fn remove(&mut self, agent: &AgentId) {
        self.trees.remove(agent);
        self.directories
            .unwatch_where(|role| matches!(role, DirRole::Files(of) | DirRole::Admin(of) if of == agent));
    }

    /// Reads the ignore rules and the directories again, and updates the watches.
    fn rewalk(&mut self, agent: &AgentId) {
        let Some(tree) = self.trees.get_mut(agent) else { return };
        let root = tree.root.clone();
        match IgnoreRules::load(&root, &self.settings.common_dir, &self.settings.excluded) {
            Ok(rules) => tree.rules = rules,
            Err(error) => return self.failed(agent, &error.to_string(), self.clock.elapsed()),
        }
        if tree.polled.is_some() {
            return;
        }
        let role = DirRole::Files(agent.clone());
        let before = self.directories.with_role(&role);
        let mut kept = BTreeSet::new();
        self.watch_below(agent, Path::new(""), &mut kept);
        for dir in before.difference(&kept) {
            self.directories.unwatch(dir, &role);
        }
    }

    /// Watches a directory and everything below it, and returns the files.
    fn watch_below(&mut self, agent: &AgentId, start: &Path, kept: &mut BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let Some(mut tree) = self.trees.remove(agent) else { return Vec::new() };
        let root = tree.root.clone();
        let mut enter = |dir: &Path| {
            // Without a trailing slash, as in events.
            let path = if dir == Path::new("") { root.clone() } else { root.join(dir) };
            let role = DirRole::Files(agent.clone());
            match self.directories.watch(&path, role.clone()) {
                // Checked after the watch is set, which reports a repository that appears later.
                Ok(()) if is_repository(&root, dir) => {
                    self.directories.unwatch(&path, &role);
                    return Ok(false);
                }
                Ok(()) => drop(kept.insert(path)),
                Err(WatchFailure::Gone) => {}
                Err(WatchFailure::NoneLeft(reason)) => return Err(reason),
            }
            Ok(true)
        };
        let walked = walk(&root, start, &mut tree.rules, &mut enter);
        self.trees.insert(agent.clone(), tree);
        match walked {
            Ok(files) => files,
            Err(reason) => {
                self.start_polling(agent, &reason);
                Vec::new()
            }
        }
    }

    /// Stops watching one worktree and polls it, so that the others have its watches.
    fn start_polling(&mut self, agent: &AgentId, reason: &str) {
        self.directories.unwatch_where(|role| matches!(role, DirRole::Files(of) if of == agent));
        let every = self.settings.poll_every.as_secs().max(1);
        let text = format!("scanned every {every} s instead of watched: {reason}");
        let Some(tree) = self.trees.get_mut(agent) else { return };
        tree.polled = Some(text.clone());
        tree.next_scan = Some(self.clock.elapsed());
        let status = tree.repeat_status();
        (self.sink)(WatchReport::Notice { agent: Some(agent.clone()), text: format!("{agent} is {text}") });
        (self.sink)(WatchReport::Status(status));
    }

    fn watch_shared(&mut self) {
        let common = self.settings.common_dir.clone();
        for dir in [common.clone(), common.join("info")] {
            let _ = self.directories.watch(&dir, DirRole::Common);
        }
        let _ = self.directories.watch(&common.join("reftable"), DirRole::Refs);
        self.directories.watch_refs(&common.join("refs/heads"));
        self.directories.watch_refs(&common.join("refs/remotes/origin"));
    }

    /// Sets all watches again and scans everything, because events were lost.
    fn rescan(&mut self) {
        let now = self.clock.elapsed();
        self.directories.unwatch_where(|_| true);
        self.watch_shared();
        let agents: Vec<AgentId> = self.trees.keys().cloned().collect();
        for agent in agents {
            self.watch_admin(&agent);
            if let Some(tree) = self.trees.get_mut(&agent) {
                tree.pending.walk(now);
            }
        }
    }

    fn on_event(&mut self, event: &notify::Event) {
        let now = self.clock.elapsed();
        if event.need_rescan() {
            return self.rescan();
        }
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let leaves = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From | RenameMode::Both))
        );
        for path in &event.paths {
            if leaves && self.directories.has(path) {
                self.forget(path, now);
            }
            let Some(parent) = path.parent() else { continue };
            for role in self.directories.roles(parent) {
                match role {
                    DirRole::Files(agent) => self.on_file(&agent, path, now),
                    DirRole::Admin(agent) => self.on_admin(&agent, path, now),
                    DirRole::Common => self.on_common(path, now),
                    DirRole::Refs => self.on_ref(path, now),
                }
            }
        }
    }

    /// Removes the watches of a directory that was moved or deleted, and of everything below it.
    fn forget(&mut self, dir: &Path, now: Duration) {
        for path in self.directories.below(dir) {
            for role in self.directories.roles(&path) {
                self.directories.unwatch(&path, &role);
                if let DirRole::Files(agent) | DirRole::Admin(agent) = role
                    && let Some(tree) = self.trees.get_mut(&agent)
                {
                    tree.pending.whole(now);
                }
            }
        }
    }

    fn on_file(&mut self, agent: &AgentId, path: &Path, now: Duration) {
        let Some(tree) = self.trees.get_mut(agent) else { return };
        let Ok(relative) = path.strip_prefix(&tree.root).map(Path::to_path_buf) else { return };
        if path.file_name().is_some_and(|name| name == ".git") {
            // The worktree may be in removal, or a repository appeared inside it.
            return tree.pending.walk(now);
        }
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let new = !self.directories.has(path);
            if new && !tree.rules.ignores_dir(&relative) {
                let files = self.watch_below(agent, &relative, &mut BTreeSet::new());
                let Some(tree) = self.trees.get_mut(agent) else { return };
                for file in files {
                    tree.pending.path(file, now);
                }
                // The directory may have replaced a file.
                tree.pending.path(relative, now);
            }
        } else if path.file_name().is_some_and(|name| name == ".gitignore") {
            tree.pending.walk(now);
        } else if path.file_name().is_some_and(|name| name == ".gitattributes") {
            // Other files may be stored differently now.
            tree.pending.whole(now);
        } else if !tree.rules.ignores_file(&relative) {
            tree.pending.path(relative, now);
        }
    }

    fn on_admin(&mut self, agent: &AgentId, path: &Path, now: Duration) {
        // The index is irrelevant: `git add` and `git status` change it without changing files.
        if path.file_name().is_some_and(|name| name == "HEAD")
            && let Some(tree) = self.trees.get_mut(agent)
        {
            tree.pending.head(now);
        }
    }

    fn on_common(&mut self, path: &Path, now: Duration) {
        let inner = path.strip_prefix(&self.settings.common_dir).unwrap_or(path);
        if inner == Path::new("packed-refs") {
            self.trees.values_mut().for_each(|tree| tree.pending.head(now));
        } else if inner == Path::new("info/exclude") {
            self.trees.values_mut().for_each(|tree| tree.pending.walk(now));
        }
    }

    fn on_ref(&mut self, path: &Path, now: Duration) {
        if path.is_dir() {
            self.directories.watch_refs(path);
            // A ref may have been written before the watch was set.
            return self.trees.values_mut().for_each(|tree| tree.pending.head(now));
        }
        let name =
            path.strip_prefix(&self.settings.common_dir).unwrap_or(path).to_string_lossy().into_owned();
        if name.strip_suffix(".lock").is_some() {
            return;
        }
        let shared = name.starts_with("reftable") || self.settings.bases.contains(&name);
        for tree in self.trees.values_mut() {
            if shared || tree.head_ref().as_deref() == Some(&name) {
                tree.pending.head(now);
            }
        }
    }
}

//! The conflict monitor, on the worktrees of two agents.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use paw_broker::conflict::{
    ConflictCategory, ConflictLevel, ConflictMonitor, ConflictMonitorEvent, ConflictReport,
};
use paw_broker::watch::{WatchSettings, WatchTarget};
use paw_broker::{Message, SessionId};
use paw_core::AgentId;
use paw_core::config::ConflictConfig;
use paw_testkit::wait_until;

use super::{Field, commit_all, lines, write};

struct Watch {
    monitor: ConflictMonitor,
    signals: Receiver<ConflictMonitorEvent>,
}

impl Watch {
    fn over(field: &Field, worktrees: &[PathBuf]) -> Self {
        let mut settings =
            WatchSettings::new(field.repo.root.join(".git"), field.sandbox.root().join("monitor"));
        settings.bases = super::bases();
        let target = |worktree: &PathBuf| WatchTarget {
            agent: AgentId::new(worktree.file_name().unwrap().to_str().unwrap()).unwrap(),
            worktree: worktree.clone(),
            cli: None,
        };
        let (sender, signals) = mpsc::channel();
        let signal = move |signal| drop(sender.send(signal));
        let config = ConflictConfig::default();
        let targets = worktrees.iter().map(target);
        let monitor =
            ConflictMonitor::start(SessionId::new("s"), config, settings, targets, [], signal).unwrap();
        Self { monitor, signals }
    }

    /// The next two reports, one for each agent.
    fn next_pair(&self, level: ConflictLevel) -> [ConflictReport; 2] {
        [(); 2].map(|()| {
            wait_until("the detector reports", || {
                let ConflictMonitorEvent::Publish(message) = self.signals.try_recv().ok()? else {
                    return None;
                };
                let facts = ConflictReport::find(&message)?;
                assert_eq!((facts.kind, facts.level), (ConflictCategory::InFlight, level), "{message}");
                Some(facts)
            })
        })
    }

    fn wait_for_files(&self, agent: &str, files: &[&str]) {
        wait_until("the watcher reports", || {
            let ConflictMonitorEvent::Publish(message) = self.signals.try_recv().ok()? else { return None };
            let Message::Status(status) = *message else { return None };
            (status.agent_id.as_str() == agent && status.files() == files).then_some(())
        });
    }
}

#[test]
fn monitor_warns_both_agents_of_a_conflict_and_clears_it() {
    let field = Field::new();
    let (a, b) = (field.worktree("a"), field.worktree("b"));
    let watch = Watch::over(&field, &[a.clone(), b.clone()]);
    write(&a, "src/lib.rs", &lines(&[(3, "mine")]));
    watch.wait_for_files("a", &["src/lib.rs"]);
    write(&b, "src/lib.rs", &lines(&[(15, "theirs")]));
    let [first, second] = watch.next_pair(ConflictLevel::Additive);
    assert_eq!((first.you.as_str(), second.you.as_str()), ("a", "b"));
    // The list of files is the same, but their contents differ.
    write(&b, "src/lib.rs", &lines(&[(3, "theirs")]));
    let [first, _] = watch.next_pair(ConflictLevel::Conflict);
    assert_eq!(first.files[0].path, "src/lib.rs");
    assert_eq!((first.files[0].your_lines[0].0, first.files[0].their_lines[0].0), (3, 3));
    // A commit does not resolve the conflict; reverting the edit does.
    commit_all(&a, "mine");
    write(&b, "src/lib.rs", &lines(&[(15, "theirs")]));
    watch.next_pair(ConflictLevel::Cleared);
    drop(watch.monitor);
}

#[test]
fn monitor_forgets_an_agent_whose_worktree_is_removed() {
    let field = Field::new();
    let (a, b) = (field.worktree("a"), field.worktree("b"));
    let watch = Watch::over(&field, &[a.clone(), b.clone()]);
    write(&a, "src/lib.rs", "mine\n");
    write(&b, "src/lib.rs", "theirs\n");
    watch.next_pair(ConflictLevel::Conflict);
    field.repo.git(["worktree", "remove", "--force", b.to_str().unwrap()]);
    wait_until("the worktree is gone", || match watch.signals.try_recv().ok()? {
        ConflictMonitorEvent::Gone(agent) => (agent.as_str() == "b").then_some(()),
        _ => None,
    });
}

#[test]
fn monitor_warns_of_a_file_added_to_a_directory_that_another_agent_has_moved() {
    let field = Field::new();
    for name in ["one", "two", "three"] {
        field.repo.commit_file(&format!("old/sub/{name}.rs"), &lines(&[(1, name)]), name);
    }
    let (a, b) = (field.worktree("a"), field.worktree("b"));
    let watch = Watch::over(&field, &[a.clone(), b.clone()]);
    std::fs::rename(a.join("old"), a.join("new")).unwrap();
    write(&b, "old/sub/four.rs", "added\n");
    let [first, _] = watch.next_pair(ConflictLevel::Conflict);
    assert!(first.files[0].path.ends_with("sub/four.rs"), "{first:?}");
}

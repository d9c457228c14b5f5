use super::*;
use crate::{AgentId, SessionName};

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

#[test]
fn shared_files_are_in_paw_and_hooks_are_outside_of_it() {
    let dir = PawDir::of(Path::new("/r/.git"));
    assert_eq!(text(dir.log()), "/r/.git/paw/broker.db");
    assert_eq!(text(dir.agent_notes(&AgentId::new("feat-x").unwrap())), "/r/.git/paw/agents/feat-x.jsonl");
    assert_eq!(text(dir.gate_log("abc", "lint")), "/r/.git/paw/gates/abc/lint.log");
    assert_eq!(text(lock_of(&dir.merge_journal())), "/r/.git/paw/merge.lock");
    assert_eq!(text(rotated(&dir.approvals())), "/r/.git/paw/approvals.1.jsonl");
    assert_eq!(text(dir.hooks_config()), "/r/.git/paw-hooks/hooks.gitconfig");
    assert_eq!(text(dir.plugin("opencode-plugin.js")), "/r/.git/paw-opencode-plugin.js");
}

#[test]
fn relative_checkout_paths_match_the_absolute_ones() {
    let dir = CheckoutDir::of(Path::new(""));
    for (path, name) in [
        (dir.path().to_path_buf(), CheckoutDir::NAME),
        (dir.config(), CheckoutDir::CONFIG),
        (dir.logs(), CheckoutDir::LOGS),
        (dir.worktrees(), CheckoutDir::WORKTREES),
        (dir.briefing(), CheckoutDir::BRIEFING),
    ] {
        assert_eq!(text(path), name);
    }
    assert_eq!(dir.sweep_script().parent(), Some(Path::new(CheckoutDir::SCRIPTS)));
}

#[test]
fn user_files_are_in_a_git_paw_directory() {
    let session = SessionName::new("paw-app").unwrap();
    let data = DataDir::below(Path::new("/d"));
    assert_eq!(text(ConfigDir::below(Path::new("/c")).config()), "/c/git-paw/config.toml");
    assert_eq!(text(data.operation_lock(&"w1")), "/d/git-paw/operations/w1.lock");
    let sessions = SessionsDir::of(data.sessions());
    assert_eq!(text(sessions.receipt(&session)), "/d/git-paw/sessions/paw-app.json");
}

#[test]
fn taskmaster_paths_can_be_relative_to_the_project() {
    let (here, there) = (TaskmasterDir::relative(), TaskmasterDir::of(Path::new("/p")));
    assert_eq!(text(here.run("r1").log()), ".taskmaster/reports/runs/r1/log.jsonl");
    assert_eq!(text(there.baseline("r1")), "/p/.taskmaster/state/runs/r1.baseline.json");
    assert_eq!(text(there.old_config()), "/p/.taskmasterconfig");
    assert_eq!(text(tasks_lock(&there.tasks())), "/p/.taskmaster/tasks/tasks.json.lock");
}

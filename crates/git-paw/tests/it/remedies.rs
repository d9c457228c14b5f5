//! What is tried for an agent that does not get on, with a real pane.

use paw_core::{Receipt, SessionName};
use paw_session::Receipts;
use paw_testkit::{AgentLook, Sandbox, wait_until};

use crate::paw::paw;

const PROMPT: &str = "Read all of AGENTS.md and begin with its first task";

#[test]
fn what_a_person_has_typed_is_not_sent_for_them() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
    let repo = sandbox.repo("app");
    let args = ["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/x,feat/y"];
    assert_eq!(paw(&sandbox, &repo.root, &args).code, 0);
    let submitted = || agent.events().iter().filter(|event| event.starts_with("submitted")).count();
    wait_until("both were briefed", || (submitted() == 2).then_some(()));
    let receipts = Receipts::at(sandbox.home().join(".local/share/git-paw/sessions"));
    let session = SessionName::new("paw-app").unwrap();
    // One prompt of ours was typed by a process that was killed; in the other pane a person is typing.
    let forgotten = |receipt: &mut Receipt| {
        receipt.worktrees[1].pending_boot_prompt = Some(PROMPT.to_owned());
        receipt.worktrees[1].boot_prompt_problem = Some("the CLI does not take it".to_owned());
    };
    let told = || {
        receipts
            .load(&session)
            .unwrap()
            .unwrap()
            .worktrees
            .iter()
            .all(|one| one.pending_boot_prompt.is_none())
    };
    wait_until("that is written down", || told().then_some(()));
    let format = "#{@paw_agent} #{pane_id}";
    let panes = sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]).stdout;
    for (name, text) in [("feat-x ", "delete everything and begin anew"), ("feat-y ", PROMPT)] {
        let pane = panes.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        sandbox.tmux(["send-keys", "-t", &pane, "-l", text]);
        wait_until("it is typed", || {
            let shown = sandbox.tmux(["capture-pane", "-p", "-J", "-t", &pane]).stdout;
            shown.contains(text).then_some(())
        });
    }
    receipts.update(&session, &receipts.lock().unwrap(), forgotten).unwrap();
    // When ours was sent, the other one had its time as well.
    wait_until("ours is sent", || (submitted() == 3).then_some(()));
    assert!(agent.prompts().iter().all(|prompt| !prompt.contains("anew")), "{:?}", agent.prompts());
}

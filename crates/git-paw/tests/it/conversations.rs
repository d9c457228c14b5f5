//! Which conversations agents resume after a stop, a crash and a pause.

use std::fs;

use paw_agent::hooks::notes::{HookNote, HookNotes};
use paw_core::AgentId;
use paw_testkit::{AgentLook, FakeAgent, RunOutput, Sandbox, TestRepo, wait_until};
use serde_json::{Value, json};

use crate::paw::paw;

/// A session with a broker and one agent on `feat/a`, whose CLI looks like claude and logs its arguments.
struct World {
    sandbox: Sandbox,
    repo: TestRepo,
    agent: FakeAgent,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
        let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
        let starts = sandbox.root().join("starts");
        let wrapper = fs::read_to_string(&agent.program).unwrap();
        // It resumes any conversation but one.
        let begin = format!(
            "#!/usr/bin/env bash\necho \"[$*]\" >> '{}'\ncase \"$*\" in *gone*) echo 'No conversation found'; exit 1;; esac\n",
            starts.display()
        );
        sandbox.install_program("claude", &wrapper.replace("#!/usr/bin/env bash\n", &begin));
        let world = Self { repo: sandbox.repo("app"), sandbox, agent };
        world.start();
        wait_until("it was briefed", || (world.told_prompts() == 1).then_some(()));
        wait_until("that is written down", || world.receipt()["pending_boot_prompt"].is_null().then_some(()));
        world
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        let ran = paw(&self.sandbox, &self.repo.root, args);
        assert_eq!(ran.code, 0, "{ran}");
        ran
    }

    fn start(&self) {
        self.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"]);
    }

    fn told(&self, event: &str, conversation: &str, source: &str) {
        let record = json!({"hook_event_name": event, "session_id": conversation, "source": source});
        let note = HookNote::new(paw_host::clock::now(), "claude", &record);
        let notes = HookNotes::of(&self.repo.root.join(".git"));
        notes.append(&AgentId::new("feat-a").unwrap(), &note).unwrap();
    }

    /// The number of prompts it got, over all starts.
    fn told_prompts(&self) -> usize {
        self.agent.events().iter().filter(|event| event.starts_with("submitted")).count()
    }

    /// The arguments of each start of the CLI.
    fn starts(&self) -> Vec<String> {
        let starts = fs::read_to_string(self.sandbox.root().join("starts")).unwrap_or_default();
        starts.lines().map(str::to_owned).collect()
    }

    fn wait_for_starts(&self, starts: &[&str]) {
        wait_until(&format!("{starts:?}"), || (self.starts() == starts).then_some(()));
    }

    fn receipt(&self) -> Value {
        let file = self.sandbox.home().join(".local/share/git-paw/sessions/paw-app.json");
        let receipt: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        receipt["worktrees"][0].clone()
    }

    fn kill_tmux(&self) {
        self.sandbox.tmux(["kill-server"]);
        wait_until("tmux is gone", || (self.sandbox.tmux(["list-sessions"]).code != 0).then_some(()));
    }
}

#[test]
fn restart_after_stop_resumes_the_same_conversations() {
    let world = World::new();
    world.told("SessionStart", "c-1", "startup");
    world.told("UserPromptSubmit", "c-1", "");
    world.paw(&["stop", "--force"]);
    assert_eq!(world.receipt()["conversation"], "c-1");
    world.start();
    world.wait_for_starts(&["[]", "[--resume=c-1]"]);
    assert_eq!(world.told_prompts(), 1, "it knows what it was told");
    // Without a new prompt the conversation stays the same.
    world.told("SessionStart", "c-1", "resume");
    world.paw(&["stop", "--force"]);
    world.start();
    world.wait_for_starts(&["[]", "[--resume=c-1]", "[--resume=c-1]"]);
}

#[test]
fn restart_after_a_crash_resumes_the_conversation_reported_by_hooks() {
    let world = World::new();
    world.told("SessionStart", "c-1", "startup");
    world.told("UserPromptSubmit", "c-1", "");
    world.told("SessionStart", "c-2", "clear");
    world.told("UserPromptSubmit", "c-2", "");
    world.kill_tmux();
    world.start();
    world.wait_for_starts(&["[]", "[--resume=c-2]"]);
}

#[test]
fn pause_records_the_conversation() {
    let world = World::new();
    world.told("UserPromptSubmit", "c-1", "");
    world.paw(&["pause"]);
    assert_eq!(world.receipt()["conversation"], "c-1");
}

#[test]
fn agent_with_an_empty_conversation_starts_a_new_one_with_its_boot_prompt() {
    let world = World::new();
    world.told("SessionStart", "c-1", "startup");
    world.kill_tmux();
    world.start();
    world.wait_for_starts(&["[]", "[]"]);
    wait_until("it is told again", || (world.told_prompts() == 2).then_some(()));
    assert!(world.agent.prompts()[0].contains("feat-a"), "{:?}", world.agent.prompts());
}

#[test]
fn agent_with_a_deleted_conversation_starts_a_new_one_with_its_boot_prompt() {
    let world = World::new();
    world.told("SessionStart", "gone", "startup");
    world.told("UserPromptSubmit", "gone", "");
    world.kill_tmux();
    world.start();
    world.wait_for_starts(&["[]", "[--resume=gone]", "[]"]);
    wait_until("it is told again", || (world.told_prompts() == 2).then_some(()));
    assert!(world.agent.prompts()[0].contains("feat-a"), "{:?}", world.agent.prompts());
    wait_until("that is written down", || world.receipt()["pending_boot_prompt"].is_null().then_some(()));
    assert!(world.receipt()["conversation"].is_null(), "{}", world.receipt());
}

#[test]
fn agent_that_exits_after_resuming_is_not_restarted() {
    let world = World::new();
    world.told("UserPromptSubmit", "c-1", "");
    let ran = paw(&world.sandbox, &world.sandbox.root().join("app-feat-a"), &["__restart-agent", "feat-a"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("feat-a was resumed, but its CLI exited with an error"), "{ran}");
    assert!(ran.stderr.contains("hint: to start a new conversation: claude"), "{ran}");
    assert_eq!(world.starts(), ["[]"]);
}

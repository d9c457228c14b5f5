//! A scripted AI CLI: it has an input, takes pastes and asks for approvals, and needs no model.

use std::fs;
use std::path::PathBuf;

use crate::Sandbox;

const PROGRAM: &str = include_str!("fake-agent.bash");

/// How the agent draws its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLook {
    Claude,
    /// As a CLI that nobody knows.
    Plain,
}

/// An agent that was installed in a sandbox, and what became of it.
#[derive(Debug)]
pub struct FakeAgent {
    pub program: PathBuf,
    dir: PathBuf,
}

impl Sandbox {
    /// Puts an AI CLI on the sandbox's PATH. `steps` happen before its input appears: `wait` (for [`FakeAgent::go`]),
    /// `trust` (a dialog), `die`. What it does then stands in its prompts: `[[bash:cargo test ; say:done ; wait ; die]]`.
    /// After `limit:in 5s` it does nothing until its next prompt, and then what is left.
    pub fn install_agent(&self, name: &str, look: AgentLook, steps: &str) -> FakeAgent {
        let dir = self.root().join("agents").join(name);
        fs::create_dir_all(&dir).expect("a directory for the agent");
        let script = self.install_program(&format!(".{name}-script"), PROGRAM);
        let look = match look {
            AgentLook::Claude => "claude",
            AgentLook::Plain => "plain",
        };
        // tmux names a program by its first word, and a shell would be taken for one.
        let wrapper = format!(
            "#!/usr/bin/env bash\nexport FAKE_AGENT_DIR='{}' FAKE_AGENT_LOOK={look} FAKE_AGENT_STEPS='{steps}'\n\
             exec -a {name} bash '{}' \"$@\"\n",
            dir.display(),
            script.display()
        );
        FakeAgent { program: self.install_program(name, &wrapper), dir }
    }
}

impl FakeAgent {
    /// Ends its waiting.
    pub fn go(&self) {
        fs::write(self.dir.join("go"), "").expect("a file for the agent");
    }

    /// What was submitted so far, in its order.
    pub fn prompts(&self) -> Vec<String> {
        (1..).map_while(|n| fs::read_to_string(self.dir.join(format!("prompt-{n}"))).ok()).collect()
    }

    /// What happened so far: `ready`, `paste`, `submitted 1`, `asked …`, `allowed …`, `denied …`, `key x`, …
    pub fn events(&self) -> Vec<String> {
        let events = fs::read_to_string(self.dir.join("events")).unwrap_or_default();
        events.lines().map(str::to_owned).collect()
    }
}

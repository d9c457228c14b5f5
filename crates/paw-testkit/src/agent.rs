//! A scripted AI CLI without a model: it draws a prompt, accepts pastes and asks for approvals.

use std::fs;
use std::path::PathBuf;

use crate::Sandbox;

const PROGRAM: &str = include_str!("fake-agent.bash");

/// How the agent draws its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLook {
    Claude,
    /// An unknown CLI.
    Plain,
}

/// An agent in a sandbox.
#[derive(Debug)]
pub struct FakeAgent {
    pub program: PathBuf,
    dir: PathBuf,
}

impl Sandbox {
    /// Installs an AI CLI in the sandbox. It runs `steps` before its prompt appears: `wait` (for [`FakeAgent::go`]), `trust`
    /// (a dialog), `die`. Prompts contain its further actions: `[[bash:cargo test ; say:done ; wait ; die]]`. After
    /// `limit:in 5s` it waits for the next prompt and then runs the remaining actions.
    pub fn install_agent(&self, name: &str, look: AgentLook, steps: &str) -> FakeAgent {
        let dir = self.root().join("agents").join(name);
        fs::create_dir_all(&dir).expect("a directory for the agent");
        let script = self.install_program(&format!(".{name}-script"), PROGRAM);
        let look = match look {
            AgentLook::Claude => "claude",
            AgentLook::Plain => "plain",
        };
        // tmux shows the name in argv[0]; with `bash` the pane would look like a plain shell.
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
    /// Lets a waiting agent continue.
    pub fn go(&self) {
        fs::write(self.dir.join("go"), "").expect("a file for the agent");
    }

    /// The submitted prompts, in order.
    pub fn prompts(&self) -> Vec<String> {
        (1..).map_while(|n| fs::read_to_string(self.dir.join(format!("prompt-{n}"))).ok()).collect()
    }

    /// The events so far: `ready`, `paste`, `submitted 1`, `asked …`, `allowed …`, `denied …`, `key x`, …
    pub fn events(&self) -> Vec<String> {
        let events = fs::read_to_string(self.dir.join("events")).unwrap_or_default();
        events.lines().map(str::to_owned).collect()
    }
}

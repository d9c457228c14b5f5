//! Approvals in panes of 40 columns, with screens that the real CLIs drew at that width and at 200 columns.

use paw_testkit::{RunOutput, Sandbox, TestRepo, wait_until};

use crate::paw::paw;

/// Replays two screens of a CLI, for narrow and for wide terminals, and records the keys.
const REPLAY: &str = r#"#!/usr/bin/env bash
name=$1 dir=$2
trap 'resized=1' WINCH
saved=$(stty -g)
stty raw -echo
draw() {
    local size=$(stty size) width=40
    ((${size#* } < 100)) || width=wide
    printf '\e[0m\e[H\e[2J'
    sed 's/$/\r/' "$dir/$name-$width.ansi"
}
draw
while :; do
    if IFS= read -rN1 -t 0.2 key; then
        printf '%q\n' "$key" >>"$dir/$name-keys"
        printf '\e[0m\e[H\e[2J'
        stty "$saved"
        exec sleep 600
    elif [[ $resized ]]; then
        resized='' && draw
    fi
done
"#;

const CLIS: [(&str, &str); 4] = [
    ("claude", "cargo test --workspace --all-features --locked"),
    ("codex", r#"git commit --allow-empty -m "a message that is long enough to wrap""#),
    ("gemini", "cargo test --workspace --all-features --locked"),
    ("opencode", r#"git commit --allow-empty -m "a message that is long enough to wrap""#),
];

struct World {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl World {
    /// A session of four CLIs in panes of 40 columns, and one that takes the rest of the window.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
        let script = sandbox.install_program(".replay", REPLAY);
        let root = sandbox.root();
        for (name, screens) in [
            ("claude", [include_str!("narrow/claude-40.ansi"), include_str!("narrow/claude-wide.ansi")]),
            ("codex", [include_str!("narrow/codex-40.ansi"), include_str!("narrow/codex-wide.ansi")]),
            ("gemini", [include_str!("narrow/gemini-40.ansi"), include_str!("narrow/gemini-wide.ansi")]),
            (
                "opencode",
                [include_str!("narrow/opencode-40.ansi"), include_str!("narrow/opencode-wide.ansi")],
            ),
        ] {
            for (width, screen) in ["40", "wide"].into_iter().zip(screens) {
                sandbox.write(&format!("screens/{name}-{width}.ansi"), screen);
            }
            let run = format!(
                "#!/usr/bin/env bash\nexec -a {name} bash '{}' {name} '{}/screens'\n",
                script.display(),
                root.display()
            );
            sandbox.install_program(name, &run);
        }
        sandbox.install_program("aider", "#!/bin/sh\nexec sleep 600\n");
        let world = Self { repo: sandbox.repo("app"), sandbox };
        let branches = "x/claude=claude,x/codex=codex,x/gemini=gemini,x/opencode=opencode,x/rest=aider";
        let ran = world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", branches]);
        assert_eq!(ran.code, 0, "{ran}");
        // While the session's process reads a pane, the pane is in another window.
        wait_until("the panes have 40 columns", || {
            for (name, _) in CLIS {
                world.sandbox.tmux(["resize-pane", "-t", &world.pane(name), "-x", "40"]);
            }
            let narrow =
                world.panes("#{window_index} #{pane_width}").iter().filter(|line| *line == "0 40").count();
            (narrow == 4 && world.panes("x").len() == 5).then_some(())
        });
        world
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        paw(&self.sandbox, &self.repo.root, args)
    }

    fn pane(&self, cli: &str) -> String {
        let panes = self.panes("#{@paw_agent} #{pane_id}");
        panes.iter().find_map(|line| line.strip_prefix(&format!("x-{cli} "))).unwrap().to_owned()
    }

    fn panes(&self, format: &str) -> Vec<String> {
        let listed = self.sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", format]);
        listed.stdout.lines().map(str::to_owned).collect()
    }

    fn keys(&self, cli: &str) -> String {
        std::fs::read_to_string(self.sandbox.root().join(format!("screens/{cli}-keys"))).unwrap_or_default()
    }
}

#[test]
fn approve_works_for_every_cli_in_a_pane_of_40_columns() {
    let world = World::new();
    let layout = "#{@paw_agent} #{pane_id} #{window_index}.#{pane_index} #{pane_width}";
    let before =
        wait_until("no pane is being read", || Some(world.panes(layout)).filter(|panes| panes.len() == 5));
    // What the session's process has read in a wide window is what every command says.
    let asks = |text: &str| {
        CLIS.iter().all(|(cli, command)| text.contains(&format!("x-{cli}: approve or deny: {command}")))
    };
    let listed = wait_until("all prompts are listed", || {
        Some(world.paw(&["next", "--list"]).stdout).filter(|listed| asks(listed))
    });
    assert!(!listed.contains("x-rest"), "{listed}");
    let count = |args: &[&str], word: &str| world.paw(args).stdout.matches(word).count();
    assert_eq!(count(&["status"], "needs approval"), 4);
    assert_eq!(
        (count(&["sweep", "status"], "waiting_approval"), count(&["sweep", "status"], "unknown")),
        (4, 1)
    );
    for (cli, command) in CLIS {
        let explained = wait_until(&format!("the prompt of {cli} is explained"), || {
            Some(world.paw(&["explain", &format!("x/{cli}")]).stdout).filter(|text| text.contains(command))
        });
        assert!(explained.contains("waiting_approval"), "{explained}");
    }
    for (cli, command) in CLIS {
        // The session's process may be reading the same pane.
        let ran = wait_until(&format!("{cli} is approved"), || {
            let ran = world.paw(&["approve", &format!("x/{cli}"), "--yes"]);
            (ran.code == 0).then_some(ran)
        });
        assert!(ran.stdout.contains(&format!("approved for x-{cli}: {command}")), "{ran}");
        wait_until("the key was pressed", || (!world.keys(cli).is_empty()).then_some(()));
    }
    let pressed: Vec<_> = CLIS.iter().map(|(cli, _)| world.keys(cli).trim().to_owned()).collect();
    assert_eq!(pressed[..3], ["1", "y", "1"]);
    assert!([r"$'\r'", r"$'\n'"].contains(&pressed[3].as_str()), "Enter: {}", pressed[3]);
    // Nothing is left of the windows in which they were read.
    wait_until("all panes are where they were", || (world.panes(layout) == before).then_some(()));
}

#[test]
fn prompt_in_the_pane_the_user_is_in_is_not_moved_and_an_unreadable_one_is_never_approved() {
    let world = World::new();
    let pane = world.pane("gemini");
    world.sandbox.tmux(["select-pane", "-t", &pane]);
    world.sandbox.tmux(["set-option", "-w", "-t", "=paw-app:", "window-size", "manual"]);
    let _terminal =
        paw_testkit::Terminal::run(&world.sandbox, &world.repo.root, "tmux", &["attach", "-t", "=paw-app:"]);
    wait_until("a client is attached", || {
        let clients = world.sandbox.tmux(["list-clients", "-F", "#{pane_id}"]).stdout;
        clients.contains(&pane).then_some(())
    });
    let ran = world.paw(&["approve", "x/gemini", "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("cannot read the prompt of x-gemini"), "{ran}");
    assert_eq!(world.keys("gemini"), "");
}

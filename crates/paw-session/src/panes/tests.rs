use paw_core::BranchName;

use super::*;

fn window(receipt: &Receipt, conversation: ConversationMode) -> Result<SessionWindow, TooManyAgents> {
    let token = |agent: &AgentId| Some(format!("token-of-{agent}"));
    SessionWindow::of(
        receipt,
        PaneBuilder { program: Path::new("/usr/bin/git-paw"), token: &token, conversation, fresh: &[] },
    )
}

fn receipt(agents: usize) -> Receipt {
    let name = SessionName::new("paw-app").unwrap();
    let mut receipt = Receipt::new(name, "/code/app".into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
    receipt.worktrees = (1..=agents)
        .map(|number| {
            let branch = BranchName::new(format!("feat/{number}")).unwrap();
            AgentReceipt::new(branch, format!("/code/app-feat-{number}").into(), format!("cli{number}"))
        })
        .collect();
    receipt
}

fn with_broker(agents: usize) -> Receipt {
    let mut receipt = receipt(agents);
    receipt.broker_port = Some(9119);
    receipt.broker_bind = Some("127.0.0.1".into());
    receipt
}

fn supervised(agents: usize) -> Receipt {
    let mut receipt = with_broker(agents);
    receipt.mode = SessionMode::Supervisor;
    receipt.supervisor = Some(SupervisorReceipt {
        cli: "claude".into(),
        command: "claude --safe".into(),
        ..SupervisorReceipt::default()
    });
    receipt
}

fn commands(receipt: &Receipt) -> Vec<String> {
    let window = window(receipt, ConversationMode::New).unwrap();
    window.batch().commands().iter().map(ToString::to_string).collect()
}

fn of<'a>(commands: &'a [String], name: &str) -> Vec<&'a str> {
    let start = format!("tmux {name} ");
    commands.iter().map(String::as_str).filter(|command| command.starts_with(&start)).collect()
}

/// The final number of panes, without the placeholder.
fn panes(commands: &[String]) -> usize {
    1 + of(commands, "split-window").len() - of(commands, "kill-pane").len()
}

fn place(commands: &[String], part: &str) -> usize {
    commands.iter().position(|command| command.contains(part)).unwrap_or_else(|| panic!("no {part}"))
}

#[test]
fn session_creation_command_uses_correct_name_and_explicit_dimensions() {
    for receipt in [receipt(1), with_broker(2), supervised(3)] {
        let commands = commands(&receipt);
        assert!(commands[0].starts_with("tmux new-session -d -s paw-app -x 200 -y 50"), "{}", commands[0]);
        assert_eq!(commands[3], "tmux set-option -g default-size 200x50");
    }
}

#[test]
fn override_replaces_default_name() {
    let mut receipt = receipt(2);
    receipt.session_name = SessionName::new("custom-session-name").unwrap();
    let commands = commands(&receipt);
    assert!(commands[0].contains("-s custom-session-name "));
    assert!(commands.iter().all(|command| !command.contains("paw-app:")), "{commands:#?}");
}

#[test]
fn two_panes_without_broker() {
    let commands = commands(&receipt(2));
    assert_eq!(panes(&commands), 2);
    assert!(commands.iter().all(|command| !command.contains("__dashboard")));
}

#[test]
fn two_agent_panes_plus_dashboard_created() {
    let commands = commands(&with_broker(2));
    assert_eq!(panes(&commands), 3);
    let keys = of(&commands, "send-keys");
    assert!(
        keys[0].contains("=paw-app:0.0 'cd /code/app && /usr/bin/git-paw __dashboard' Enter"),
        "{}",
        keys[0]
    );
}

#[test]
fn each_pane_receives_cd_and_cli_command_submitted_with_enter() {
    assert_eq!(
        of(&commands(&receipt(2)), "send-keys"),
        [
            "tmux send-keys -t =paw-app:0.0 'cd /code/app-feat-1 && cli1' Enter",
            "tmux send-keys -t =paw-app:0.1 'cd /code/app-feat-2 && cli2' Enter",
        ]
    );
}

#[test]
fn each_pane_targets_a_distinct_index() {
    let commands = commands(&receipt(3));
    let keys = of(&commands, "send-keys");
    for (index, command) in keys.iter().enumerate() {
        assert!(command.contains(&format!(":0.{index} ")), "{command}");
    }
}

#[test]
fn pane_titles_contain_branch_and_cli() {
    let titles = commands(&supervised(1));
    assert_eq!(
        of(&titles, "select-pane"),
        [
            "tmux select-pane -t =paw-app:0.0 -T 'supervisor → claude'",
            "tmux select-pane -t =paw-app:0.1 -T dashboard",
            "tmux select-pane -t =paw-app:0.2 -T 'feat/1 → cli1'",
        ]
    );
}

#[test]
fn pane_border_status_configured() {
    let commands = commands(&receipt(1));
    place(&commands, "pane-border-status top");
    place(&commands, "#{?@paw_label,#{@paw_label},#{pane_title}} #{?@paw_state,· #{@paw_state} ,}");
}

#[test]
fn disabled_borders_keep_the_users_border_options() {
    let mut receipt = receipt(1);
    receipt.borders = false;
    assert!(commands(&receipt).iter().all(|command| !command.contains("pane-border")));
}

#[test]
fn mouse_mode_enabled_by_default_and_can_be_disabled() {
    let mut receipt = receipt(1);
    place(&commands(&receipt), "mouse on");
    receipt.mouse = false;
    assert!(commands(&receipt).iter().all(|command| !command.contains("mouse")));
}

#[test]
fn set_environment_appears_before_send_keys_and_each_pane_gets_its_identity() {
    let commands = commands(&supervised(2));
    let variable = "set-environment -t =paw-app: GIT_PAW_BROKER_URL http://127.0.0.1:9119";
    assert!(place(&commands, variable) < place(&commands, "send-keys"));
    for id in ["supervisor", "feat-1", "feat-2"] {
        let own = format!("-e GIT_PAW_AGENT_ID={id} -e GIT_PAW_BROKER_TOKEN=token-of-{id}");
        assert!(commands[place(&commands, &own)].starts_with("tmux split-window"));
    }
    let dashboards =
        of(&commands, "split-window").into_iter().filter(|split| !split.contains("GIT_PAW_AGENT_ID"));
    assert_eq!(dashboards.count(), 1, "the dashboard has no identity");
}

#[test]
fn identity_of_a_pane_is_not_inherited_by_panes_opened_later() {
    let commands = commands(&supervised(2));
    for name in ["GIT_PAW_AGENT_ID", "GIT_PAW_BROKER_TOKEN"] {
        let with_name = commands.iter().filter(|command| command.contains(name));
        assert!(
            with_name.clone().count() > 0
                && with_name.into_iter().all(|command| command.starts_with("tmux split-window"))
        );
    }
}

#[test]
fn splits_use_l_percent_not_p_and_no_layout_of_tmux_itself() {
    for agents in 1..=25 {
        let commands = commands(&supervised(agents));
        // The first split replaces the placeholder.
        for split in of(&commands, "split-window").into_iter().skip(1) {
            let size = split.split(" -l ").nth(1).unwrap().split(' ').next().unwrap();
            assert!(size.ends_with('%') && !split.contains(" -p "), "{split}");
        }
        assert!(of(&commands, "select-layout").is_empty());
    }
}

#[test]
fn pipe_pane_follows_split_window_and_send_keys_of_its_pane() {
    let mut receipt = receipt(2);
    receipt.log_dir = Some("/code/app/.git-paw/logs".into());
    let commands = commands(&receipt);
    let pipe = "tmux pipe-pane -o -t =paw-app:0.1 '/usr/bin/git-paw __log-pane /code/app/.git-paw/logs/paw-app/feat--2.log'";
    let piped = place(&commands, pipe);
    assert!(piped > place(&commands, "send-keys -t =paw-app:0.1"));
    assert!(piped > place(&commands, "split-window"));
}

#[test]
fn every_pane_has_a_mark_with_its_owner() {
    let marks = commands(&supervised(2));
    let marks: Vec<_> = marks.iter().filter(|command| command.contains(MARK)).collect();
    let expected = ["supervisor", "dashboard", "feat-1", "feat-2"];
    for (index, (mark, expected)) in marks.iter().zip(expected).enumerate() {
        assert_eq!(**mark, format!("tmux set-option -p -t =paw-app:0.{index} @paw_agent {expected}"));
    }
}

#[test]
fn names_with_tmux_or_shell_syntax_are_quoted() {
    let mut receipt = receipt(1);
    receipt.log_dir = Some("/l#(x)%H".into());
    receipt.worktrees[0].branch = BranchName::new("a#(touch)$(b);'c").unwrap();
    receipt.worktrees[0].worktree_path = "/w #(x) 'y'".into();
    let window = window(&receipt, ConversationMode::New).unwrap();
    let batch = window.batch();
    let word = |name: &str, flag: &str| {
        let command =
            batch.commands().iter().find(|command| command.words().next().unwrap() == name).unwrap();
        let words: Vec<_> = command.words().map(|word| word.to_str().unwrap().to_owned()).collect();
        words[words.iter().position(|word| word == flag).unwrap() + 1].clone()
    };
    assert_eq!(word("new-session", "-c"), "/w ##(x) 'y'");
    assert_eq!(word("select-pane", "-T"), "a##(touch)$(b);'c → cli1");
    assert!(window.panes[0].line().starts_with(r"cd '/w #(x) '\''y'\''' && "), "{}", window.panes[0].line());
    let piped =
        batch.commands().iter().find(|command| command.words().next().unwrap() == "pipe-pane").unwrap();
    assert!(piped.to_string().contains("/l##(x)%%H/"), "{piped}");
}

#[test]
fn directory_with_control_characters_is_not_typed() {
    let mut receipt = receipt(1);
    receipt.worktrees[0].worktree_path = "/w\t/x".into();
    assert_eq!(window(&receipt, ConversationMode::New).unwrap().panes[0].line(), "cli1");
}

#[test]
fn window_rejects_too_many_supervised_agents() {
    assert!(window(&supervised(26), ConversationMode::New).is_err());
}

#[test]
fn resumed_session_resumes_the_conversation_of_each_cli() {
    let mut receipt = supervised(2);
    receipt.worktrees[0].cli = "claude".into();
    receipt.worktrees[0].command = Some("claude --auto".into());
    receipt.worktrees[0].conversation = Some("c-7".into());
    receipt.worktrees[1].cli = "own-agent".into();
    let window = window(&receipt, ConversationMode::Resumed).unwrap();
    let lines: Vec<_> = window.panes.iter().map(|pane| pane.command.as_str()).collect();
    assert_eq!(
        lines,
        [
            "claude --safe --continue || /usr/bin/git-paw __restart-agent supervisor",
            "/usr/bin/git-paw __dashboard",
            "claude --auto --resume=c-7 || /usr/bin/git-paw __restart-agent feat-1",
            "own-agent",
        ]
    );
}

#[test]
fn agent_with_an_empty_conversation_starts_a_new_one_while_others_resume() {
    let mut receipt = supervised(2);
    for agent in &mut receipt.worktrees {
        agent.cli = "claude".into();
        agent.command = Some("claude".into());
    }
    let token = |_: &_| None;
    let fresh = [receipt.agent_ids()[1].clone()];
    let builder = PaneBuilder {
        program: Path::new("/p"),
        token: &token,
        conversation: ConversationMode::Resumed,
        fresh: &fresh,
    };
    let window = SessionWindow::of(&receipt, builder).unwrap();
    let lines: Vec<_> = window.panes.iter().skip(2).map(|pane| pane.command.as_str()).collect();
    assert_eq!(lines, ["claude --continue || /p __restart-agent feat-1", "claude"]);
}

#[test]
fn git_in_a_pane_ignores_directories_that_look_like_bare_repositories() {
    let set = git_settings();
    let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    if std::env::var_os("GIT_CONFIG_COUNT").is_some() {
        assert_eq!(set, []);
    } else {
        assert_eq!(value("GIT_CONFIG_KEY_0"), Some("safe.bareRepository"));
        assert_eq!((value("GIT_CONFIG_VALUE_0"), value("GIT_CONFIG_COUNT")), (Some("explicit"), Some("1")));
    }
}

use paw_agent::detect::CliSource;
use paw_core::PawError;
use paw_host::git::Head;

use super::*;

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

/// The repository `/code/app` on `main`, with claude and codex.
struct PlanFixture {
    repo: Repo,
    config: PawConfig,
    clis: Vec<CliInfo>,
    hooks: HookEnvironment,
    worktrees: Vec<GitWorktree>,
    branches: Vec<BranchName>,
    existing: Vec<PathBuf>,
    taken: Vec<&'static str>,
}

impl PlanFixture {
    fn new() -> Self {
        let cli = |name: &str| CliInfo {
            binary_name: name.to_owned(),
            display_name: name.to_owned(),
            source: CliSource::Detected,
            path: format!("/usr/bin/{name}").into(),
            launcher: None,
        };
        let root = PathBuf::from("/code/app");
        let repo = Repo {
            worktree: Some(root.clone()),
            common_dir: root.join(".git"),
            root: root.clone(),
            bare: false,
        };
        Self {
            repo,
            config: PawConfig::default(),
            clis: vec![cli("claude"), cli("codex"), cli("opencode")],
            hooks: HookEnvironment { program: "/bin/git-paw".into(), home: None, is_set: |_| false },
            worktrees: vec![listed("/code/app", "main")],
            branches: vec![branch("main")],
            existing: Vec::new(),
            taken: Vec::new(),
        }
    }

    fn plan(&self, request: &StartRequest) -> Result<SessionPlan, PlanError> {
        let context = PlanContext {
            repo: &self.repo,
            config: &self.config,
            clis: &self.clis,
            hooks: &self.hooks,
            worktrees: &self.worktrees,
            branches: &self.branches,
        };
        plan(
            request,
            &context,
            |name| self.taken.contains(&name.as_str()),
            |path| self.existing.iter().any(|existing| existing == path),
        )
    }

    fn refusal(&self, branches: &[&str]) -> String {
        PawError::from(self.plan(&bare(branches)).unwrap_err()).to_string()
    }
}

fn listed(path: &str, name: &str) -> GitWorktree {
    GitWorktree {
        path: path.into(),
        head: Head::Branch(branch(name)),
        commit: Some("1".into()),
        locked: None,
        prunable: None,
    }
}

fn bare(branches: &[&str]) -> StartRequest {
    let wanted = |name: &&str| AgentRequest {
        branch: branch(name),
        cli: "claude".into(),
        spec: None,
        task: None,
        host: None,
    };
    StartRequest {
        has_remote: false,
        agents: branches.iter().map(wanted).collect(),
        supervisor: None,
        unattended: false,
        has_hub_supervisor: false,
        rebase: true,
    }
}

fn supervised(branches: &[&str]) -> StartRequest {
    StartRequest { supervisor: Some("codex".into()), ..bare(branches) }
}

#[test]
fn session_named_after_project() {
    assert_eq!(PlanFixture::new().plan(&bare(&["feat/a"])).unwrap().session.as_str(), "paw-app");
}

#[test]
fn collision_appends_numeric_suffix() {
    let mut fixture = PlanFixture::new();
    fixture.taken = vec!["paw-app", "paw-app-2"];
    assert_eq!(fixture.plan(&bare(&["feat/a"])).unwrap().session.as_str(), "paw-app-3");
}

#[test]
fn unattended_plan_has_a_broker_and_the_approvals_of_a_supervised_one() {
    let mut fixture = PlanFixture::new();
    let supervisor = SupervisorConfig { agent_approval: Approval::FullAuto, ..SupervisorConfig::default() };
    fixture.config.supervisor = Some(supervisor);
    let command = |plan: &SessionPlan| plan.agents[0].command.clone();
    let bare = bare(&["feat/a"]);
    assert_eq!(command(&fixture.plan(&bare).unwrap()), "claude");
    let plan = fixture.plan(&StartRequest { unattended: true, ..bare }).unwrap();
    assert_eq!(command(&plan), "claude --dangerously-skip-permissions");
    assert!(plan.unattended && plan.broker.is_some());
    assert_eq!(plan.guard, fixture.plan(&supervised(&["feat/a"])).unwrap().guard);
}

#[test]
fn planned_command_has_hooks_only_with_a_broker() {
    let mut fixture = PlanFixture::new();
    let mut request = bare(&["feat/a"]);
    request.agents[0].cli = "opencode".into();
    assert_eq!(fixture.plan(&request).unwrap().agents[0].command, "opencode");
    fixture.config.broker.enabled = true;
    assert_eq!(
        fixture.plan(&request).unwrap().agents[0].command,
        r#"env 'OPENCODE_CONFIG_CONTENT={"plugin":["file:///code/app/.git/paw-opencode-plugin.js"]}' opencode"#
    );
}

#[test]
fn plan_gives_every_agent_an_id_a_directory_and_a_command() {
    let plan = PlanFixture::new().plan(&bare(&["feat/a", "Feat_B"])).unwrap();
    let parts =
        |agent: &AgentPlan| (agent.id.to_string(), agent.dir.display().to_string(), agent.command.clone());
    let agents: Vec<_> = plan.agents.iter().map(parts).collect();
    let expected = [("feat-a", "/code/app-feat-a"), ("feat_b", "/code/app-Feat_B")];
    assert_eq!(agents, expected.map(|(id, dir)| (id.to_owned(), dir.to_owned(), "claude".to_owned())));
    assert_eq!((plan.mode(), plan.broker), (SessionMode::Bare, None));
}

#[test]
fn supervisor_mode_implies_the_broker_and_the_configured_approvals() {
    let mut fixture = PlanFixture::new();
    let config = SupervisorConfig {
        agent_approval: Approval::FullAuto,
        approval: Some(Approval::Manual),
        ..SupervisorConfig::default()
    };
    fixture.config.supervisor = Some(config);
    let plan = fixture.plan(&supervised(&["feat/a"])).unwrap();
    assert_eq!(plan.mode(), SessionMode::Supervisor);
    assert_eq!(plan.broker.as_ref().unwrap().port, 9119);
    assert_eq!(plan.agents[0].command, "claude --dangerously-skip-permissions");
    assert_eq!(
        plan.supervisor.as_ref().unwrap().command,
        "codex --config features.daemon_auto_start=false --sandbox workspace-write --config sandbox_workspace_write.network_access=true"
    );
    assert!(plan.guard);
    let bare = fixture.plan(&bare(&["feat/a"])).unwrap();
    assert_eq!(bare.agents[0].command, "claude", "without a supervisor only the user approves");
}

#[test]
fn receipt_of_a_plan_contains_everything_a_recovery_needs() {
    let mut fixture = PlanFixture::new();
    fixture.config.mouse = Some(false);
    fixture.config.tmux.socket = Some("paw".into());
    fixture.config.logging = Some(paw_core::config::LoggingConfig { enabled: true, ..Default::default() });
    let receipt =
        fixture.plan(&supervised(&["feat/a"])).unwrap().receipt("2025-01-15T10:30:00Z".parse().unwrap());
    assert_eq!((receipt.broker_port, receipt.broker_bind.as_deref()), (Some(9119), Some("127.0.0.1")));
    assert_eq!(receipt.dashboard_pane, Some(1));
    assert_eq!((receipt.mouse, receipt.tmux_socket.as_deref()), (false, Some("paw")));
    assert_eq!(receipt.log_dir.as_deref(), Some(Path::new("/code/app/.git-paw/logs")));
    assert_eq!(receipt.worktrees[0].agent_id.as_ref().unwrap().as_str(), "feat-a");
    assert_eq!(receipt.worktrees[0].command.as_deref(), Some("claude"));
    assert!(receipt.supervisor.is_some_and(|supervisor| supervisor.command.starts_with("codex")));
}

#[test]
fn plan_refuses_twenty_six_agents_with_a_supervisor() {
    let names: Vec<_> = (0..26).map(|number| format!("feat/{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let error = PawError::from(PlanFixture::new().plan(&supervised(&names)).unwrap_err()).to_string();
    assert!(error.contains("26") && error.contains("25") && error.contains("--branches <subset>"), "{error}");
    assert!(PlanFixture::new().plan(&bare(&names)).is_ok());
}

#[test]
fn plan_refuses_an_unknown_cli_by_name() {
    let mut request = bare(&["feat/a"]);
    request.agents[0].cli = "unknown".into();
    let error = PawError::from(PlanFixture::new().plan(&request).unwrap_err());
    assert_eq!(error.report(), PawError::CliNotFound("unknown".into()).report());
    let request = StartRequest { supervisor: Some("unknown".into()), ..bare(&["feat/a"]) };
    assert_eq!(PlanFixture::new().plan(&request).unwrap_err(), PlanError::UnknownCli("unknown".into()));
}

#[test]
fn plan_refuses_the_branch_of_the_main_checkout() {
    let error = PlanFixture::new().refusal(&["feat/a", "main"]);
    assert!(error.contains("'main'") && error.contains("your main checkout /code/app"), "{error}");
}

#[test]
fn plan_refuses_two_agents_on_one_branch() {
    assert!(PlanFixture::new().refusal(&["feat/a", "feat/b", "feat/a"]).contains("'feat/a' was given twice"));
}

#[test]
fn plan_refuses_branches_that_git_cannot_store_together() {
    let mut fixture = PlanFixture::new();
    assert!(fixture.refusal(&["feat", "feat/a"]).contains("conflicts with"));
    fixture.branches.push(branch("fix/x"));
    assert!(fixture.refusal(&["fix"]).contains("'fix/x'"));
    assert!(fixture.plan(&bare(&["fix/x", "fix/xy"])).is_ok());
}

#[test]
fn plan_refuses_a_branch_checked_out_elsewhere() {
    let mut fixture = PlanFixture::new();
    fixture.worktrees.push(listed("/elsewhere", "feat/a"));
    fixture.existing = vec!["/elsewhere".into()];
    assert!(fixture.refusal(&["feat/a"]).contains("/elsewhere"));
    fixture.existing.clear();
    assert!(fixture.plan(&bare(&["feat/a"])).is_ok(), "its directory is gone");
}

#[test]
fn plan_accepts_the_branchs_existing_worktree() {
    let mut fixture = PlanFixture::new();
    fixture.worktrees.push(listed("/code/app-feat-a", "feat/a"));
    fixture.existing = vec!["/code/app-feat-a".into()];
    assert!(fixture.plan(&bare(&["feat/a"])).is_ok());
}

#[test]
fn plan_refuses_an_existing_directory() {
    let mut fixture = PlanFixture::new();
    fixture.existing = vec!["/code/app-feat-a".into()];
    assert!(fixture.refusal(&["feat/a"]).contains("'/code/app-feat-a' already exists"));
}

#[test]
fn plan_refuses_two_branches_with_one_directory() {
    let error = PlanFixture::new().refusal(&["feat/a", "feat-a"]);
    assert!(error.contains("'feat/a'") && error.contains("'feat-a'"), "{error}");
}

#[test]
fn plan_refuses_a_request_without_agents() {
    assert!(PlanFixture::new().refusal(&[]).contains("nothing to start"));
}

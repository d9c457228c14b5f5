use paw_agent::detect::CliSource;
use paw_core::PawError;
use paw_host::git::Head;

use super::*;

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

/// The repository `/code/app` on `main`, with claude and codex.
struct Place {
    repo: Repo,
    config: PawConfig,
    clis: Vec<CliInfo>,
    hooks: HookEnvironment,
    worktrees: Vec<GitWorktree>,
    branches: Vec<BranchName>,
    existing: Vec<PathBuf>,
    taken: Vec<&'static str>,
}

impl Place {
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
    let wanted = |name: &&str| AgentRequest { branch: branch(name), cli: "claude".into(), spec: None };
    StartRequest {
        agents: branches.iter().map(wanted).collect(),
        supervisor: None,
        unattended: false,
        rebase: true,
    }
}

fn supervised(branches: &[&str]) -> StartRequest {
    StartRequest { supervisor: Some("codex".into()), ..bare(branches) }
}

#[test]
fn session_named_after_project() {
    assert_eq!(Place::new().plan(&bare(&["feat/a"])).unwrap().session.as_str(), "paw-app");
}

#[test]
fn collision_appends_numeric_suffix() {
    let mut place = Place::new();
    place.taken = vec!["paw-app", "paw-app-2"];
    assert_eq!(place.plan(&bare(&["feat/a"])).unwrap().session.as_str(), "paw-app-3");
}

#[test]
fn an_unattended_plan_has_a_broker_and_the_approval_level_of_a_supervised_one() {
    let mut place = Place::new();
    let supervisor = SupervisorConfig { agent_approval: Approval::FullAuto, ..SupervisorConfig::default() };
    place.config.supervisor = Some(supervisor);
    let command = |plan: &SessionPlan| plan.agents[0].command.clone();
    let bare = bare(&["feat/a"]);
    assert_eq!(command(&place.plan(&bare).unwrap()), "claude");
    let plan = place.plan(&StartRequest { unattended: true, ..bare }).unwrap();
    assert_eq!(command(&plan), "claude --dangerously-skip-permissions");
    assert!(plan.unattended && plan.broker.is_some());
    assert_eq!(plan.guard, place.plan(&supervised(&["feat/a"])).unwrap().guard);
}

#[test]
fn the_planned_line_has_hooks_only_with_a_broker() {
    let mut place = Place::new();
    let mut request = bare(&["feat/a"]);
    request.agents[0].cli = "opencode".into();
    assert_eq!(place.plan(&request).unwrap().agents[0].command, "opencode");
    place.config.broker.enabled = true;
    assert_eq!(
        place.plan(&request).unwrap().agents[0].command,
        r#"env 'OPENCODE_CONFIG_CONTENT={"plugin":["file:///code/app/.git/paw-opencode-plugin.js"]}' opencode"#
    );
}

#[test]
fn every_agent_has_an_id_a_directory_and_a_line() {
    let plan = Place::new().plan(&bare(&["feat/a", "Feat_B"])).unwrap();
    let parts =
        |agent: &AgentPlan| (agent.id.to_string(), agent.dir.display().to_string(), agent.command.clone());
    let agents: Vec<_> = plan.agents.iter().map(parts).collect();
    let expected = [("feat-a", "/code/app-feat-a"), ("feat_b", "/code/app-Feat_B")];
    assert_eq!(agents, expected.map(|(id, dir)| (id.to_owned(), dir.to_owned(), "claude".to_owned())));
    assert_eq!((plan.mode(), plan.broker), (SessionMode::Bare, None));
}

#[test]
fn supervisor_mode_implies_the_broker_and_the_configured_approvals() {
    let mut place = Place::new();
    let config = SupervisorConfig {
        agent_approval: Approval::FullAuto,
        approval: Some(Approval::Manual),
        ..SupervisorConfig::default()
    };
    place.config.supervisor = Some(config);
    let plan = place.plan(&supervised(&["feat/a"])).unwrap();
    assert_eq!(plan.mode(), SessionMode::Supervisor);
    assert_eq!(plan.broker.as_ref().unwrap().port, 9119);
    assert_eq!(plan.agents[0].command, "claude --dangerously-skip-permissions");
    assert_eq!(plan.supervisor.as_ref().unwrap().command, "codex");
    assert!(plan.guard);
    let bare = place.plan(&bare(&["feat/a"])).unwrap();
    assert_eq!(bare.agents[0].command, "claude", "without a supervisor nobody but the user approves");
}

#[test]
fn the_receipt_of_a_plan_holds_everything_that_is_needed_to_build_it_again() {
    let mut place = Place::new();
    place.config.mouse = Some(false);
    place.config.tmux.socket = Some("paw".into());
    place.config.logging = Some(paw_core::config::LoggingConfig { enabled: true, ..Default::default() });
    let receipt =
        place.plan(&supervised(&["feat/a"])).unwrap().receipt("2025-01-15T10:30:00Z".parse().unwrap());
    assert_eq!((receipt.broker_port, receipt.broker_bind.as_deref()), (Some(9119), Some("127.0.0.1")));
    assert_eq!(receipt.dashboard_pane, Some(1));
    assert_eq!((receipt.mouse, receipt.tmux_socket.as_deref()), (false, Some("paw")));
    assert_eq!(receipt.log_dir.as_deref(), Some(Path::new("/code/app/.git-paw/logs")));
    assert_eq!(receipt.worktrees[0].agent_id.as_ref().unwrap().as_str(), "feat-a");
    assert_eq!(receipt.worktrees[0].command.as_deref(), Some("claude"));
    assert!(receipt.supervisor.is_some_and(|supervisor| supervisor.command.starts_with("codex")));
}

#[test]
fn twenty_six_agents_are_refused_before_anything_else_in_supervisor_mode() {
    let names: Vec<_> = (0..26).map(|number| format!("feat/{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let error = PawError::from(Place::new().plan(&supervised(&names)).unwrap_err()).to_string();
    assert!(error.contains("26") && error.contains("25") && error.contains("--branches <subset>"), "{error}");
    assert!(Place::new().plan(&bare(&names)).is_ok());
}

#[test]
fn a_cli_that_was_not_found_is_named() {
    let mut request = bare(&["feat/a"]);
    request.agents[0].cli = "nobody".into();
    let error = PawError::from(Place::new().plan(&request).unwrap_err());
    assert_eq!(error.report(), PawError::CliNotFound("nobody".into()).report());
    let request = StartRequest { supervisor: Some("nobody".into()), ..bare(&["feat/a"]) };
    assert_eq!(Place::new().plan(&request).unwrap_err(), PlanError::UnknownCli("nobody".into()));
}

#[test]
fn the_branch_of_the_users_own_checkout_is_refused_by_name() {
    let error = Place::new().refusal(&["feat/a", "main"]);
    assert!(error.contains("'main'") && error.contains("your main checkout /code/app"), "{error}");
}

#[test]
fn two_agents_on_one_branch_are_refused() {
    assert!(Place::new().refusal(&["feat/a", "feat/b", "feat/a"]).contains("'feat/a' was given twice"));
}

#[test]
fn branches_that_git_cannot_hold_side_by_side_are_refused() {
    let mut place = Place::new();
    assert!(place.refusal(&["feat", "feat/a"]).contains("conflicts with"));
    place.branches.push(branch("fix/x"));
    assert!(place.refusal(&["fix"]).contains("'fix/x'"));
    assert!(place.plan(&bare(&["fix/x", "fix/xy"])).is_ok());
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused_with_the_place() {
    let mut place = Place::new();
    place.worktrees.push(listed("/elsewhere", "feat/a"));
    place.existing = vec!["/elsewhere".into()];
    assert!(place.refusal(&["feat/a"]).contains("/elsewhere"));
    place.existing.clear();
    assert!(place.plan(&bare(&["feat/a"])).is_ok(), "its directory is gone");
}

#[test]
fn an_earlier_sessions_worktree_is_the_branchs_own() {
    let mut place = Place::new();
    place.worktrees.push(listed("/code/app-feat-a", "feat/a"));
    place.existing = vec!["/code/app-feat-a".into()];
    assert!(place.plan(&bare(&["feat/a"])).is_ok());
}

#[test]
fn a_directory_that_is_something_else_is_refused() {
    let mut place = Place::new();
    place.existing = vec!["/code/app-feat-a".into()];
    assert!(place.refusal(&["feat/a"]).contains("/code/app-feat-a exists"));
}

#[test]
fn two_branches_with_one_directory_are_refused() {
    let error = Place::new().refusal(&["feat/a", "feat-a"]);
    assert!(error.contains("'feat/a'") && error.contains("'feat-a'"), "{error}");
}

#[test]
fn nobody_to_start_is_said() {
    assert!(Place::new().refusal(&[]).contains("nothing to start"));
}

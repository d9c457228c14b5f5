//! A temporary repository, registry, receipts directory and tmux server.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_agent::detect::{CliInfo, CliSource};
use paw_agent::hooks::HookEnvironment;
use paw_core::config::PawConfig;
use paw_core::{BranchName, PawError, Receipt, SessionName};
use paw_host::git::Repo;
use paw_host::tmux::{Tmux, TmuxCommand};
use paw_session::Receipts;
use paw_session::launch::{
    self, BriefingContext, LaunchError, LaunchOptions, LaunchServices, LaunchedSession,
};
use paw_session::plan::{self, AgentRequest, PlanContext, SessionPlan, StartRequest};
use paw_session::recover::{self, RecoveryContext, RunningSessions};
use paw_testkit::{TestRepo, wait_until};
use paw_worktree::{Preparation, Worktrees};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) repo: TestRepo,
    pub(crate) config: PawConfig,
    pub(crate) worktrees: Worktrees,
    pub(crate) receipts: Receipts,
    pub(crate) tmux: Tmux,
    /// Replaces the git-paw executable in panes.
    pub(crate) program: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.tmux.run(&TmuxCommand::new("kill-server"));
    }
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("paw-session-").tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let socket = format!("paw-session-{name}-{}", std::process::id());
        let program = root.join("git-paw");
        let ready = "[ \"$1\" != __session ] || { echo '{\"ready\": true}'; exit; }";
        script(&program, &format!("#!/bin/sh\n{ready}\necho \"dashboard in $PWD\"\nexec sleep 600\n"));
        script(&root.join("agent"), "#!/bin/sh\necho \"agent in $PWD with $*.\"\nexec sleep 600\n");
        let mut config = PawConfig::default();
        config.tmux.socket = Some(socket.clone());
        config.broker.port = 0;
        let tmux = Tmux::on_socket(Some(socket));
        use_plain_shells(&tmux);
        Self {
            repo: TestRepo::init(root.join("app")),
            worktrees: Worktrees::open(&root.join("data")).unwrap(),
            receipts: Receipts::at(root.join("data/sessions")),
            tmux,
            config,
            program,
            dir,
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn services(&self) -> LaunchServices<'_> {
        LaunchServices {
            worktrees: &self.worktrees,
            receipts: &self.receipts,
            tmux: &self.tmux,
            program: &self.program,
        }
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover(&self.repo.root).unwrap()
    }

    /// A plan of agents that all run the program `agent`.
    pub(crate) fn plan(&self, branches: &[&str], supervised: bool) -> Result<SessionPlan, PawError> {
        let cli = CliInfo {
            binary_name: "agent".into(),
            display_name: "Agent".into(),
            source: CliSource::Custom,
            path: self.root().join("agent"),
            launcher: None,
        };
        let mut config = self.config.clone();
        let own = paw_core::config::CliConfig {
            command: self.root().join("agent").display().to_string(),
            display_name: None,
            submit_delay_ms: None,
            settings_path: None,
            approval_args: None,
        };
        config.clis.insert("agent".into(), own);
        let repo = self.repo();
        let git = repo.git();
        let site = PlanContext {
            repo: &repo,
            config: &config,
            clis: &[cli],
            hooks: &HookEnvironment::load(&self.program),
            worktrees: &git.worktrees()?,
            branches: &git.local_branches()?,
        };
        let wanted = |name: &&str| AgentRequest {
            branch: branch(name),
            cli: "agent".into(),
            spec: None,
            task: None,
            host: None,
        };
        let request = StartRequest {
            has_remote: false,
            agents: branches.iter().map(wanted).collect(),
            supervisor: supervised.then(|| "agent".to_owned()),
            unattended: false,
            has_hub_supervisor: false,
            rebase: true,
        };
        let running = RunningSessions::load(&self.tmux).unwrap();
        let listing = self.receipts.all()?;
        let taken = |name: &SessionName| running.has_name(name) || listing.has_name(name);
        Ok(plan::plan(&request, &site, taken, Path::exists)?)
    }

    pub(crate) fn launch(&self, plan: &SessionPlan) -> Result<LaunchedSession, LaunchError> {
        self.launch_with(plan, &Preparation::default())
    }

    pub(crate) fn launch_with(
        &self,
        plan: &SessionPlan,
        preparation: &Preparation,
    ) -> Result<LaunchedSession, LaunchError> {
        let lock = launch::lock(&self.repo(), || {}).unwrap();
        let options = LaunchOptions {
            config: &self.config,
            config_dir: &self.root().join("config"),
            preparation,
            lock: &lock,
            now: now(),
        };
        launch::launch(self.services(), plan, options, &|_| {})
    }

    /// Starts a session.
    pub(crate) fn start(&self, branches: &[&str], supervised: bool) -> Receipt {
        self.launch(&self.plan(branches, supervised).unwrap()).unwrap().receipt
    }

    pub(crate) fn running(&self) -> RunningSessions {
        RunningSessions::load(&self.tmux).unwrap()
    }

    pub(crate) fn recover(&self, receipt: &Receipt) -> Result<LaunchedSession, LaunchError> {
        let (repo, config_dir) = (self.repo(), self.root().join("config"));
        let briefings =
            BriefingContext { repo: &repo, config: &self.config, config_dir: &config_dir, spec: &|_| None };
        let lock = launch::lock(&repo, || {}).unwrap();
        let context = RecoveryContext {
            repo: &repo,
            briefings,
            broker: &self.config.broker,
            placement: self.config.worktree_placement(),
            guard: false,
            running: &self.running(),
            lock: &lock,
            now: now(),
        };
        recover::recover(self.services(), receipt, context)
    }

    /// The marks and directories of a session's panes.
    pub(crate) fn panes(&self, session: &SessionName) -> Vec<(String, PathBuf)> {
        let marks = self.tmux.panes_with(session, "@paw_agent").unwrap();
        let panes = self.tmux.panes(session).unwrap();
        marks.into_iter().zip(panes).map(|((_, mark), pane)| (mark, pane.current_path)).collect()
    }

    /// Waits until the pane of `mark` shows `text`.
    pub(crate) fn wait_for(&self, session: &SessionName, mark: &str, text: &str) {
        wait_until(&format!("{mark} shows {text:?}"), || {
            let marks = self.tmux.panes_with(session, "@paw_agent").unwrap();
            let (id, _) = marks.into_iter().find(|(_, found)| found == mark)?;
            let shown = self.tmux.capture_pane(&id).unwrap().replace('\n', "");
            shown.contains(text).then_some(())
        });
    }

    /// All files of the world, except git's and our history.
    pub(crate) fn beside_the_repository(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("app"))
            .collect();
        names.sort();
        names
    }
}

/// Starts a tmux server whose shells do not read the user's startup files.
pub(crate) fn use_plain_shells(tmux: &Tmux) {
    let keeper = TmuxCommand::new("new-session").args(["-d", "-s", "keeper", "-x", "80", "-y", "24", "sh"]);
    let plain = TmuxCommand::new("set-option").args(["-g", "default-command", "sh"]);
    tmux.run_batch(&[keeper, plain].into_iter().collect()).unwrap();
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

pub(crate) fn now() -> Timestamp {
    paw_host::clock::now()
}

pub(crate) fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

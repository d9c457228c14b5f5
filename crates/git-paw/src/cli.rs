//! The command line. Each command's flags and help are in its own file.

use clap::{ArgAction, Parser, Subcommand};

use crate::command::{
    add::AddArgs,
    add_cli::AddCliArgs,
    approvals::ApprovalsArgs,
    approve::{ApproveArgs, DenyArgs},
    attach::AttachArgs,
    audit::AuditArgs,
    autopilot::{AutopilotArgs, ExecutorPaneArgs},
    cluster::ClusterArgs,
    commit_signal::CommitSignalArgs,
    complete::CompleteArgs,
    completions::CompletionsArgs,
    daemon::DaemonArgs,
    dashboard::DashboardArgs,
    demo::{DemoArgs, agent::DemoAgentArgs},
    diff::DiffArgs,
    doctor::DoctorArgs,
    exec_script::ExecScriptArgs,
    explain::ExplainArgs,
    follow::FollowArgs,
    help::HelpArgs,
    hook::HookArgs,
    host::HostArgs,
    host_side::HostSideArgs,
    inbox::InboxArgs,
    init::InitArgs,
    list_clis::ListClisArgs,
    log_pane::LogPaneArgs,
    man::ManArgs,
    mcp::McpArgs,
    merge::MergeArgs,
    move_agent::MoveArgs,
    next::NextArgs,
    pause::PauseArgs,
    proof::ProofArgs,
    purge::PurgeArgs,
    remove::RemoveArgs,
    remove_cli::RemoveCliArgs,
    replay::ReplayArgs,
    report::ReportArgs,
    restart_agent::RestartAgentArgs,
    say::SayArgs,
    serve::ServeArgs,
    session_process::SessionProcessArgs,
    shell_init::ShellInitArgs,
    start::StartArgs,
    status::StatusArgs,
    stop::StopArgs,
    sweep::SweepArgs,
    tasks::TasksArgs,
    tell::TellArgs,
    terminal::TerminalArgs,
    trust::TrustArgs,
    undo::UndoArgs,
    verify::VerifyArgs,
    web::WebArgs,
    worktree::WorktreeArgs,
};

const QUICK_START: &str = "\
Quick start:
  git paw init              configure this repository: AI CLI, test command, messages
  git paw start             start a session: a worktree, a pane and an AI CLI per branch
  git paw next              go to the agent that has waited longest for you
  git paw attach AGENT      go to any agent
  git paw diff AGENT        show what an agent has changed
  git paw approve AGENT     approve what an agent asks for ('deny' refuses it)
  git paw add BRANCH        add an agent; --prompt gives it a task
  git paw merge             merge the branches that pass your tests
  git paw status            show the session
  git paw web               show the session in a browser
  git paw pause             detach; the CLIs keep running
  git paw stop              stop the CLIs; keep the worktrees
  git paw purge             remove the session and its worktrees; unsaved work is kept
  git paw doctor            check git, tmux, AI CLIs, gates and configuration
  git paw demo              watch a session in a scratch repository
  git paw help              list all commands and the chapters of the guide";

/// Run several AI coding CLIs on one repository, each in its own worktree and pane
#[derive(Debug, Parser)]
#[command(name = "git-paw", bin_name = "git paw", version, disable_help_subcommand = true, after_help = QUICK_START)]
pub(crate) struct Cli {
    /// Log the commands git paw runs to stderr (-vv: everything); same as GIT_PAW_LOG=debug
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// The hub of a session on several machines that runs this command here
    #[arg(long, hide = true)]
    pub(crate) hub: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Start(StartArgs),
    Attach(AttachArgs),
    Next(NextArgs),
    Diff(DiffArgs),
    Status(StatusArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
    Move(MoveArgs),
    Pause(PauseArgs),
    Stop(StopArgs),
    Purge(PurgeArgs),
    Replay(ReplayArgs),
    Report(ReportArgs),
    // Panes of sessions that an older version started call it by its old name.
    #[command(name = "__restart-agent", alias = "__anew", hide = true)]
    RestartAgent(RestartAgentArgs),
    #[command(name = "__as", hide = true)]
    ExecScript(ExecScriptArgs),
    #[command(name = "__follow", hide = true)]
    Follow(FollowArgs),
    #[command(name = "__terminal", hide = true)]
    Terminal(TerminalArgs),
    #[command(name = "__log-pane", hide = true)]
    LogPane(LogPaneArgs),
    Init(InitArgs),
    ListClis(ListClisArgs),
    AddCli(AddCliArgs),
    RemoveCli(RemoveCliArgs),
    Worktree(WorktreeArgs),
    Undo(UndoArgs),
    Tasks(TasksArgs),
    Autopilot(AutopilotArgs),
    #[command(name = "__executor-pane", hide = true)]
    ExecutorPane(ExecutorPaneArgs),
    Trust(TrustArgs),
    Approve(ApproveArgs),
    Deny(DenyArgs),
    Approvals(ApprovalsArgs),
    Verify(VerifyArgs),
    Audit(AuditArgs),
    Merge(MergeArgs),
    Proof(ProofArgs),
    Host(HostArgs),
    Cluster(ClusterArgs),
    #[command(name = "__host", hide = true)]
    HostSide(HostSideArgs),
    Say(SayArgs),
    Inbox(InboxArgs),
    Tell(TellArgs),
    Sweep(SweepArgs),
    Serve(ServeArgs),
    Dashboard(DashboardArgs),
    Web(WebArgs),
    /// Show the dashboard in a session's pane
    #[command(name = "__dashboard", hide = true)]
    SessionDashboard,
    #[command(name = "__session", hide = true)]
    SessionProcess(SessionProcessArgs),
    #[command(name = "__commit-signal", hide = true)]
    CommitSignal(CommitSignalArgs),
    Daemon(DaemonArgs),
    Mcp(McpArgs),
    Doctor(DoctorArgs),
    Explain(ExplainArgs),
    #[command(hide = true)]
    Hook(HookArgs),
    Completions(CompletionsArgs),
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    ShellInit(ShellInitArgs),
    Man(ManArgs),
    Demo(DemoArgs),
    Help(HelpArgs),
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent(DemoAgentArgs),
}

impl Cli {
    /// Whether this process writes its own log.
    pub(crate) fn has_own_log(&self) -> bool {
        match &self.command {
            Some(Command::Daemon(args)) => args.runs_the_daemon(),
            Some(Command::SessionProcess(args)) => !args.ensure,
            _ => false,
        }
    }

    /// Whether the command draws on the whole terminal.
    pub(crate) fn draws_screen(&self) -> bool {
        matches!(self.command, Some(Command::Dashboard(_) | Command::SessionDashboard))
    }

    /// Whether stdout must be exactly one JSON document.
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            Some(Command::Start(args)) => args.wants_json(),
            Some(Command::ListClis(args)) => args.json,
            Some(Command::Status(args)) => args.json,
            Some(Command::Next(args)) => args.json,
            Some(Command::Diff(args)) => args.json,
            Some(Command::Approve(args)) => args.json,
            Some(Command::Deny(args)) => args.json,
            Some(Command::Replay(args)) => args.json,
            Some(Command::Report(args)) => args.json,
            Some(Command::Doctor(args)) => args.json,
            Some(Command::Worktree(args)) => args.wants_json(),
            Some(Command::Undo(args)) => args.wants_json(),
            Some(Command::Tasks(args)) => args.wants_json(),
            Some(Command::Autopilot(args)) => args.wants_json(),
            Some(Command::Trust(args)) => args.json,
            Some(Command::Daemon(args)) => args.wants_json(),
            Some(Command::Explain(args)) => args.json,
            Some(Command::Approvals(args)) => args.wants_json(),
            Some(Command::Verify(args)) => args.json,
            Some(Command::Audit(args)) => args.json,
            Some(Command::Merge(args)) => args.json,
            Some(Command::Proof(args)) => args.wants_json(),
            Some(Command::Host(args)) => args.wants_json(),
            Some(Command::Cluster(args)) => args.wants_json(),
            Some(Command::Say(args)) => args.json,
            Some(Command::Inbox(args)) => args.json,
            Some(Command::Tell(args)) => args.json,
            Some(Command::Sweep(args)) => args.json,
            Some(Command::Web(args)) => args.json,
            Some(Command::SessionProcess(args)) => !args.ensure,
            Some(
                Command::Attach(_)
                | Command::HostSide(_)
                | Command::Add(_)
                | Command::Remove(_)
                | Command::Move(_)
                | Command::Pause(_)
                | Command::Stop(_)
                | Command::Purge(_)
                | Command::Follow(_)
                | Command::Terminal(_)
                | Command::LogPane(_)
                | Command::ExecutorPane(_)
                | Command::RestartAgent(_)
                | Command::ExecScript(_)
                | Command::Init(_)
                | Command::AddCli(_)
                | Command::RemoveCli(_)
                | Command::Serve(_)
                | Command::Dashboard(_)
                | Command::SessionDashboard
                | Command::CommitSignal(_)
                | Command::Mcp(_)
                | Command::Hook(_)
                | Command::Completions(_)
                | Command::Complete(_)
                | Command::ShellInit(_)
                | Command::Demo(_)
                | Command::Help(_)
                | Command::Man(_)
                | Command::DemoAgent(_),
            )
            | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(["git-paw"].iter().chain(args))
    }

    fn command(args: &[&str]) -> Command {
        parse(args).unwrap().command.unwrap()
    }

    #[test]
    fn the_clap_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_arguments_yields_none_command() {
        assert!(parse(&[]).unwrap().command.is_none());
    }

    #[test]
    fn dashboard_subcommand_parses() {
        assert!(matches!(command(&["__dashboard"]), Command::SessionDashboard));
    }

    #[test]
    fn dashboard_does_not_appear_in_help() {
        assert!(!Cli::command().render_long_help().to_string().contains("__dashboard"));
    }

    #[test]
    fn list_clis_parses() {
        assert!(matches!(command(&["list-clis"]), Command::ListClis(ListClisArgs { json: false })));
    }

    #[test]
    fn init_parses() {
        assert!(matches!(command(&["init"]), Command::Init(_)));
    }

    #[test]
    fn add_cli_with_required_arguments_only() {
        let Command::AddCli(args) = command(&["add-cli", "my-agent", "/usr/local/bin/my-agent"]) else {
            panic!()
        };
        assert_eq!((args.name.as_str(), args.command.as_str()), ("my-agent", "/usr/local/bin/my-agent"));
        assert_eq!(args.display_name, None);
    }

    #[test]
    fn add_cli_with_display_name() {
        let args = ["add-cli", "my-agent", "my-agent", "--display-name", "My Agent"];
        let Command::AddCli(args) = command(&args) else { panic!() };
        assert_eq!(args.display_name.as_deref(), Some("My Agent"));
    }

    #[test]
    fn add_cli_missing_required_arguments_is_rejected() {
        assert_eq!(parse(&["add-cli"]).unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn remove_cli_parses() {
        let Command::RemoveCli(args) = command(&["remove-cli", "my-agent"]) else { panic!() };
        assert_eq!(args.name, "my-agent");
    }

    #[test]
    fn status_and_pause_parse() {
        assert!(matches!(command(&["status"]), Command::Status(StatusArgs { json: false })));
        assert!(matches!(command(&["pause"]), Command::Pause(PauseArgs {})));
        assert_eq!(parse(&["pause", "--anything"]).unwrap_err().kind(), ErrorKind::UnknownArgument);
    }

    #[test]
    fn stop_parses_with_and_without_force() {
        assert!(matches!(command(&["stop"]), Command::Stop(StopArgs { force: false })));
        assert!(matches!(command(&["stop", "--force"]), Command::Stop(StopArgs { force: true })));
    }

    #[test]
    fn purge_without_and_with_force() {
        assert!(matches!(command(&["purge"]), Command::Purge(PurgeArgs { force: false, .. })));
        assert!(matches!(command(&["purge", "--force"]), Command::Purge(PurgeArgs { force: true, .. })));
    }

    #[test]
    fn replay_parses_a_branch_or_a_list() {
        let replay = |args: &[&str]| match command(&[&["replay"], args].concat()) {
            Command::Replay(args) => (args.branch, args.list, args.color, args.session),
            other => panic!("{other:?}"),
        };
        let branch = Some("feat/add-auth".to_owned());
        assert_eq!(replay(&["feat/add-auth"]), (branch.clone(), false, false, None));
        assert_eq!(replay(&["--list"]), (None, true, false, None));
        assert_eq!(replay(&["feat/add-auth", "--color"]), (branch.clone(), false, true, None));
        let session = Some("paw-myproject".to_owned());
        assert_eq!(replay(&["feat/add-auth", "--session", "paw-myproject"]), (branch, false, false, session));
        assert_eq!(parse(&["replay"]).unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn add_takes_a_branch_or_a_spec() {
        assert!(matches!(command(&["add", "feat/x", "--cli", "codex"]), Command::Add(_)));
        assert!(matches!(command(&["add", "--from-spec", "x"]), Command::Add(_)));
        assert_eq!(parse(&["add"]).unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
        let both = parse(&["add", "feat/x", "--from-spec", "x"]).unwrap_err();
        assert_eq!(both.kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn version_flag_is_accepted() {
        assert_eq!(parse(&["--version"]).unwrap_err().kind(), ErrorKind::DisplayVersion);
    }

    #[test]
    fn help_flag_is_accepted() {
        assert_eq!(parse(&["--help"]).unwrap_err().kind(), ErrorKind::DisplayHelp);
    }

    #[test]
    fn unknown_subcommand_is_rejected() {
        assert_eq!(parse(&["dance"]).unwrap_err().kind(), ErrorKind::InvalidSubcommand);
    }
}

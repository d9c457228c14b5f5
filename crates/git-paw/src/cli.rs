//! What can be typed. Each command's flags and help sit in its own file.

use clap::{ArgAction, Parser, Subcommand};

use crate::command::{
    add_cli::AddCliArgs, commit_signal::CommitSignalArgs, completions::CompletionsArgs, daemon::DaemonArgs,
    dashboard::DashboardArgs, demo::DemoArgs, demo_agent::DemoAgentArgs, doctor::DoctorArgs,
    inbox::InboxArgs, list_clis::ListClisArgs, remove_cli::RemoveCliArgs, say::SayArgs, serve::ServeArgs,
    shell_init::ShellInitArgs, trust::TrustArgs, undo::UndoArgs, worktree::WorktreeArgs,
};

const QUICK_START: &str = "\
Quick start:
  git paw doctor            check git, tmux, AI CLIs and configuration
  git paw init              write a commented configuration for this repository
  git paw list-clis         show the AI CLIs that were found
  git paw worktree create   a worktree for a branch, made in one step or not at all
  git paw serve             carry messages between agents, and warn them before they collide
  git paw undo              get back what a removal has kept for you
  git paw demo              see worktrees and panes at work, in a scratch repository";

/// Several AI coding CLIs on one repository: a worktree and a pane for each.
#[derive(Debug, Parser)]
#[command(name = "git-paw", bin_name = "git paw", version, after_help = QUICK_START)]
pub(crate) struct Cli {
    /// Tell on stderr which programs are run (twice: everything); GIT_PAW_LOG=debug does the same
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a session (not in this version yet)
    Start,
    /// Prepare this repository: write a commented configuration and ignore rules
    ///
    /// Creates .git-paw/config.toml with every key, its help and its default, all commented out. A file that is
    /// there already is only added to: keys it lacks are appended as comments, nothing in it is changed. Running
    /// it again changes nothing.
    #[command(after_help = "Examples:\n  git paw init\n  git paw init && $EDITOR .git-paw/config.toml")]
    Init,
    ListClis(ListClisArgs),
    AddCli(AddCliArgs),
    RemoveCli(RemoveCliArgs),
    Worktree(WorktreeArgs),
    Undo(UndoArgs),
    Trust(TrustArgs),
    Say(SayArgs),
    Inbox(InboxArgs),
    Serve(ServeArgs),
    Dashboard(DashboardArgs),
    /// The session's own process, in its pane
    #[command(name = "__dashboard", hide = true)]
    SessionDashboard,
    #[command(name = "__commit-signal", hide = true)]
    CommitSignal(CommitSignalArgs),
    Daemon(DaemonArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    ShellInit(ShellInitArgs),
    Demo(DemoArgs),
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent(DemoAgentArgs),
}

impl Cli {
    /// Whether this process says what it does in a log of its own.
    pub(crate) fn keeps_a_log(&self) -> bool {
        matches!(&self.command, Some(Command::Daemon(args)) if args.is_the_daemon())
    }

    /// Whether stdout has to hold exactly one JSON document.
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            Some(Command::ListClis(args)) => args.json,
            Some(Command::Doctor(args)) => args.json,
            Some(Command::Worktree(args)) => args.wants_json(),
            Some(Command::Undo(args)) => args.wants_json(),
            Some(Command::Trust(args)) => args.json,
            Some(Command::Daemon(args)) => args.wants_json(),
            Some(Command::Say(args)) => args.json,
            Some(Command::Inbox(args)) => args.json,
            Some(
                Command::Start
                | Command::Init
                | Command::AddCli(_)
                | Command::RemoveCli(_)
                | Command::Serve(_)
                | Command::Dashboard(_)
                | Command::SessionDashboard
                | Command::CommitSignal(_)
                | Command::Completions(_)
                | Command::ShellInit(_)
                | Command::Demo(_)
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
    fn the_definition_is_sound() {
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
        assert!(matches!(command(&["init"]), Command::Init));
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

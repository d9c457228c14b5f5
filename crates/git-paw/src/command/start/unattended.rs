//! `git paw start --unattended`: starts a session and watches it until all agents have finished.

mod show;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;
use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::error::EXIT_CANCELLED;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;
use paw_supervisor::gates::GateChecks;
use paw_supervisor::unattended::{self, UnattendedEnd, UnattendedOptions};

use super::StartArgs;
use crate::approval::{self, Consent};
use crate::context::Context;
use crate::remote_worktrees::HostWorktrees;

/// Flags of an unattended session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(super) struct UnattendedArgs {
    /// Watch the session until all agents finish; verify their work and have failures fixed
    ///
    /// This command replaces the supervisor. It approves harmless commands and parks everything else for you. The exit
    /// code is 0 if all work is verified (and merged, with --merge), 1 if something failed or is parked, 2 if nothing was
    /// started, 3 if the time limit was reached, and 130 after Ctrl+C. The session keeps running; run this command again
    /// to keep watching.
    #[arg(long, conflicts_with = "supervisor")]
    unattended: bool,
    /// Time limit of an unattended session, such as 90m or 1h30m [default: 4h]
    #[arg(long, value_name = "TIME", requires = "unattended", value_parser = time_limit)]
    time_limit: Option<Duration>,
    /// Fix attempts per agent [default: 2]
    #[arg(long, value_name = "TIMES", requires = "unattended", value_parser = clap::value_parser!(u32).range(0..=20))]
    chances: Option<u32>,
    /// Merge verified branches into the main branch at the end, testing each first
    #[arg(long, requires = "unattended")]
    merge: bool,
    /// Print one JSON document at the end
    #[arg(long, requires = "unattended")]
    pub(crate) json: bool,
}

const DEFAULT_TIME_LIMIT: Duration = Duration::from_hours(4);
const DEFAULT_FIX_ATTEMPTS: u32 = 2;
/// The time limit was reached before all agents had finished.
const EXIT_TIMED_OUT: u8 = 3;
/// The exit code that shells use for Ctrl+C.
const EXIT_INTERRUPTED: u8 = 130;

fn time_limit(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration =
        text.parse().map_err(|_| "not a duration; examples: 90m, 4h, 1h30m".to_owned())?;
    match Duration::try_from(parsed) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err("must be greater than zero".to_owned()),
    }
}

impl UnattendedArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.unattended
    }

    pub(super) fn wants_json(&self) -> bool {
        self.json
    }
}

/// Starts a session, or brings back the existing one, and watches it.
pub(super) fn run(args: &StartArgs, context: &Context) -> Result<ExitCode, PawError> {
    let started = context.require_repo().and_then(|repo| {
        let checks = require_gates(&repo, args.trust, context)?;
        if super::begin(args, context)?.is_none() {
            return Ok(None);
        }
        Ok(Some((checks, context.require_session()?)))
    });
    match started {
        Ok(None) => Ok(ExitCode::SUCCESS),
        Ok(Some((checks, session))) => follow(&args.unattended, checks, &session, context),
        Err(error) => {
            context.output.fail(&error);
            Ok(ExitCode::from(EXIT_CANCELLED))
        }
    }
}

/// The gates, which must be configured and approved before anything is started.
fn require_gates(repo: &Repo, trust: bool, context: &Context) -> Result<GateChecks, PawError> {
    context.approver()?;
    let consent = Consent::of_flag(trust);
    let checks = approval::checks(repo, consent, context)?;
    if checks.steps.is_empty() {
        return Err(PawError::ConfigError(
            "no gate is configured: an unattended session cannot verify its agents' work".to_owned(),
        )
        .hint(
            "set test_command under [supervisor] in .git-paw/config.toml ('git paw init' creates the file)",
        ));
    }
    Ok(checks)
}

/// An unattended session always has a broker.
pub(super) fn with_broker(mut config: PawConfig) -> PawConfig {
    config.broker.enabled = true;
    config
}

/// Watches a running session, prints the summary and returns the exit code.
fn follow(
    args: &UnattendedArgs,
    checks: GateChecks,
    session: &Session,
    context: &Context,
) -> Result<ExitCode, PawError> {
    let options = UnattendedOptions {
        limit: args.time_limit.unwrap_or(DEFAULT_TIME_LIMIT),
        chances: args.chances.unwrap_or(DEFAULT_FIX_ATTEMPTS),
        merge: args.merge,
    };
    let output = context.output;
    let remote = HostWorktrees::find(session);
    let summary = unattended::follow(
        options,
        unattended::UnattendedContext {
            session,
            checks,
            client: context.broker_client()?,
            dirs: &context.dirs,
            notify: Arc::new(move |notice| show::notice(notice, output)),
            remote: remote.as_ref().map(|remote| remote as _),
        },
    )?;
    show::summary(&summary, context)?;
    Ok(match summary.end {
        UnattendedEnd::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
        UnattendedEnd::TimeOver => ExitCode::from(EXIT_TIMED_OUT),
        UnattendedEnd::Complete | UnattendedEnd::SessionGone if summary.is_good() => ExitCode::SUCCESS,
        UnattendedEnd::Complete | UnattendedEnd::SessionGone => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limit_parses_durations() {
        assert_eq!(time_limit("90m"), Ok(Duration::from_mins(90)));
        assert_eq!(time_limit("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(time_limit("20s"), Ok(Duration::from_secs(20)));
        for text in ["", "soon", "0s", "-4h", "4", "4 parsecs"] {
            assert!(time_limit(text).is_err(), "{text}");
        }
    }
}

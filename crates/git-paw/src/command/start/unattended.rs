//! `git paw start --unattended`: starts a session and follows it to its end.

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
use paw_host::trust::Approver;
use paw_session::lifecycle::Session;
use paw_supervisor::gates::Checks;
use paw_supervisor::unattended::{self, End, Options};

use super::StartArgs;
use crate::approval::{self, Consent};
use crate::context::Context;

/// Flags of an unattended session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(super) struct UnattendedArgs {
    /// Stay until every agent has come to an end: check its work, have it mend what fails, and sum up
    ///
    /// This command takes the supervisor's place. Harmless approvals are given, everything else is parked for you. Ends
    /// with 0 if all work is verified (and merged, with --merge), 1 if something failed or is parked, 2 if nothing was
    /// started, 3 if the time was over, 130 after Ctrl+C. The session itself goes on, and so does this command when it
    /// is given again.
    #[arg(long, conflicts_with = "supervisor")]
    unattended: bool,
    /// How long an unattended session may take: 90m, 4h, 1h30m (4h if not given)
    #[arg(long, value_name = "TIME", requires = "unattended", value_parser = time_limit)]
    time_limit: Option<Duration>,
    /// How often an agent may mend what fails (2 if not given)
    #[arg(long, value_name = "TIMES", requires = "unattended", value_parser = clap::value_parser!(u32).range(0..=20))]
    chances: Option<u32>,
    /// Merge what is verified into the main branch at the end, each branch on top of it and tested first
    #[arg(long, requires = "unattended")]
    merge: bool,
    /// Print one JSON document at the end of an unattended session
    #[arg(long, requires = "unattended")]
    pub(crate) json: bool,
}

const USUAL_LIMIT: Duration = Duration::from_hours(4);
const USUAL_CHANCES: u32 = 2;
/// The time was over before every agent had come to an end.
const EXIT_TIME_OVER: u8 = 3;
/// As shells say it.
const EXIT_INTERRUPTED: u8 = 130;

fn time_limit(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration = text.parse().map_err(|_| "not a time: say 90m, 4h or 1h30m".to_owned())?;
    match Duration::try_from(parsed) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err("it must be longer than nothing".to_owned()),
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

/// Starts a session, or takes up the one that is there, and follows it.
pub(super) fn run(args: &StartArgs, context: &Context) -> Result<ExitCode, PawError> {
    let started = context.require_repo().and_then(|repo| {
        let checks = require_gates(&repo, args.trust, context)?;
        super::begin(args, context)?;
        Ok((checks, context.require_session()?))
    });
    match started {
        Ok((checks, session)) => follow(&args.alone, checks, &session, context),
        Err(error) => {
            context.output.fail(&error);
            Ok(ExitCode::from(EXIT_CANCELLED))
        }
    }
}

/// The gates, which have to be configured and approved before anything is started.
fn require_gates(repo: &Repo, trust: bool, context: &Context) -> Result<Checks, PawError> {
    Approver::from_env()?;
    let consent = Consent::of_flag(trust);
    let checks = approval::checks(repo, None, consent, context)?;
    if checks.steps.is_empty() {
        return Err(PawError::ConfigError(
            "no gate is configured, so nothing that agents do alone could be proven".to_owned(),
        )
        .hint("set test_command under [supervisor] in .git-paw/config.toml (git paw init writes one)"));
    }
    Ok(checks)
}

/// Agents talk over a broker, and there is one in every unattended session.
pub(super) fn with_broker(mut config: PawConfig) -> PawConfig {
    config.broker.enabled = true;
    config
}

/// Follows a running session, shows what became of it, and says how this command ends.
fn follow(
    args: &UnattendedArgs,
    checks: Checks,
    session: &Session,
    context: &Context,
) -> Result<ExitCode, PawError> {
    let options = Options {
        limit: args.time_limit.unwrap_or(USUAL_LIMIT),
        chances: args.chances.unwrap_or(USUAL_CHANCES),
        merge: args.merge,
    };
    let output = context.output;
    let summary = unattended::follow(
        options,
        unattended::Context {
            session,
            checks,
            client: context.broker_client()?,
            dirs: &context.dirs,
            notify: Arc::new(move |notice| show::notice(notice, output)),
        },
    )?;
    show::summary(&summary, context)?;
    Ok(match summary.end {
        End::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
        End::TimeOver => ExitCode::from(EXIT_TIME_OVER),
        End::Complete | End::SessionGone if summary.is_good() => ExitCode::SUCCESS,
        End::Complete | End::SessionGone => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_said_as_people_say_it() {
        assert_eq!(time_limit("90m"), Ok(Duration::from_mins(90)));
        assert_eq!(time_limit("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(time_limit("20s"), Ok(Duration::from_secs(20)));
        for text in ["", "soon", "0s", "-4h", "4", "4 parsecs"] {
            assert!(time_limit(text).is_err(), "{text}");
        }
    }
}

//! `git paw start --unattended`: a session that is followed to its end, with nobody at the keyboard.

mod crew;
mod signs;
mod spoken;
mod summary;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use paw_agent::detect::CliInfo;
use paw_agent::launch::command_line;
use paw_core::PawError;
use paw_core::config::PawConfig;
use paw_core::error::EXIT_CANCELLED;
use paw_core::text::plural;
use paw_host::clock;
use paw_host::git::Repo;
use paw_host::trust::Approver;
use paw_session::lifecycle::Session;
use paw_session::plan::Plan;
use paw_supervisor::unattended::{Charge, Next, Watch};

use super::StartArgs;
use crate::approval::{self, Checks, Consent};
use crate::context::Context;
use crate::failure::Failure;
use crew::Crew;
use signs::{Sign, Signs};
use summary::{End, Summary};

/// What holds for a session without anybody at the keyboard.
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
            context.output.fail(&Failure::from(error));
            Ok(ExitCode::from(EXIT_CANCELLED))
        }
    }
}

/// What has to be there before anything is started: gates that somebody has approved.
fn require_gates(repo: &Repo, trust: bool, context: &Context) -> Result<Checks, PawError> {
    Approver::from_env()?;
    let consent = if trust { Consent::Given } else { Consent::Ask };
    let checks = approval::checks(repo, None, consent, context)?;
    if checks.steps.is_empty() {
        return Err(PawError::ConfigError(
            "no gate is configured, so nothing that agents do alone could be proven\n\
             hint: set test_command under [supervisor] in .git-paw/config.toml (git paw init writes one)"
                .to_owned(),
        ));
    }
    Ok(checks)
}

/// Agents talk over a broker, and there is one in every unattended session.
pub(super) fn with_broker(mut config: PawConfig) -> PawConfig {
    config.broker.enabled = true;
    config
}

/// Agents that are looked after may do what they may in a supervised session.
pub(crate) fn loosen(plan: &mut Plan, config: &PawConfig, clis: &[CliInfo]) {
    let supervisor = config.supervisor.clone().unwrap_or_default();
    plan.unattended = true;
    plan.guard = supervisor.strict_branch_guard;
    for agent in &mut plan.agents {
        if let Some(cli) = clis.iter().find(|cli| cli.binary_name == agent.cli) {
            agent.command = command_line(cli, config.clis.get(&agent.cli), supervisor.agent_approval, None);
        }
    }
}

/// Follows a session that runs until everybody in it has come to an end, or the time is over.
fn follow(
    args: &UnattendedArgs,
    checks: Checks,
    session: &Session,
    context: &Context,
) -> Result<ExitCode, PawError> {
    let receipt = &session.receipt;
    if !receipt.has_broker() {
        return Err(PawError::SessionError(format!(
            "session '{}' has no broker, so nobody can be followed\n\
             hint: git paw purge, then git paw start --unattended makes one that has",
            receipt.session_name
        )));
    }
    let Some(charge) = Charge::take(&session.repo.common_dir)? else {
        return Err(PawError::SessionError(
            "another git paw start --unattended looks after this session already".to_owned(),
        ));
    };
    let limit = args.time_limit.unwrap_or(USUAL_LIMIT);
    let signs = Signs::catch(session, &checks.config.broker, limit)?;
    let chances = args.chances.unwrap_or(USUAL_CHANCES);
    let mut crew = Crew::new(session, checks, chances, context)?;
    let mut watch = Watch::new(&crew.members, chances, clock::now());
    context.output.note(&format!(
        "session '{}': {}, for at most {}; Ctrl+C leaves the session running",
        receipt.session_name,
        plural(crew.members.len(), "agent"),
        summary::time(limit),
    ));
    let end = until_the_end(&mut watch, &mut crew, &signs)?;
    // What became of the agents is told even where the merge could not be made.
    let (merged, merge_error) = match end {
        End::Complete if args.merge => match crew.merge(&watch, &signs) {
            Ok(merged) => (merged, None),
            Err(error) => (None, Some(error.to_string())),
        },
        End::Complete | End::TimeOver | End::Interrupted | End::SessionGone => (None, None),
    };
    drop(charge);
    let end = if signs.stop().is_raised() { End::Interrupted } else { end };
    let summary = Summary {
        session: receipt.session_name.to_string(),
        end,
        took: signs.elapsed(),
        outcomes: watch.outcomes(clock::now()),
        questions: watch.questions(),
        merged,
        merge_error,
        wanted_merge: args.merge,
    };
    summary.show(context)?;
    Ok(match end {
        End::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
        End::TimeOver => ExitCode::from(EXIT_TIME_OVER),
        End::Complete | End::SessionGone if summary.is_good() => ExitCode::SUCCESS,
        End::Complete | End::SessionGone => ExitCode::FAILURE,
    })
}

fn until_the_end(watch: &mut Watch, crew: &mut Crew<'_>, signs: &Signs) -> Result<End, PawError> {
    loop {
        let now = clock::now();
        let until = match watch.next(now) {
            Next::Verify { agent, branch } => {
                crew.verify(agent, branch, signs)?;
                continue;
            }
            Next::Over if crew.find_moved(watch)? => continue,
            Next::Over => return Ok(End::Complete),
            Next::Wait(until) => until,
        };
        match signs.wait(pause(now, until)) {
            Some(Sign::Said(stored)) => crew.hear(&stored, watch)?,
            Some(Sign::Checked { agent, outcome }) => crew.judge(watch, &agent, &outcome, signs)?,
            Some(sign @ (Sign::Interrupted | Sign::TimeOver)) => {
                if watch.is_verifying() {
                    signs.wait_for_gates();
                }
                return Ok(if matches!(sign, Sign::TimeOver) { End::TimeOver } else { End::Interrupted });
            }
            Some(Sign::Quiet) if !crew.is_session_there()? => return Ok(End::SessionGone),
            // The broker has nothing to say, or somebody's time is over.
            Some(Sign::Quiet | Sign::Moved) | None => crew.look_at_all(watch)?,
        }
    }
}

fn pause(now: Timestamp, until: Option<Timestamp>) -> Option<Duration> {
    until.map(|until| until.duration_since(now).try_into().unwrap_or_default())
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

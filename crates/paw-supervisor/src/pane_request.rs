//! What agents can have the session's process run: gates, merges, and the supervisor's commands about agents on other machines. Only
//! that process signs results and uses the user's ssh keys, so no pane needs them.
//!
//! A request names what to run and never how: it cannot approve commands, choose gates' text or change the environment.

use paw_broker::identity::Caller;
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::gates::Gate;

/// A request of a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaneRequest {
    pub what: RequestedRun,
    /// The time limit of one gate, in seconds.
    pub timeout: u64,
    pub json: bool,
    /// Whether to print progress, although the run has no terminal.
    pub progress: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedRun {
    Verify {
        branch: String,
        /// Only these gates; all if empty.
        gates: Vec<Gate>,
        rerun: bool,
    },
    Merge {
        /// Only these branches; all of the session if empty.
        only: Vec<String>,
        rebase: bool,
    },
}

/// `git paw sweep` for agents on other machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRequest {
    pub sweep: SweepAction,
    /// Missing for what lists all agents.
    pub agent: Option<String>,
    pub json: bool,
}

/// What the supervisor does with agents on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepAction {
    Capture { lines: usize },
    Approve,
    Restart,
    Snapshot { lines: usize },
    Status,
    Worktrees,
    DetectStuck,
}

impl SweepRequest {
    /// Machines are reached with the user's ssh keys, so only the supervisor and the user may ask.
    pub fn is_allowed(caller: &Caller) -> bool {
        caller.is_privileged()
    }

    /// The arguments of the command that does it for `requester`.
    pub fn arguments(&self, requester: &AgentId) -> Vec<String> {
        let (verb, lines) = match self.sweep {
            SweepAction::Capture { lines } => ("capture", Some(format!("--lines={lines}"))),
            SweepAction::Approve => ("approve", None),
            SweepAction::Restart => ("restart", None),
            SweepAction::Snapshot { lines } => ("snapshot", Some(format!("--lines={lines}"))),
            SweepAction::Status => ("status", None),
            SweepAction::Worktrees => ("worktrees", None),
            SweepAction::DetectStuck => ("detect-stuck", None),
        };
        let json = self.json.then(|| "--json".to_owned());
        let words = ["sweep".to_owned(), verb.to_owned()].into_iter().chain(lines).chain(json);
        let Some(agent) = &self.agent else { return words.collect() };
        words.chain([format!("--requested-by={requester}"), "--".to_owned(), agent.clone()]).collect()
    }
}

impl PaneRequest {
    /// Whether the owner of a token may request this.
    pub fn is_allowed(&self, caller: &Caller) -> bool {
        match self.what {
            RequestedRun::Verify { .. } => true,
            RequestedRun::Merge { .. } => caller.is_privileged(),
        }
    }

    /// The arguments of the command that does it for `requester`. Names come last, behind `--`, so that none is an option.
    pub fn arguments(&self, requester: &AgentId) -> Vec<String> {
        let flag = |is_set: bool, flag: &'static str| is_set.then(|| flag.to_owned());
        let (command, options, names) = match &self.what {
            RequestedRun::Verify { branch, gates, rerun } => {
                let gates = gates.iter().map(|gate| format!("--gate={gate}"));
                ("verify", gates.chain(flag(*rerun, "--rerun")).collect::<Vec<_>>(), vec![branch.clone()])
            }
            RequestedRun::Merge { only, rebase } => {
                ("merge", flag(*rebase, "--rebase").into_iter().collect(), only.clone())
            }
        };
        let common = [format!("--timeout={}", self.timeout), format!("--requested-by={requester}")];
        let common = common.into_iter().chain(flag(self.json, "--json"));
        let common = common.chain(flag(self.progress, "--progress"));
        [command.to_owned()]
            .into_iter()
            .chain(options)
            .chain(common)
            .chain(["--".to_owned()])
            .chain(names)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_cannot_add_options() {
        let what = RequestedRun::Verify { branch: "--trust".to_owned(), gates: Vec::new(), rerun: true };
        let request = PaneRequest { what, timeout: 9, json: true, progress: false };
        let supervisor = AgentId::supervisor();
        assert_eq!(
            request.arguments(&supervisor),
            ["verify", "--rerun", "--timeout=9", "--requested-by=supervisor", "--json", "--", "--trust"]
        );
        let with = |field: &str| {
            let mut text = serde_json::to_value(&request).unwrap();
            text[field] = json!(true);
            serde_json::from_value::<PaneRequest>(text)
        };
        assert!(with("trust").is_err());
        assert!(with("json").is_ok());
    }

    #[test]
    fn agents_may_verify_and_only_the_supervisor_and_the_user_may_merge() {
        let merge = PaneRequest {
            what: RequestedRun::Merge { only: vec!["feat/a".to_owned()], rebase: true },
            timeout: 9,
            json: false,
            progress: true,
        };
        let what =
            RequestedRun::Verify { branch: "feat/a".to_owned(), gates: vec![Gate::Test], rerun: false };
        let verify = PaneRequest { what, ..merge.clone() };
        let caller = |name: &str| Caller::Known(AgentId::new(name).unwrap());
        assert!(!merge.is_allowed(&caller("feat-a")) && verify.is_allowed(&caller("feat-a")));
        assert!(merge.is_allowed(&caller("supervisor")) && merge.is_allowed(&caller("operator")));
        let typed = merge.arguments(&AgentId::supervisor()).join(" ");
        assert_eq!(typed, "merge --rebase --timeout=9 --requested-by=supervisor --progress -- feat/a");
        let typed = verify.arguments(&AgentId::supervisor()).join(" ");
        assert!(typed.starts_with("verify --gate=test --timeout=9"), "{typed}");
        assert!(
            SweepRequest::is_allowed(&caller("supervisor")) && !SweepRequest::is_allowed(&caller("feat-a"))
        );
        let agent = Some("--json".to_owned());
        let sweep = SweepRequest { sweep: SweepAction::Approve, agent, json: false };
        let typed = sweep.arguments(&AgentId::supervisor()).join(" ");
        assert_eq!(typed, "sweep approve --requested-by=supervisor -- --json");
        let all = SweepRequest { sweep: SweepAction::Snapshot { lines: 5 }, agent: None, json: true };
        assert_eq!(all.arguments(&AgentId::supervisor()).join(" "), "sweep snapshot --lines=5 --json");
    }
}

//! What the verbs of `git paw sweep` that list all agents print about agents on other machines: each machine is asked over ssh, all
//! at the same time.

use std::thread;

use paw_cluster::hub;
use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{HostName, PawError};
use paw_host::caller::CommandCaller;
use paw_session::lifecycle::Session;
use serde_json::{Value, json};

use crate::context::Context;

/// The machine of an agent, in its row. Missing for agents on this one.
pub(super) const HOST: &str = "host";
/// Why nothing is known about it.
pub(super) const PROBLEM: &str = "problem";

/// The rows of all agents on other machines. `args` is the verb with its options.
pub(super) fn ask(session: &Session, args: &[&str], context: &Context) -> Vec<Value> {
    let agents = session.receipt.remote_agents();
    let mut hosts: Vec<_> = agents.iter().map(|agent| &agent.host).collect();
    hosts.sort();
    hosts.dedup();
    // Only the user's own processes use ssh.
    if hosts.is_empty() || !context.caller().is_ok_and(CommandCaller::is_user) {
        return Vec::new();
    }
    let names: Vec<_> = hosts.iter().map(|host| host.as_str()).collect();
    context.output.progress(&format!("asking {}", names.join(", ")));
    let answers: Vec<_> = thread::scope(|scope| {
        let asked = hosts.iter().map(|host| scope.spawn(|| ask_host(session, host, args)));
        let asked: Vec<_> = asked.collect();
        let lost = || Err(PawError::internal("a thread has ended"));
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| lost())).collect()
    });
    let is_only_stuck = args.first() == Some(&"detect-stuck");
    let rows = hosts.iter().zip(answers).flat_map(|(host, answer)| {
        let own = agents.iter().filter(move |agent| agent.host == **host);
        match answer {
            Ok(rows) => own.filter_map(|agent| find_row(&rows, agent, is_only_stuck)).collect::<Vec<_>>(),
            Err(error) => own.map(|agent| unknown(agent, &error.to_string())).collect(),
        }
    });
    rows.collect()
}

fn ask_host(session: &Session, host: &HostName, args: &[&str]) -> Result<Vec<Value>, PawError> {
    Context::require_reachable(session, host)?;
    let args: Vec<_> = ["sweep"].into_iter().chain(args.iter().copied()).chain(["--json"]).collect();
    Ok(hub::require_host(&session.repo, session.receipt.cluster.as_ref(), host)?.ask(&args, &Value::Null)?)
}

fn find_row(rows: &[Value], agent: &RemoteAgentReceipt, may_be_missing: bool) -> Option<Value> {
    let row = rows.iter().find(|row| row["agent"].as_str() == Some(agent.agent_id.as_str())).cloned();
    let mut row = match row {
        Some(row) => row,
        None if may_be_missing => return None,
        None => return Some(unknown(agent, &format!("{} does not run it", agent.host))),
    };
    row[HOST] = json!(agent.host);
    Some(row)
}

fn unknown(agent: &RemoteAgentReceipt, problem: &str) -> Value {
    json!({
        "agent": agent.agent_id, "branch": agent.branch, "cli": agent.cli, HOST: agent.host, "state": "unknown", PROBLEM: problem,
    })
}

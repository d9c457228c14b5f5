//! `git paw cluster`

use clap::{Args, Subcommand};
use paw_cluster::request::{ClusterAction, ClusterRequest};
use paw_core::PawError;
use paw_core::text::{plural, plural_irregular};
use serde_json::{Value, json};

use crate::context::Context;

/// Show how the machines of this session are connected
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw cluster status\n  git paw cluster status --json")]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    action: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    Status(ClusterStatusArgs),
}

/// Show the stream, and which messages each machine has read
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw cluster status\n  git paw cluster status --json")]
struct ClusterStatusArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl ClusterArgs {
    pub(crate) fn wants_json(&self) -> bool {
        let ClusterCommand::Status(args) = &self.action;
        args.json
    }
}

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let session = context.require_session()?;
    let has_cluster = session.receipt.cluster.is_some();
    let answer = if has_cluster {
        context.require_user("ask about other machines")?;
        context.repeat_request(&ClusterRequest { cluster: ClusterAction::Status })?
    } else {
        json!({"stream": null, "hosts": []})
    };
    if context.output.wants_json() {
        return context.output.document(&answer);
    }
    if !has_cluster {
        return context.output.say("All agents of this session run on this machine.");
    }
    show(&answer, context)
}

fn show(answer: &Value, context: &Context) -> Result<(), PawError> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let output = context.output;
    if answer["hub"] != answer["host"] {
        return output.say(&format!(
            "This machine is '{}' of a session whose hub is another machine; ask there.",
            text(&answer["host"])
        ));
    }
    let replication = &answer["replication"];
    let state = match replication["problem"].as_str() {
        Some(problem) => format!("not connected: {}", paw_core::text::line(problem)),
        None if replication["connected"] == true => "connected".to_owned(),
        None => "connecting".to_owned(),
    };
    let own = if answer["own_server"] == true { " (started by this session)" } else { "" };
    let server = answer["servers"][0].as_str().unwrap_or("-");
    output.say(&format!("server  {server}{own}, {state}"))?;
    let count =
        |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let skipped = count(&replication["skipped"]);
    let skipped =
        if skipped == 0 { String::new() } else { format!(", {} skipped", plural(skipped, "message")) };
    output.say(&format!(
        "stream  {}, {}{skipped}",
        text(&answer["stream"]),
        plural_irregular(count(&replication["last"]), "entry", "entries")
    ))?;
    output.say("")?;
    let row = |host: &Value| {
        let since = text(&host["since"]);
        let reach = match (host["reachable"].as_bool(), host["problem"].as_str()) {
            (Some(true), _) => "connected".to_owned(),
            (Some(false), problem) => {
                format!("unreachable since {since}: {}", paw_core::text::line(problem.unwrap_or("-")))
            }
            (None, _) => "connecting".to_owned(),
        };
        let agents = host["agents"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let lag = host["lag"].as_u64().map_or_else(|| "-".to_owned(), |lag| lag.to_string());
        [text(&host["name"]), agents.collect::<Vec<_>>().join(" "), lag, reach]
    };
    let hosts = answer["hosts"].as_array().into_iter().flatten().map(row).collect();
    output.table(["HOST", "AGENTS", "LAG", "STATE"], hosts)
}

//! `git paw say`

use clap::{Args, Subcommand};
use paw_broker::client::{SendReceipt, SendRoute};
use paw_broker::message::{
    self, AnswerMessage, ArtifactMessage, BlockedMessage, FeedbackMessage, IntentFile, IntentMessage,
    Message, QuestionMessage, StatusMessage, VerifiedMessage,
};
use paw_core::{AgentId, PawError};
use paw_host::clock;
use serde_json::{Value, json};

use crate::context::Context;

/// Send a message to all agents, to one agent or to the supervisor
///
/// The sender comes from the pane's environment; outside a pane, you are the sender. The message is stored before the
/// command returns, even if no broker is running.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "KIND",
    subcommand_help_heading = "Kinds of messages",
    override_usage = "\
git paw say [OPTIONS] <status|artifact|blocked|question|intent|verified|feedback|answer> ...
       git paw tell <AGENT> <TEXT>, for free text to one agent",
    after_help = "Examples:
  git paw say status working --message \"writing the parser\"
  git paw say intent src/parse.rs src/lex.rs --summary \"new grammar\"
  git paw say question \"may I rename Token?\"
  git paw say answer feat-parser \"yes\""
)]
pub(crate) struct SayArgs {
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) what: MessageArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MessageArgs {
    /// Report what you are doing
    #[command(after_help = "Examples:\n  git paw say status working --message \"writing tests\"")]
    Status {
        status: String,
        #[arg(short, long)]
        message: Option<String>,
        #[arg(long)]
        phase: Option<String>,
    },
    /// Announce something that others can use
    #[command(
        after_help = "Examples:\n  git paw say artifact done --export parse_config --file src/config.rs"
    )]
    Artifact {
        status: String,
        /// A name that others can use now; repeatable
        #[arg(long = "export", value_name = "NAME")]
        exports: Vec<String>,
        /// A file that belongs to it; repeatable
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
    },
    /// Report that you are waiting for another agent
    #[command(after_help = "Examples:\n  git paw say blocked \"the new schema\" --from feat-db")]
    Blocked {
        needs: String,
        /// The agent that can unblock you
        #[arg(long)]
        from: String,
    },
    /// Ask the supervisor a question
    #[command(after_help = "Examples:\n  git paw say question \"may I rename Token?\"")]
    Question { question: String },
    /// Announce the files you are about to change
    #[command(
        after_help = "Examples:\n  git paw say intent src/a.rs src/b.rs --summary \"split the module\""
    )]
    Intent {
        #[arg(required = true)]
        files: Vec<String>,
        #[arg(short, long)]
        summary: String,
        /// How many seconds the announcement is valid
        #[arg(long, default_value_t = IntentMessage::DEFAULT_SECONDS)]
        ttl: u64,
    },
    /// Mark an agent's work as verified (supervisor and operator only)
    #[command(after_help = "Examples:\n  git paw say verified feat-parser --message \"all gates pass\"")]
    Verified {
        agent: String,
        #[arg(short, long)]
        message: Option<String>,
        /// The verified commit
        #[arg(long)]
        commit: Option<String>,
    },
    /// Tell an agent what to fix
    #[command(after_help = "Examples:\n  git paw say feedback feat-parser \"tests fail: lex::numbers\"")]
    Feedback {
        agent: String,
        #[arg(required = true)]
        errors: Vec<String>,
    },
    /// Answer an agent's question
    #[command(after_help = "Examples:\n  git paw say answer feat-parser \"yes, rename it\"")]
    Answer {
        agent: String,
        answer: String,
        /// The question that this answers
        #[arg(long)]
        re: Option<String>,
    },
}

pub(crate) fn run(args: &SayArgs, context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&answer(&args.what, context)?);
    }
    match send(&args.what, context)?.route {
        SendRoute::Broker => context.output.say("sent"),
        SendRoute::Log => {
            context.output.say("stored (no broker is running; it is delivered when one starts)")
        }
    }
}

/// The answer for programs.
pub(crate) fn answer(what: &MessageArgs, context: &Context) -> Result<Value, PawError> {
    let said = send(what, context)?;
    let way = if said.route == SendRoute::Broker { "broker" } else { "log" };
    Ok(json!({"seq": said.seq, "way": way}))
}

fn send(what: &MessageArgs, context: &Context) -> Result<SendReceipt, PawError> {
    let client = context.broker_client()?;
    let message = compose(what, client.agent().clone())?;
    Ok(client.publish(&message, clock::now())?)
}

fn compose(what: &MessageArgs, me: AgentId) -> Result<Message, PawError> {
    let agent = |name: &str| message::agent_id("agent_id", name);
    Ok(match what {
        MessageArgs::Status { status, message, phase } => {
            let mut said = StatusMessage::new(me, status);
            said.message.clone_from(message);
            said.phase.clone_from(phase);
            said.into()
        }
        MessageArgs::Artifact { status, exports, files } => {
            let mut said = ArtifactMessage::new(me, status);
            said.exports.clone_from(exports);
            said.modified_files.clone_from(files);
            said.into()
        }
        MessageArgs::Blocked { needs, from } => BlockedMessage::new(me, needs, agent(from)?).into(),
        MessageArgs::Question { question } => QuestionMessage::new(me, question).into(),
        MessageArgs::Intent { files, summary, ttl } => {
            let mut said = IntentMessage::new(me, files.iter().map(IntentFile::whole).collect(), summary);
            said.valid_for_seconds = *ttl;
            said.into()
        }
        MessageArgs::Verified { agent: whom, message, commit } => {
            let mut said = VerifiedMessage::new(agent(whom)?, me);
            said.message.clone_from(message);
            said.commit.clone_from(commit);
            said.into()
        }
        MessageArgs::Feedback { agent: whom, errors } => {
            FeedbackMessage::new(agent(whom)?, me, errors.clone()).into()
        }
        MessageArgs::Answer { agent: whom, answer, re } => {
            let mut said = AnswerMessage::new(agent(whom)?, me, answer);
            said.re.clone_from(re);
            said.into()
        }
    })
}

//! `git paw say`

use clap::{Args, Subcommand, ValueEnum};
use paw_broker::client::{SendReceipt, SendRoute};
use paw_broker::message::{
    self, AnswerMessage, ArtifactMessage, BlockedMessage, Extra, FeedbackMessage, IntentFile, IntentMessage,
    LearningMessage, Message, QuestionMessage, StatusMessage, VerifiedMessage,
};
use paw_core::{AgentId, PawError};
use paw_host::{clock, config};
use schemars::JsonSchema;
use serde::Deserialize;
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
git paw say [OPTIONS] <status|artifact|blocked|question|intent|verified|feedback|answer|learning> ...
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
    ///
    /// The files are added to what you announced before, until they expire or you clear them.
    #[command(after_help = "Examples:
  git paw say intent src/a.rs src/b.rs --summary \"split the module\"
  git paw say intent --clear
  git paw say intent src/c.rs --clear --summary \"only this file now\"")]
    Intent {
        #[arg(required_unless_present = "clear")]
        files: Vec<String>,
        #[arg(short, long, required_unless_present = "clear")]
        summary: Option<String>,
        /// Drop what you announced before
        #[arg(long)]
        clear: bool,
        /// How many seconds the announcement is valid [default: supervisor.conflict.intent_lifetime_seconds]
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        ttl: Option<u64>,
    },
    /// Record something that the next session should know
    #[command(after_help = "Examples:
  git paw say learning \"the tests need a running database\" --category tooling-friction
  git paw say learning \"README does not mention --offline\" --category doc-gap --detail \"see src/cli.rs\"")]
    Learning {
        title: String,
        #[arg(long, value_enum, default_value_t = LearningCategory::Other)]
        category: LearningCategory,
        /// The agent it concerns
        #[arg(long, value_name = "AGENT")]
        about: Option<String>,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        detail: Option<String>,
    },
    /// Declare an agent's work verified, by hand (supervisor and operator only)
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

/// What kind of learning it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LearningCategory {
    /// The same kind of error, again
    RecurringFailureShape,
    /// Documentation that is missing or wrong
    DocGap,
    /// Code and decision records disagree
    AdrDrift,
    /// Work outside of the task
    ScopeMistake,
    /// Tools that slow agents down
    ToolingFriction,
    /// Everything else
    Other,
}

impl LearningCategory {
    const fn as_str(self) -> &'static str {
        match self {
            Self::RecurringFailureShape => "recurring_failure_shape",
            Self::DocGap => "doc_gap",
            Self::AdrDrift => "adr_drift",
            Self::ScopeMistake => "scope_mistake",
            Self::ToolingFriction => "tooling_friction",
            Self::Other => "other",
        }
    }
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
    let lifetime = intent_lifetime(what, context)?;
    let message = compose(what, client.agent().clone(), lifetime)?;
    Ok(client.publish(&message, clock::now())?)
}

/// The configured lifetime of an announcement, if one is sent.
fn intent_lifetime(what: &MessageArgs, context: &Context) -> Result<u64, PawError> {
    if !matches!(what, MessageArgs::Intent { ttl: None, .. }) {
        return Ok(IntentMessage::DEFAULT_SECONDS);
    }
    let repo = context.require_repo()?;
    let config = config::load_layers(Some(&repo.root), None)?.resolve()?;
    Ok(config.supervisor.unwrap_or_default().conflict.intent_lifetime_seconds.max(1))
}

fn compose(what: &MessageArgs, me: AgentId, lifetime: u64) -> Result<Message, PawError> {
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
        MessageArgs::Intent { files, summary, clear, ttl } => {
            let summary = summary.as_deref().unwrap_or("done with these files");
            let mut said = IntentMessage::new(me, files.iter().map(IntentFile::whole).collect(), summary);
            said.valid_for_seconds = ttl.unwrap_or(lifetime);
            said.clear = clear.then_some(true);
            said.into()
        }
        MessageArgs::Learning { title, category, about, detail } => LearningMessage {
            id: None,
            agent_id: me,
            branch_id: about.as_deref().map(agent).transpose()?,
            category: category.as_str().to_owned(),
            title: title.clone(),
            body: detail.clone().map(Value::from).unwrap_or_default(),
            timestamp: clock::now().to_string(),
            extra: Extra::default(),
        }
        .into(),
        MessageArgs::Verified { agent: whom, message, commit } => {
            let mut said = VerifiedMessage::by_hand(agent(whom)?, me);
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

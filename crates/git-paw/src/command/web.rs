//! `git paw web`

use std::io::{self, IsTerminal as _};
use std::net::IpAddr;

use clap::Args;
use paw_core::paths::PawDir;
use paw_core::text::plural;
use paw_core::{ErrorCode, PawError};
use paw_host::files::{self, Access};
use paw_host::process::{Command, find_program};
use paw_web::{PageAction, PageLink, PageRequest, Scope};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use crate::context::Context;
use crate::output::Style;

/// Show the session in a browser
///
/// Prints a link to the page of the running session: agents with what they need, approvals, questions, terminals, changes,
/// conflicts, gates and merge, and messages. The session's process serves the page, so it stays open when this terminal closes.
/// The link is valid once, for ten minutes. It logs in one browser tab for a week, or until the tab has not been used for a day.
///
/// The page listens on this machine only. To use it from a phone or another computer, forward it with ssh -L or tailscale serve,
/// or set [web] bind, certificate and key.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw web --open
  git paw web --view-only
  git paw web --revoke")]
pub(crate) struct WebArgs {
    /// Open the link in your browser
    #[arg(long, conflicts_with = "revoke")]
    open: bool,
    /// Listen on this IP address instead of [web] bind
    #[arg(long, value_name = "ADDRESS", conflicts_with = "revoke")]
    bind: Option<IpAddr>,
    /// Create a view-only link
    #[arg(long, conflicts_with = "revoke")]
    view_only: bool,
    /// End every login and unused link, and close the page
    #[arg(long)]
    revoke: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &WebArgs, context: &Context) -> Result<(), PawError> {
    context.require_user("open the page")?;
    let session = context.require_session()?;
    if !session.receipt.has_broker() {
        let problem = "the page needs a broker, and this session has none";
        return Err(PawError::new(ErrorCode::FailedPrecondition, problem)
            .hint("set [broker] enabled = true for the next session"));
    }
    let scope = if args.view_only { Scope::View } else { Scope::Act };
    let page = if args.revoke { PageAction::Close } else { PageAction::Open { scope, bind: args.bind } };
    let answer = context.answer_request(&PageRequest { page })?;
    let output = context.output;
    if args.revoke {
        let ended = answer["ended_logins"].as_u64().and_then(|count| usize::try_from(count).ok());
        return if output.wants_json() {
            output.document(&answer)
        } else {
            output.say(&format!("ended {}; the page is closed", plural(ended.unwrap_or_default(), "login")))
        };
    }
    let link: PageLink = serde_json::from_value(answer.clone())
        .map_err(|error| PawError::internal(format!("unexpected answer about the page: {error}")))?;
    if args.open {
        open(&link.link, context)?;
    }
    if output.wants_json() { output.document(&answer) } else { show(&link, context) }
}

fn show(link: &PageLink, context: &Context) -> Result<(), PawError> {
    let output = context.output;
    output.say(&link.link)?;
    if let Some(remote) = link.remote_link.as_ref().filter(|remote| **remote != link.link) {
        output.say(remote)?;
    }
    if let Some(picture) = link.remote_link.as_ref().filter(|_| io::stdout().is_terminal()).and_then(picture)
    {
        for line in picture.lines() {
            output.say(&output.paint(Style::WhiteOnBlack, line))?;
        }
    }
    let may = match link.scope {
        Scope::Act => "",
        Scope::View => ", view-only",
    };
    output.note(&format!("logs in one browser{may}; valid once, for ten minutes"));
    Ok(())
}

/// The link for a phone's camera. Its light parts are drawn, its dark parts are the background; the library's names assume the
/// opposite.
fn picture(link: &String) -> Option<String> {
    let code = QrCode::new(link).ok()?;
    Some(code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

/// Opens the browser at a private file that leads to the link: arguments are visible to every user of this machine.
fn open(link: &str, context: &Context) -> Result<(), PawError> {
    let program = ["xdg-open", "open"].into_iter().find_map(|name| find_program(name, &context.search_path));
    let program = program.ok_or_else(|| {
        PawError::new(
            ErrorCode::FailedPrecondition,
            "no program to open a browser: xdg-open is not installed",
        )
        .hint("open the link that 'git paw web' prints")
    })?;
    let file = PawDir::of(&context.require_repo()?.common_dir).web_link();
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>git paw</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">git paw</a>\n"
    );
    files::write_atomic(&file, page.as_bytes(), Access::Private)?;
    let exit = Command::new(program).arg(file).inherit()?;
    if exit.success() { Ok(()) } else { Err(PawError::SessionError(format!("the browser's opener {exit}"))) }
}

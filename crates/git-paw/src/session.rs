//! Finding the repository's session.

use paw_core::{PawError, Receipt};
use paw_runtime::SessionSettings;
use paw_session::Receipts;
use paw_session::lifecycle::Session;

use crate::approval;
use crate::context::Context;

impl Context {
    pub(crate) fn receipts(&self) -> Receipts {
        Receipts::at(self.dirs.sessions_dir())
    }

    /// The session of this repository, if it has one.
    pub(crate) fn find_session(&self) -> Result<Option<Session>, PawError> {
        let session = Session::find(&self.require_repo()?, &self.receipts())?;
        if let Some(moved_from) = session.as_ref().and_then(|session| session.moved_from.as_ref()) {
            self.output.warn(&format!(
                "this repository was at {} when its session was started",
                moved_from.display()
            ));
        }
        Ok(session)
    }

    /// The settings of the session's long-running process.
    pub(crate) fn session_settings(&self) -> Result<SessionSettings, PawError> {
        let repo = self.require_repo()?;
        let config = approval::guarded_config(&self.load_config()?, self)?;
        Ok(SessionSettings { repo, config, dirs: self.dirs.clone() })
    }

    pub(crate) fn require_session(&self) -> Result<Session, PawError> {
        self.find_session()?.ok_or_else(|| {
            PawError::SessionError("no session for this repository".to_owned())
                .hint("start one with 'git paw start'")
        })
    }
}

/// The tmux command that attaches to a session.
pub(crate) fn attach_command(receipt: &Receipt) -> String {
    let socket = receipt.tmux_socket.as_ref().map(|socket| format!(" -L {socket}")).unwrap_or_default();
    format!("tmux{socket} attach -t {}", receipt.session_name)
}

/// The tmux pane that this process runs in.
pub(crate) fn own_pane() -> Option<String> {
    std::env::var("TMUX_PANE").ok().filter(|pane| pane.starts_with('%'))
}

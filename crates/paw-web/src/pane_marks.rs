//! Shows in the border of a pane that someone types into it from a browser, for people at the terminal. The connection to a pane
//! on another machine does that by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use paw_core::{AgentId, PawError};
use paw_host::tmux::{Batch, TmuxCommand};
use paw_session::panes::TAKEN;

use crate::app::{App, blocking};

/// Marks panes as they are taken over and released, until the task is aborted.
pub(crate) async fn follow(app: Arc<App>) {
    let mut taken = app.taken_panes();
    // A process that was killed may have left marks.
    let mut marked = None;
    loop {
        let wanted = taken.borrow_and_update().clone();
        if marked.as_ref() != Some(&wanted) {
            mark(&app, wanted.clone()).await;
            marked = Some(wanted);
        }
        let released = async {
            match app.until_release() {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = taken.changed() => if changed.is_err() { return },
            () = released => app.show_taken(),
        }
    }
}

/// Removes the marks before the process ends.
pub(crate) async fn clear(app: Arc<App>) {
    if !app.taken_panes().borrow().is_empty() {
        mark(&app, BTreeMap::new()).await;
    }
}

async fn mark(app: &Arc<App>, agents: BTreeMap<AgentId, u64>) {
    let asked = Arc::clone(app);
    if let Err(error) = blocking(move || Ok(set_marks(&asked, &agents)?)).await {
        tracing::debug!(target: "paw::web", "cannot mark panes: {error:?}");
    }
}

fn set_marks(app: &App, agents: &BTreeMap<AgentId, u64>) -> Result<(), PawError> {
    let session = app.session()?;
    let Some(window) = session.find_window()? else { return Ok(()) };
    let mut batch = Batch::default();
    for pane in &window.panes {
        let Some(owner) = &pane.mark else { continue };
        let set = TmuxCommand::new("set-option");
        batch.push(if agents.keys().any(|agent| agent.as_str() == owner) {
            set.args(["-p", "-t", &pane.id, TAKEN, "1"])
        } else {
            set.args(["-p", "-u", "-t", &pane.id, TAKEN])
        });
    }
    session.tmux.run_batch(&batch)?;
    Ok(())
}

//! Autopilot runs in the worktrees of the repository, as their own files describe them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hyper::http::request::Parts;
use paw_core::PawError;
use paw_core::paths::TaskmasterDir;
use paw_host::files;
use serde_json::{Value, json};

use crate::app::{App, blocking};
use crate::response::{Response, WebRefusal, json};

/// The newest runs of a worktree that are shown.
const MOST_RUNS: usize = 3;
/// The last steps of a run that are shown.
const MOST_STEPS: usize = 200;

pub(crate) async fn load(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let app = Arc::clone(app);
    blocking(move || {
        let worktrees = app.repo.git().worktrees().map_err(PawError::from)?;
        let mut runs: Vec<Value> = worktrees.iter().flat_map(|worktree| runs_in(&worktree.path)).collect();
        runs.sort_by(|one, other| other["startTime"].as_str().cmp(&one["startTime"].as_str()));
        Ok(json(&json!({"runs": runs})))
    })
    .await
}

/// The newest runs in a worktree. One whose files cannot be read is left out.
fn runs_in(worktree: &Path) -> Vec<Value> {
    let dir = TaskmasterDir::of(worktree);
    let Ok(entries) = fs::read_dir(dir.runs()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // A run is named after the time of its start.
    let mut names: Vec<String> = names.collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    let run = |name: &String| {
        let files = dir.run(name);
        let mut run: Value = serde_json::from_str(&files::load_text(&files.manifest()).ok()??).ok()?;
        let log = files::load_text(&files.log()).ok()?.unwrap_or_default();
        let steps: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let skipped = steps.len().saturating_sub(MOST_STEPS);
        run.as_object_mut()?.insert("steps".to_owned(), json!(&steps[skipped..]));
        Some(run)
    };
    names.iter().take(MOST_RUNS).filter_map(run).collect()
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    #[test]
    fn newest_runs_come_with_their_steps_and_damaged_ones_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let taskmaster = TaskmasterDir::of(dir.path());
        assert_eq!(runs_in(dir.path()), Vec::<Value>::new());
        for day in 1..=5 {
            let files = taskmaster.run(&format!("2026-11-0{day}"));
            let manifest = if day == 5 { "{".to_owned() } else { format!("{{\"runId\":\"{day}\"}}") };
            write_atomic(&files.manifest(), manifest.as_bytes(), Access::Usual).unwrap();
        }
        let log = b"{\"phase\":\"red\"}\nnot json\n{\"phase\":\"green\"}\n";
        write_atomic(&taskmaster.run("2026-11-04").log(), log, Access::Usual).unwrap();
        let runs = runs_in(dir.path());
        let ids: Vec<_> = runs.iter().map(|run| run["runId"].as_str().unwrap()).collect();
        assert_eq!(ids, ["4", "3"]);
        assert_eq!(runs[0]["steps"][1]["phase"], "green");
    }
}

//! Push and pull request, or the commands to do it manually.

use std::ffi::OsStr;

use paw_host::process::{Command, find_program, shell_quote};
use serde_json::json;

use super::plan::find_remote;
use super::{ActiveRun, WorkError};
use crate::artifacts::pull_request;
use crate::engine::{RunEvent, RunStage};

/// The result of opening a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullRequestResult {
    Made {
        url: String,
    },
    /// It could not be opened; these commands open it.
    ByHand {
        why: String,
        commands: Vec<String>,
    },
}

impl ActiveRun {
    /// The base branch of the pull request.
    pub fn base(&self) -> String {
        let configured = self.context.settings.pull_request.base.clone();
        let default = || self.run.request.default_branch.as_ref().map(ToString::to_string);
        configured.or_else(default).unwrap_or_else(|| "main".into())
    }

    /// Pushes the branch. Returns the remote, or `None` if the push failed and the run is paused.
    pub fn push(&mut self) -> Result<Option<String>, WorkError> {
        let RunStage::Push = self.run.stage else {
            return Err(WorkError::NotNow { wanted: "push", stage: self.run.stage.name() });
        };
        self.require_unmoved_head()?;
        let branch = self.run.branch.clone().map(|branch| branch.to_string()).unwrap_or_default();
        let pushed = match find_remote(&self.context)? {
            None => {
                Err("there is no remote to push to (git remote add origin URL, or finish with --no-push)"
                    .to_owned())
            }
            Some(remote) => {
                let refspec = format!("refs/heads/{branch}:refs/heads/{branch}");
                let args = ["push", "--quiet", "--set-upstream", &remote, &refspec];
                self.context.git.run(args).map(|_| remote).map_err(|error| error.to_string())
            }
        };
        match pushed {
            Ok(remote) => {
                self.notes.pushed = true;
                self.take_guard()?;
                self.log("push", json!({"status": "ok", "remote": remote, "branch": branch}))?;
                self.apply(RunEvent::Pushed)?;
                Ok(Some(remote))
            }
            Err(why) => {
                self.log("push", json!({"status": "error", "error": why}))?;
                // Ctrl+C reaches git, too.
                self.check_pause()?;
                self.notes.last_error = Some(why.clone());
                self.apply(RunEvent::PushFailed { why })?;
                Ok(None)
            }
        }
    }

    /// Opens a pull request with `gh`, or returns the commands to do it. Ends the run either way.
    pub fn open_pull_request(&mut self) -> Result<PullRequestResult, WorkError> {
        let RunStage::PullRequest = self.run.stage else {
            return Err(WorkError::NotNow { wanted: "open a pull request", stage: self.run.stage.name() });
        };
        let opened = match find_program("gh", &self.context.search_path) {
            None => Err("gh is not installed".to_owned()),
            Some(gh) => {
                let ask =
                    |args: &[String]| Command::new(&gh).args(args).dir(&self.context.project.root).capture();
                let made = ask(&self.gh_args())?;
                let url = made.exit.success().then(|| url_in(&made.stdout)).flatten();
                // An existing pull request, perhaps of an interrupted run, counts as opened.
                let there = || {
                    let branch = self.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
                    let view = ["pr", "view", &branch, "--json", "url", "--jq", ".url"].map(str::to_owned);
                    ask(&view).ok().filter(|view| view.exit.success()).and_then(|view| url_in(&view.stdout))
                };
                url.or_else(there).ok_or_else(|| {
                    let output = String::from_utf8_lossy(&made.stderr).trim().to_owned();
                    if output.is_empty() { format!("gh {}", made.exit) } else { output }
                })
            }
        };
        match opened {
            Ok(url) => {
                self.log("pr", json!({"status": "ok", "url": url, "title": pull_request::title(&self.run)}))?;
                self.apply(RunEvent::PullRequestMade { url: url.clone() })?;
                Ok(PullRequestResult::Made { url })
            }
            Err(why) => {
                self.check_pause()?;
                let commands = self.manual_commands(false);
                self.log("pr", json!({"status": "error", "error": why, "commands": commands}))?;
                self.apply(RunEvent::NoPullRequest)?;
                Ok(PullRequestResult::ByHand { why, commands })
            }
        }
    }

    fn gh_args(&self) -> Vec<String> {
        let branch = self.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
        let body = self.pull_request_path();
        let args = [
            "pr",
            "create",
            "--base",
            &self.base(),
            "--head",
            &branch,
            "--title",
            &pull_request::title(&self.run),
            "--body-file",
            &body,
        ];
        args.map(str::to_owned).into()
    }

    /// The commands for the push, if requested, and the pull request.
    pub fn manual_commands(&self, push: bool) -> Vec<String> {
        let branch = self.run.branch.as_ref().map(ToString::to_string).unwrap_or_default();
        let quoted = |words: &[String]| {
            words.iter().map(|word| shell_quote(OsStr::new(word))).collect::<Vec<_>>().join(" ")
        };
        let remote = find_remote(&self.context).ok().flatten().unwrap_or_else(|| "origin".into());
        let push =
            push.then(|| quoted(&["git", "push", "--set-upstream", &remote, &branch].map(str::to_owned)));
        push.into_iter().chain([format!("gh {}", quoted(&self.gh_args()))]).collect()
    }
}

fn url_in(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output).into_owned();
    text.split_whitespace()
        .rev()
        .find(|word| word.starts_with("https://") || word.starts_with("http://"))
        .map(str::to_owned)
}

//! Branches from and to repositories on other machines, over ssh.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Git, GitError};
use crate::process::Command;
use crate::ssh::{self, SshTarget};

/// A large repository over a slow line takes long; a line that is gone ends earlier.
const LIMIT: Duration = Duration::from_mins(30);

impl Git {
    /// Stores refs of this repository in another one, as `source:destination`, `+` in front to overwrite. `receiver` is the
    /// shell command that takes the place of `git receive-pack` there; git appends the path.
    pub fn push_to<S: Into<OsString>>(
        &self,
        (target, path): (&SshTarget, &Path),
        receiver: &str,
        refs: impl IntoIterator<Item = S>,
    ) -> Result<(), GitError> {
        let receiver = format!("--receive-pack={receiver}");
        let options = ["--quiet", "--no-verify", "--no-recurse-submodules", &receiver];
        let push = self.over_ssh(None, ["push"].into_iter().chain(options).chain(["--"]));
        super::run(&push.arg(target.git_url(path)).args(refs)).map(drop)
    }

    /// Stores refs of another repository in this one.
    pub fn fetch_from<S: Into<OsString>>(
        &self,
        repository: (&SshTarget, &Path),
        refs: impl IntoIterator<Item = S>,
    ) -> Result<(), GitError> {
        self.fetch_over(repository, None, refs)
    }

    /// Like [`Self::fetch_from`], over a connection that is open already, if there is one.
    pub fn fetch_over<S: Into<OsString>>(
        &self,
        (target, path): (&SshTarget, &Path),
        shared: Option<&Path>,
        refs: impl IntoIterator<Item = S>,
    ) -> Result<(), GitError> {
        let options =
            ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"];
        let fetch = self.over_ssh(shared, ["fetch"].into_iter().chain(options).chain(["--"]));
        super::run(&fetch.arg(target.git_url(path)).args(refs)).map(drop)
    }

    fn over_ssh<'a>(&self, shared: Option<&Path>, args: impl IntoIterator<Item = &'a str>) -> Command {
        self.command(args)
            .env("GIT_SSH_COMMAND", ssh::git_ssh_command(shared))
            .env("GIT_SSH_VARIANT", "ssh")
            .time_limit(LIMIT)
            .output_limit(ssh::LARGEST_OUTPUT)
    }
}

//! `git paw init`

use std::path::Path;

use paw_core::PawError;
use paw_core::config;
use paw_core::paths::CheckoutDir;
use paw_host::config::repo_config_path;
use paw_host::files::{self, Access};

use crate::context::Context;

/// Keeps our files in a repository out of its history, except those that are shared on purpose.
const IGNORE_RULES: &str = "\
# Everything here is local to this machine, except:
*
!/.gitignore
!/config.toml
!/scripts/
!/scripts/**
";

/// For supervisors that run the script instead of the command.
const SWEEP: &str = "#!/bin/sh\nexec git paw sweep \"$@\"\n";

pub(crate) fn run(context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    if repo.bare {
        return Err(PawError::internal(format!("{} is a bare repository", repo.root.display()))
            .hint("run this command in a checkout"));
    }
    let speckit = repo.root.join(".specify").is_dir();
    let dir = CheckoutDir::of(&repo.root);
    let (ignore, sweep) = (dir.ignore_file(), dir.sweep_script());
    // A repository could lead us into the user's own files.
    for file in [&repo_config_path(&repo.root), &ignore, &dir.logs(), &sweep] {
        files::require_no_link(&repo.root, file)?;
    }
    let config = write_config(&repo.root, speckit)?;
    let ignored = files::load_text(&ignore)?.is_none();
    if ignored {
        files::write_atomic(&ignore, IGNORE_RULES.as_bytes(), Access::Usual)?;
    }
    files::create_dir(&dir.logs())?;
    if files::load_text(&sweep)?.is_none() {
        files::write_atomic(&sweep, SWEEP.as_bytes(), Access::Executable)?;
    }

    let say = |line: &str| context.output.say(line);
    match config {
        Config::Created => {
            say("created .git-paw/config.toml (all keys, commented out, with their defaults)")?;
            if speckit {
                say("found .specify: specs are read from .specify/specs")?;
            }
        }
        Config::Extended => say("added the missing keys to .git-paw/config.toml as comments")?,
        Config::Complete => say("config.toml already has all default keys; no changes")?,
    }
    if ignored {
        say("created .git-paw/.gitignore (only config.toml and scripts/ are tracked)")?;
    }
    if matches!(config, Config::Created) {
        say("next: git paw doctor")?;
    }
    Ok(())
}

enum Config {
    Created,
    Extended,
    Complete,
}

fn write_config(root: &Path, speckit: bool) -> Result<Config, PawError> {
    let file = repo_config_path(root);
    let (text, outcome) = match files::load_text(&file)? {
        None => (config::default_file(speckit), Config::Created),
        Some(existing) => match config::add_missing(&existing, &file.display().to_string())? {
            Some(extended) => (extended, Config::Extended),
            None => return Ok(Config::Complete),
        },
    };
    files::write_atomic(&file, text.as_bytes(), Access::Usual)?;
    Ok(outcome)
}

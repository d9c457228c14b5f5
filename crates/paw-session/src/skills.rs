//! Skills: what every agent of a kind is taught. A repository can have its own, then the user, then there is ours.
//!
//! - [`load`]: the skill of a name, from the nearest of these places
//! - [`fill`]: its text with the session's values in it

mod fill;

use std::path::{Path, PathBuf};

use paw_core::error::SkillError;
use paw_core::paths::ConfigDir;
use paw_core::paths::repo_skill;
use paw_core::text;

pub use fill::{Filled, Values, fill};

use crate::document::{self, DocumentError, Text, front_matter};

/// How agents work beside each other.
pub const COORDINATION: &str = "coordination";
/// How the supervisor watches them.
pub const SUPERVISOR: &str = "supervisor";

const BUILT_IN: [(&str, &str); 2] = [
    (COORDINATION, include_str!("skills/coordination.md")),
    (SUPERVISOR, include_str!("skills/supervisor.md")),
];

/// A text that teaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub body: String,
    pub origin: Origin,
}

/// Where a skill was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Repository(PathBuf),
    User(PathBuf),
    BuiltIn,
}

/// A skill, and why a nearer one was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub skill: Skill,
    pub warnings: Vec<String>,
}

/// The skill called `name`. `config_dir` is the user's own directory of git-paw.
///
/// A file that is no skill is passed over with a warning; one that cannot be read is an error.
pub fn load(name: &str, repo_root: &Path, config_dir: &Path) -> Result<Found, SkillError> {
    let unknown = || SkillError::UnknownSkill { name: name.to_owned() };
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(unknown());
    }
    let ours = repo_skill(repo_root, name);
    let theirs = ConfigDir::of(config_dir).skill(name);
    // A repository is a stranger's: it cannot point to a file elsewhere. The user may keep things where they like.
    let within = repo_root.canonicalize().unwrap_or_else(|_| repo_root.to_path_buf());
    let places = [
        (ours.clone(), Some(within.as_path()), Origin::Repository(ours)),
        (theirs.clone(), None, Origin::User(theirs)),
    ];

    let mut warnings = Vec::new();
    for (path, within, origin) in places {
        let skill = match document::read(&path, within) {
            Ok(None) => continue,
            Ok(Some(Text { damaged: true, .. })) => Err("it is not UTF-8".to_owned()),
            Ok(Some(text)) => parse(name, &text.text, origin),
            Err(DocumentError::Io(source)) => return Err(SkillError::UserOverrideRead { path, source }),
            Err(problem) => Err(problem.to_string()),
        };
        match skill {
            Ok((skill, odd)) => {
                warnings.extend(odd.map(|odd| format!("{}: {odd}", path.display())));
                return Ok(Found { skill, warnings });
            }
            Err(problem) => warnings.push(format!("{} is passed over: {problem}", path.display())),
        }
    }
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    let (skill, _) = parse(name, text, Origin::BuiltIn).map_err(|_| unknown())?;
    Ok(Found { skill, warnings })
}

/// The skill in a text, and what is odd about it; or why there is none.
fn parse(name: &str, text: &str, origin: Origin) -> Result<(Skill, Option<String>), String> {
    let parts = front_matter::split(text);
    if let Some(problem) = parts.problem {
        return Err(problem);
    }
    let require = |value: Option<String>, key: &str| {
        value.ok_or_else(|| format!("its front matter has no {key} (between two lines of --- at the top)"))
    };
    let own_name = require(parts.matter.name, "name")?;
    let description = require(parts.matter.description, "description")?;
    let odd = (own_name != name)
        .then(|| text::line(&format!("it calls itself '{own_name}', not '{name}'")).into_owned());
    Ok((Skill { name: own_name, description, body: parts.body.to_owned(), origin }, odd))
}

#[cfg(test)]
mod tests;

//! Skills: general instructions for agents and for the supervisor. A skill in the repository overrides the user's, which
//! overrides the built-in one.
//!
//! - [`load`]: finds a skill by name
//! - [`fill`]: replaces its placeholders with the session's values

mod placeholders;

use std::path::{Path, PathBuf};

use paw_core::error::SkillError;
use paw_core::paths::ConfigDir;
use paw_core::paths::{SKILL_FILE, repo_skill};
use paw_core::text;

pub use placeholders::{FilledSkill, SkillValues, fill};

use crate::untrusted_text::{self, UntrustedText, UntrustedTextError, front_matter};

/// How agents coordinate with each other.
pub const COORDINATION: &str = "coordination";
/// How the supervisor works.
pub const SUPERVISOR: &str = "supervisor";

const BUILT_IN: [(&str, &str); 2] = [
    (COORDINATION, include_str!("skills/coordination.md")),
    (SUPERVISOR, include_str!("skills/supervisor.md")),
];

/// A skill's text and its front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub body: String,
    pub origin: SkillOrigin,
}

/// Where a skill was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    Repository(PathBuf),
    User(PathBuf),
    BuiltIn,
}

/// A skill, with warnings about overrides that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub skill: Skill,
    pub warnings: Vec<String>,
}

/// Loads the skill called `name`. `config_dir` is the user's git-paw configuration directory.
///
/// A file that is not a valid skill is skipped with a warning; one that cannot be read is an error.
pub fn load(name: &str, repo_root: &Path, config_dir: &Path) -> Result<LoadedSkill, SkillError> {
    let unknown = || SkillError::UnknownSkill { name: name.to_owned() };
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(unknown());
    }
    let ours = repo_skill(repo_root, name);
    let theirs = ConfigDir::of(config_dir).skills(name);
    // The repository is not trusted, so its skill cannot be a link to a file outside of it. The user's can.
    let within = repo_root.canonicalize().unwrap_or_else(|_| repo_root.to_path_buf());
    let own = (ours.clone(), Some(within.as_path()), SkillOrigin::Repository(ours));
    let users = theirs.into_iter().map(|path| (path.clone(), None, SkillOrigin::User(path)));

    let mut warnings = Vec::new();
    for (path, within, origin) in std::iter::once(own).chain(users) {
        let skill = match untrusted_text::read(&path, within) {
            Ok(None) => continue,
            Ok(Some(UntrustedText { damaged: true, .. })) => Err("it is not UTF-8".to_owned()),
            Ok(Some(text)) if is_plain(&path, &text.text) => Ok((plain(name, &text.text, origin), None)),
            Ok(Some(text)) => parse(name, &text.text, origin),
            Err(UntrustedTextError::Io(source)) => return Err(SkillError::UserOverrideRead { path, source }),
            Err(problem) => Err(problem.to_string()),
        };
        match skill {
            Ok((skill, warning)) => {
                warnings.extend(warning.map(|warning| format!("{}: {warning}", path.display())));
                return Ok(LoadedSkill { skill, warnings });
            }
            Err(problem) => warnings.push(format!("skipped {}: {problem}", path.display())),
        }
    }
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    let (skill, _) = parse(name, text, SkillOrigin::BuiltIn).map_err(|_| unknown())?;
    Ok(LoadedSkill { skill, warnings })
}

/// Whether this is a single file without front matter, which names its skill.
fn is_plain(path: &Path, text: &str) -> bool {
    path.file_name().is_some_and(|name| name != SKILL_FILE) && !text.starts_with("---")
}

fn plain(name: &str, text: &str, origin: SkillOrigin) -> Skill {
    let description = String::new();
    Skill { name: name.to_owned(), description, body: text.to_owned(), origin }
}

/// Parses a skill and checks its name. Fails with the reason if the text is not a skill.
fn parse(name: &str, text: &str, origin: SkillOrigin) -> Result<(Skill, Option<String>), String> {
    let parts = front_matter::split(text);
    if let Some(problem) = parts.problem {
        return Err(problem);
    }
    let require = |value: Option<String>, key: &str| {
        value.ok_or_else(|| {
            format!("its front matter has no {key} (expected between two --- lines at the top)")
        })
    };
    let own_name = require(parts.matter.name, "name")?;
    let description = require(parts.matter.description, "description")?;
    let warning = (own_name != name).then(|| {
        text::line(&format!("its front matter has the name '{own_name}', expected '{name}'")).into_owned()
    });
    Ok((Skill { name: own_name, description, body: parts.body.to_owned(), origin }, warning))
}

#[cfg(test)]
mod tests;

//! Merges two layers key by key; the repository takes precedence.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::{ConfigError, Layer, PawConfig, SandboxLevel, SpecType};

/// Tables of named entries. An entry is replaced as a whole, never merged.
const WHOLE_ENTRIES: [&str; 3] = ["clis", "hosts", "presets"];

/// Merges the user's and the repository's layer with the defaults.
///
/// `exists` checks paths as written in the configuration; relative paths start at the root of the repository.
pub fn resolve(user: Layer, repo: Layer, exists: impl Fn(&Path) -> bool) -> Result<PawConfig, ConfigError> {
    let merged = merge_layers(user.table, tightened(repo.table));
    let mut config = PawConfig::deserialize(Value::Table(merged))
        .map_err(|error| ConfigError::Mismatch { message: error.message().to_owned() })?;
    adopt_constitution(&mut config, exists);
    Ok(config)
}

fn merge_layers(mut user: Table, repo: Table) -> Table {
    for section in WHOLE_ENTRIES {
        if let (Some(Value::Table(user)), Some(Value::Table(repo))) =
            (user.get_mut(section), repo.get(section))
        {
            user.retain(|name, _| !repo.contains_key(name));
        }
    }
    merge(user, repo)
}

/// A repository can turn the sandbox on, but not off.
fn tightened(mut repo: Table) -> Table {
    if let Some(Value::Table(sandbox)) = repo.get_mut("sandbox")
        && sandbox.get("runs").and_then(Value::as_str) == Some(SandboxLevel::Off.as_str())
    {
        sandbox.remove("runs");
    }
    repo
}

fn merge(mut under: Table, over: Table) -> Table {
    for (key, value) in over {
        let value = match (under.remove(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => Value::Table(merge(under, over)),
            (_, value) => value,
        };
        under.insert(key, value);
    }
    under
}

/// Detects the constitution that Spec Kit stores next to its specs.
fn adopt_constitution(config: &mut PawConfig, exists: impl Fn(&Path) -> bool) {
    if let Some(specs) = &config.specs
        && specs.spec_type == SpecType::Speckit
        && config.governance.constitution.is_none()
    {
        let path = tidy(&specs.dir().join("../memory/constitution.md"));
        if exists(&path) {
            config.governance.constitution = Some(path);
        }
    }
}

/// Resolves `.` and `..` without reading the disk.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match (part, tidy.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                tidy.pop();
            }
            (part, _) => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests;

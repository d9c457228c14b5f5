//! Keys that are accepted but have no effect, because git paw lacks the feature they configure. Their help gives the
//! reason. Setting one to another value than its default is a warning.

use toml::de::{DeTable, DeValue};

use super::schema::PawConfig;
use super::section::{ConfigKey, KeyShape};

/// The help of such a key starts with this.
const PREFIX: &str = "no effect: ";

/// A key without effect that a file sets.
#[derive(Debug)]
pub(super) struct KeyWithoutEffect {
    pub(super) byte: usize,
    pub(super) path: Vec<String>,
    /// "no effect: " and the reason.
    pub(super) help: String,
}

impl ConfigKey {
    /// Whether setting the key has no effect.
    pub fn is_without_effect(&self) -> bool {
        self.help().starts_with(PREFIX)
    }
}

/// The keys without effect that a file sets. `values` is the same file without positions.
pub(super) fn find(root: &DeTable<'_>, values: &toml::Table) -> Vec<KeyWithoutEffect> {
    let mut found = Vec::new();
    visit((root, values), PawConfig::KEYS, &mut Vec::new(), &mut found);
    found
}

/// The default value needs no warning.
fn is_default(key: &ConfigKey, value: Option<&toml::Value>) -> bool {
    matches!(key.shape, KeyShape::Value { sample, is_default: true } if value == Some(&sample()))
}

/// The recursion is as deep as the schema.
fn visit(
    (table, values): (&DeTable<'_>, &toml::Table),
    keys: &[ConfigKey],
    path: &mut Vec<String>,
    found: &mut Vec<KeyWithoutEffect>,
) {
    for (name, value) in table {
        let Some(key) = keys.iter().find(|key| key.name == name.get_ref()) else { continue };
        let plain = values.get(key.name);
        path.push(key.name.to_owned());
        if key.is_without_effect() && !is_default(key, plain) {
            found.push(KeyWithoutEffect { byte: name.span().start, path: path.clone(), help: key.help() });
        }
        if let (KeyShape::Section(keys), DeValue::Table(section), Some(toml::Value::Table(values))) =
            (&key.shape, value.get_ref(), plain)
        {
            visit((section, values), keys, path, found);
        }
        path.pop();
    }
}

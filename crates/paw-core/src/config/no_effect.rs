//! Keys that are accepted and come to nothing, because what they are about does not exist here. Their help says so, and
//! why; whoever sets one to something else than its default is told.

use toml::de::{DeTable, DeValue};

use super::schema::PawConfig;
use super::section::{ConfigKey, KeyShape};

/// How the help of such a key begins.
const MARK: &str = "no effect: ";

/// A key that was set for nothing.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) byte: usize,
    pub(super) path: Vec<String>,
    /// What its help says: that it has no effect, and why.
    pub(super) help: String,
}

impl ConfigKey {
    /// Whether setting it changes nothing.
    pub fn is_without_effect(&self) -> bool {
        self.help().starts_with(MARK)
    }
}

/// The keys of a file that were set for nothing. `values` is the same file, without its places.
pub(super) fn find(root: &DeTable<'_>, values: &toml::Table) -> Vec<Idle> {
    let mut found = Vec::new();
    visit((root, values), PawConfig::KEYS, &mut Vec::new(), &mut found);
    found
}

/// Its default says what happens anyway.
fn is_default(key: &ConfigKey, value: Option<&toml::Value>) -> bool {
    matches!(key.shape, KeyShape::Value { sample, is_default: true } if value == Some(&sample()))
}

/// Goes only where the schema goes, so never deep.
fn visit(
    (table, values): (&DeTable<'_>, &toml::Table),
    keys: &[ConfigKey],
    path: &mut Vec<String>,
    found: &mut Vec<Idle>,
) {
    for (name, value) in table {
        let Some(key) = keys.iter().find(|key| key.name == name.get_ref()) else { continue };
        let plain = values.get(key.name);
        path.push(key.name.to_owned());
        if key.is_without_effect() && !is_default(key, plain) {
            found.push(Idle { byte: name.span().start, path: path.clone(), help: key.help() });
        }
        if let (KeyShape::Section(keys), DeValue::Table(section), Some(toml::Value::Table(values))) =
            (&key.shape, value.get_ref(), plain)
        {
            visit((section, values), keys, path, found);
        }
        path.pop();
    }
}

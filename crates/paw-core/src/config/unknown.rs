//! Unknown keys, most often typos. Suggests the nearest known name.

use toml::de::{DeTable, DeValue};

use super::schema::PawConfig;
use super::section::{ConfigKey, KeyShape};
use super::source::key_text;

/// Longer names are not compared: they are not typos.
const MAX_COMPARED: usize = 64;

/// An unknown key, its path, and a suggestion.
#[derive(Debug)]
pub(super) struct UnknownKey {
    pub(super) byte: usize,
    pub(super) path: Vec<String>,
    pub(super) advice: Option<String>,
}

/// Removes every unknown key from the table and returns them in file order.
pub(super) fn remove_unknown(root: &mut DeTable<'_>) -> Vec<UnknownKey> {
    let mut found = Vec::new();
    visit(root, PawConfig::KEYS, &mut Vec::new(), &mut found);
    found.sort_by_key(|unknown| unknown.byte);
    found
}

/// The recursion is as deep as the schema.
fn visit(table: &mut DeTable<'_>, keys: &[ConfigKey], path: &mut Vec<String>, found: &mut Vec<UnknownKey>) {
    for (name, mut value) in std::mem::replace(table, DeTable::new()) {
        path.push(name.get_ref().to_string());
        let Some(key) = keys.iter().find(|key| key.name == name.get_ref()) else {
            let advice = advice(name.get_ref(), keys, path.len() > 1);
            found.push(UnknownKey { byte: name.span().start, path: path.clone(), advice });
            path.pop();
            continue;
        };
        match (&key.shape, value.get_mut()) {
            (KeyShape::Section(keys), DeValue::Table(section)) => visit(section, keys, path, found),
            (KeyShape::Entries { keys, .. }, DeValue::Table(entries)) => {
                for (name, entry) in entries.iter_mut() {
                    if let DeValue::Table(entry) = entry.get_mut() {
                        path.push(name.get_ref().to_string());
                        visit(entry, keys, path, found);
                        path.pop();
                    }
                }
            }
            _ => {}
        }
        path.pop();
        table.insert(name, value);
    }
}

fn advice(name: &str, keys: &[ConfigKey], in_section: bool) -> Option<String> {
    if in_section && PawConfig::KEYS.iter().any(|key| key.name == name) {
        return Some(format!("{} belongs at the top level of the file", key_text(name)));
    }
    nearest(name, keys).map(|known| format!("did you mean {known}?"))
}

fn nearest(name: &str, keys: &[ConfigKey]) -> Option<&'static str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let name = name.to_lowercase().replace('-', "_");
    let (distance, known) = keys
        .iter()
        .map(|key| (strsim::damerau_levenshtein(&name, key.name), key.name))
        .min_by_key(|&(d, _)| d)?;
    (distance <= known.len().max(3) / 3).then_some(known)
}

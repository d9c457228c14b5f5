//! Keys that nobody reads: most often a slip of the pen, so the nearest known name is offered.

use toml::de::{DeTable, DeValue};

use super::schema::PawConfig;
use super::section::{ConfigKey, KeyShape};
use super::source::key_text;

/// Longer names are not compared: nobody mistypes a name into a paragraph.
const MAX_COMPARED: usize = 64;

/// A key that nobody reads, the keys that lead to it, and what may have been meant.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) byte: usize,
    pub(super) path: Vec<String>,
    pub(super) advice: Option<String>,
}

/// Takes every key that the schema does not know out of the table, and returns them in the order of the file.
pub(super) fn take(root: &mut DeTable<'_>) -> Vec<Unknown> {
    let mut found = Vec::new();
    visit(root, PawConfig::KEYS, &mut Vec::new(), &mut found);
    found.sort_by_key(|unknown| unknown.byte);
    found
}

/// Goes only where the schema goes, so never deep.
fn visit(table: &mut DeTable<'_>, keys: &[ConfigKey], path: &mut Vec<String>, found: &mut Vec<Unknown>) {
    for (name, mut value) in std::mem::replace(table, DeTable::new()) {
        path.push(name.get_ref().to_string());
        let Some(key) = keys.iter().find(|key| key.name == name.get_ref()) else {
            let advice = advice(name.get_ref(), keys, path.len() > 1);
            found.push(Unknown { byte: name.span().start, path: path.clone(), advice });
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

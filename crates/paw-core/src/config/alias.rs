//! Aliases of keys, converted to the name in the schema.
//!
//! - `[supervisor] learnings = true` and `[supervisor.learnings_config]` are `[supervisor.learnings]`
//! - `[supervisor.governance]` is `[governance]`
//! - `[governance] docs = "a.md"` is a list of one

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A key that is set under two names: the ignored one and the used one.
#[derive(Debug)]
pub(super) struct AliasConflict {
    pub(super) byte: usize,
    pub(super) ignored: Vec<String>,
    pub(super) used: Vec<String>,
}

/// Converts every alias to the name in the schema. A key that already has that name takes precedence.
pub(super) fn normalize(root: &mut DeTable<'_>) -> Vec<AliasConflict> {
    let mut conflicts = Vec::new();
    if let Some(supervisor) = table_mut(root, "supervisor") {
        if let Some(learnings) = supervisor.get_mut("learnings") {
            switch_to_table(learnings);
        }
        conflicts.extend(rename_key(supervisor, "learnings_config", "learnings").into_iter().map(
            |ignored_key| AliasConflict {
                byte: ignored_key.byte,
                ignored: path(&["supervisor", "learnings_config", &ignored_key.key]),
                used: path(&["supervisor", "learnings", &ignored_key.key]),
            },
        ));
        if let Some(governance) = supervisor.remove("governance") {
            // Otherwise an empty [supervisor] would count as a configured supervisor.
            if supervisor.is_empty() {
                root.remove("supervisor");
            }
            conflicts.extend(merge_into(root, "governance", governance).into_iter().map(|ignored_key| {
                AliasConflict {
                    byte: ignored_key.byte,
                    ignored: path(&["supervisor", "governance", &ignored_key.key]),
                    used: path(&["governance", &ignored_key.key]),
                }
            }));
        }
    }
    if let Some(docs) = table_mut(root, "governance").and_then(|governance| governance.get_mut("docs")) {
        one_to_list(docs);
    }
    conflicts
}

struct IgnoredKey {
    byte: usize,
    key: String,
}

fn rename_key(table: &mut DeTable<'_>, from: &str, to: &'static str) -> Vec<IgnoredKey> {
    table.remove(from).map(|value| merge_into(table, to, value)).unwrap_or_default()
}

/// Sets `key` to `value`, or merges its keys into an existing table. Returns the keys that already existed.
fn merge_into<'i>(
    table: &mut DeTable<'i>,
    key: &'static str,
    value: Spanned<DeValue<'i>>,
) -> Vec<IgnoredKey> {
    let place = value.span();
    let mut ignored_key = Vec::new();
    match (table.get_mut(key).map(Spanned::get_mut), value.into_inner()) {
        (Some(DeValue::Table(present)), DeValue::Table(coming)) => {
            for (key, value) in coming {
                if present.contains_key(key.get_ref().as_ref()) {
                    ignored_key
                        .push(IgnoredKey { byte: key.span().start, key: key.into_inner().into_owned() });
                } else {
                    present.insert(key, value);
                }
            }
        }
        // Keep the value of the wrong type, so that the type check reports it.
        (Some(_), DeValue::Table(_)) => {}
        (_, value) => {
            table.insert(Spanned::new(place.clone(), key.into()), Spanned::new(place, value));
        }
    }
    ignored_key
}

/// `true` becomes `{ enabled = true }`.
fn switch_to_table(value: &mut Spanned<DeValue<'_>>) {
    if let DeValue::Boolean(on) = *value.get_ref() {
        let place = value.span();
        let mut table = DeTable::new();
        table
            .insert(Spanned::new(place.clone(), "enabled".into()), Spanned::new(place, DeValue::Boolean(on)));
        *value.get_mut() = DeValue::Table(table);
    }
}

/// `"a.md"` becomes `["a.md"]`.
fn one_to_list(value: &mut Spanned<DeValue<'_>>) {
    if matches!(value.get_ref(), DeValue::String(_)) {
        let place = value.span();
        let one = std::mem::replace(value.get_mut(), DeValue::Array(DeArray::new()));
        if let DeValue::Array(list) = value.get_mut() {
            list.push(Spanned::new(place, one));
        }
    }
}

fn table_mut<'t, 'i>(table: &'t mut DeTable<'i>, key: &str) -> Option<&'t mut DeTable<'i>> {
    match table.get_mut(key)?.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

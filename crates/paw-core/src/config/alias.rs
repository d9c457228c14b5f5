//! Other spellings of the same key, brought to the one that the schema knows.
//!
//! - `[supervisor] learnings = true` and `[supervisor.learnings_config]` are `[supervisor.learnings]`
//! - `[supervisor.governance]` is `[governance]`
//! - `[governance] docs = "a.md"` is a list of one

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A key that was given under two of its names: the one that is not read, and the one that is.
#[derive(Debug)]
pub(super) struct Clash {
    pub(super) byte: usize,
    pub(super) ignored: Vec<String>,
    pub(super) used: Vec<String>,
}

/// Brings every other spelling to the one in the schema. What is spelled that way already wins.
pub(super) fn normalise(root: &mut DeTable<'_>) -> Vec<Clash> {
    let mut clashes = Vec::new();
    if let Some(supervisor) = table_mut(root, "supervisor") {
        if let Some(learnings) = supervisor.get_mut("learnings") {
            switch_to_table(learnings);
        }
        clashes.extend(take_over(supervisor, "learnings_config", "learnings").into_iter().map(|lost| {
            Clash {
                byte: lost.byte,
                ignored: path(&["supervisor", "learnings_config", &lost.key]),
                used: path(&["supervisor", "learnings", &lost.key]),
            }
        }));
        if let Some(governance) = supervisor.remove("governance") {
            // A table that held nothing else must not count as a decision about the supervisor.
            if supervisor.is_empty() {
                root.remove("supervisor");
            }
            clashes.extend(absorb(root, "governance", governance).into_iter().map(|lost| Clash {
                byte: lost.byte,
                ignored: path(&["supervisor", "governance", &lost.key]),
                used: path(&["governance", &lost.key]),
            }));
        }
    }
    if let Some(docs) = table_mut(root, "governance").and_then(|governance| governance.get_mut("docs")) {
        one_to_list(docs);
    }
    clashes
}

struct Lost {
    byte: usize,
    key: String,
}

fn take_over(table: &mut DeTable<'_>, from: &str, to: &'static str) -> Vec<Lost> {
    table.remove(from).map(|value| absorb(table, to, value)).unwrap_or_default()
}

/// Puts `value` at `key`, or its keys into the table that is there; returns those that were there already.
fn absorb<'i>(table: &mut DeTable<'i>, key: &'static str, value: Spanned<DeValue<'i>>) -> Vec<Lost> {
    let place = value.span();
    let mut lost = Vec::new();
    match (table.get_mut(key).map(Spanned::get_mut), value.into_inner()) {
        (Some(DeValue::Table(present)), DeValue::Table(coming)) => {
            for (key, value) in coming {
                if present.contains_key(key.get_ref().as_ref()) {
                    lost.push(Lost { byte: key.span().start, key: key.into_inner().into_owned() });
                } else {
                    present.insert(key, value);
                }
            }
        }
        // Neither of the wrong kinds may hide the other from the type check that follows.
        (Some(_), DeValue::Table(_)) => {}
        (_, value) => {
            table.insert(Spanned::new(place.clone(), key.into()), Spanned::new(place, value));
        }
    }
    lost
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

//! What a repository's file would have us run or loosen. Its user approves that once, before any of it is
//! used.

use std::net::IpAddr;
use std::path::{Component, Path};

use toml::{Table, Value};

use super::source::dotted;
use super::{Approval, BrokerAuth, Layer};

/// One such key and its value, in one line. Two layers that ask for the same have equal lists, in the same
/// order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustItem {
    pub key: String,
    pub value: String,
}

impl TrustItem {
    /// How much it lets agents do unasked, if that is what it is about.
    pub fn approval(&self) -> Option<Approval> {
        let is_asked_for = |level: &&Approval| self.value == exact(&Value::from(level.as_str()));
        let is_level = matches!(self.key.as_str(), "supervisor.agent_approval" | "supervisor.approval");
        Approval::ALL.iter().find(is_asked_for).filter(|_| is_level).copied()
    }
}

impl Layer {
    /// The keys of this layer that run programs, grant permissions, open the broker or write outside of the repository,
    /// sorted by key.
    ///
    /// Values that cannot do harm, such as an empty list or a loopback address, are not among them. An approval is, unless
    /// it is the strictest: whether it is more than the user's own is not known here.
    pub fn needs_trust(&self) -> Vec<TrustItem> {
        let mut items: Vec<_> = self.items().into_iter().map(|(_, item)| item).collect();
        items.sort();
        items
    }

    /// As if the file did not have those of these keys that are unwanted. An entry of `[clis]` or of
    /// `[autopilot.executors]` goes as a whole: half of one is none.
    #[must_use]
    pub fn without(&self, unwanted: impl Fn(&TrustItem) -> bool) -> Self {
        let mut layer = self.clone();
        for (path, _) in self.items().iter().filter(|(_, item)| unwanted(item)) {
            let length = match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["clis", ..] => 2,
                ["autopilot", "executors", ..] => 3,
                _ => path.len(),
            };
            remove(&mut layer.table, &path[..length]);
        }
        layer
    }

    fn items(&self) -> Vec<(Vec<String>, TrustItem)> {
        let mut items = Vec::new();
        visit(&self.table, &mut Vec::new(), &mut items);
        items
    }
}

fn remove(table: &mut Table, path: &[String]) {
    match path {
        [key] => drop(table.remove(key)),
        [key, rest @ ..] => {
            if let Some(Value::Table(inner)) = table.get_mut(key) {
                remove(inner, rest);
            }
        }
        [] => {}
    }
}

fn visit(table: &Table, path: &mut Vec<String>, items: &mut Vec<(Vec<String>, TrustItem)>) {
    for (key, value) in table {
        path.push(key.clone());
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        match value {
            Value::Table(inner) => visit(inner, path, items),
            value if runs_or_loosens(&keys, value) && !is_empty(value) => {
                items.push((path.clone(), TrustItem { key: dotted(path), value: exact(value) }));
            }
            _ => {}
        }
        path.pop();
    }
}

fn runs_or_loosens(path: &[&str], value: &Value) -> bool {
    match path {
        // Whatever else a CLI's entry may hold some day: only these are known to be harmless.
        ["clis", _, key] => !matches!(*key, "display_name" | "submit_delay_ms"),
        ["clis", _, _, ..]
        | ["autopilot", "executors", _, ..]
        | ["worktree", "setup_commands"]
        | ["supervisor", "auto_approve", "safe_commands"]
        | ["supervisor", "common_dev_allowlist", "extra"] => true,
        ["supervisor", "agent_approval" | "approval"] => value.as_str() != Some(Approval::Manual.as_str()),
        ["supervisor" | "autopilot", key] => key.ends_with("_command"),
        ["broker", "auth"] => value.as_str() == Some(BrokerAuth::None.as_str()),
        ["broker", "bind"] => !value.as_str().is_some_and(is_loopback),
        ["logging", "log_dir"] => !value.as_str().is_some_and(stays_inside),
        _ => false,
    }
}

fn is_loopback(bind: &str) -> bool {
    bind == "localhost" || bind.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a path of a repository's file stays among that repository's own files.
fn stays_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

/// The value in one line. Unequal values stay unequal, and nothing in it can disturb a terminal.
fn exact(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(list) => format!("[{}]", list.iter().map(exact).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

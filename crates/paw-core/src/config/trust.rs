//! The keys in the file of a repository that run programs or relax permissions. The user has to approve them before use.

use std::net::IpAddr;
use std::path::{Component, Path};

use toml::{Table, Value};

use super::source::dotted;
use super::{Approval, BrokerAuth, Layer};

/// A key that needs trust and its value, on one line. Equal settings give equal lists in the same order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrustItem {
    pub key: String,
    pub value: String,
}

impl TrustItem {
    /// The approval level, if the key sets one.
    pub fn approval(&self) -> Option<Approval> {
        let is_asked_for = |level: &&Approval| self.value == exact(&Value::from(level.as_str()));
        let is_level = matches!(self.key.as_str(), "supervisor.agent_approval" | "supervisor.approval");
        Approval::ALL.iter().find(is_asked_for).filter(|_| is_level).copied()
    }
}

impl Layer {
    /// The keys of this layer that run programs, grant permissions, open the broker or the page, or write outside of the repository,
    /// sorted by key.
    ///
    /// Omits harmless values, such as an empty list or a loopback address. Includes every approval level except the
    /// strictest, because the user's own level is not known here.
    pub fn needs_trust(&self) -> Vec<TrustItem> {
        let mut items: Vec<_> = self.items().into_iter().map(|(_, item)| item).collect();
        items.sort();
        items
    }

    /// The layer without the unwanted keys. Removes an entry of `[clis]` or `[autopilot.executors]` as a whole.
    #[must_use]
    pub fn without(&self, unwanted: impl Fn(&TrustItem) -> bool) -> Self {
        let mut layer = self.clone();
        for (path, _) in self.items().iter().filter(|(_, item)| unwanted(item)) {
            let length = match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["clis" | "hosts", ..] => 2,
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
        // Any new key of a CLI needs trust; only these are known to be harmless.
        ["clis", _, key] => !matches!(*key, "display_name" | "submit_delay_ms"),
        ["clis", _, _, ..]
        | ["hosts", _, ..]
        | ["cluster", _]
        | ["autopilot", "executors", _, ..]
        | ["worktree", "setup_commands"]
        | ["notify", "command"]
        | ["supervisor", "auto_approve", "safe_commands"]
        | ["supervisor", "common_dev_allowlist", "extra"] => true,
        ["supervisor", "agent_approval" | "approval"] => value.as_str() != Some(Approval::Manual.as_str()),
        ["supervisor" | "autopilot", key] => key.ends_with("_command"),
        ["broker", "auth"] => value.as_str() == Some(BrokerAuth::None.as_str()),
        // A repository may only restrict the page.
        ["web", key] => *key != "view_only" || value.as_bool() != Some(true),
        ["broker", "bind"] => !value.as_str().is_some_and(is_loopback),
        ["logging", "log_dir"] => !value.as_str().is_some_and(stays_inside),
        _ => false,
    }
}

fn is_loopback(bind: &str) -> bool {
    bind == "localhost" || bind.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a path in the file of a repository stays inside that repository.
fn stays_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

/// The value on one line, safe for a terminal. Different values give different texts.
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

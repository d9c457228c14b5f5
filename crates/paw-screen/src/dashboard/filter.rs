//! Which messages are shown.

use super::view::{Kind, Message};

/// Nothing chosen means everything shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    kinds: Vec<Kind>,
    /// Only what this agent sent or received.
    agent: Option<String>,
    search: String,
    /// What is compared, in small letters.
    folded: String,
}

impl Filter {
    pub(super) fn toggle(&mut self, kind: Kind) {
        if let Some(place) = self.kinds.iter().position(|chosen| *chosen == kind) {
            self.kinds.remove(place);
        } else {
            self.kinds.push(kind);
            self.kinds.sort_unstable();
        }
    }

    pub(super) fn only(&mut self, agent: Option<String>) {
        self.agent = agent;
    }

    pub(super) fn search_for(&mut self, text: &str) {
        text.clone_into(&mut self.search);
        self.folded = text.to_lowercase();
    }

    pub(super) fn chosen(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(super) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    pub(super) fn is_open(&self) -> bool {
        self.kinds.is_empty() && self.agent.is_none() && self.search.is_empty()
    }

    pub(super) fn shows(&self, message: &Message) -> bool {
        let kind = self.kinds.is_empty() || self.chosen(message.kind);
        let agent = self
            .agent
            .as_deref()
            .is_none_or(|id| [&message.from, &message.to].iter().any(|who| who.as_str() == id));
        kind && agent && self.finds(message)
    }

    fn finds(&self, message: &Message) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.folded);
        self.folded.is_empty()
            || [&message.text, &message.from, &message.to].iter().any(|text| has(text.as_str()))
            || has(message.kind.word())
            || message.fields.iter().any(|(_, value)| has(value.as_str()))
    }
}

//! Which messages are shown.

use paw_core::AgentId;
use paw_view::{MessageKind, MessageView};

/// The criteria for visible messages. An empty filter shows all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    kinds: Vec<MessageKind>,
    /// Only messages that this agent sent or received.
    agent: Option<AgentId>,
    search: String,
    /// The search text in lowercase.
    folded: String,
}

impl Filter {
    pub(super) fn toggle(&mut self, kind: MessageKind) {
        if let Some(index) = self.kinds.iter().position(|selected| *selected == kind) {
            self.kinds.remove(index);
        } else {
            self.kinds.push(kind);
            self.kinds.sort_unstable();
        }
    }

    pub(super) fn only(&mut self, agent: Option<AgentId>) {
        self.agent = agent;
    }

    pub(super) fn search_for(&mut self, text: &str) {
        text.clone_into(&mut self.search);
        self.folded = text.to_lowercase();
    }

    pub(super) fn selected(&self, kind: MessageKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(super) fn kinds(&self) -> &[MessageKind] {
        &self.kinds
    }

    pub(super) fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    pub(super) fn is_open(&self) -> bool {
        self.kinds.is_empty() && self.agent.is_none() && self.search.is_empty()
    }

    pub(super) fn shows(&self, message: &MessageView) -> bool {
        let kind = self.kinds.is_empty() || self.selected(message.kind);
        let agent =
            self.agent.as_ref().is_none_or(|id| message.from == *id || message.to.as_ref() == Some(id));
        kind && agent && self.finds(message)
    }

    fn finds(&self, message: &MessageView) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.folded);
        self.folded.is_empty()
            || has(&message.text)
            || has(message.from.as_str())
            || message.to.as_ref().is_some_and(|to| has(to.as_str()))
            || has(message.kind.word())
            || message.fields.iter().any(|(_, value)| has(value))
    }
}

/// The message type of a key, `1` to `9` and `0`.
pub(super) fn kind_of_key(key: char) -> Option<MessageKind> {
    let index = match key.to_digit(10)? {
        0 => 9,
        digit => digit as usize - 1,
    };
    MessageKind::ALL.get(index).copied()
}

pub(super) fn key_of_kind(kind: MessageKind) -> char {
    match MessageKind::ALL.iter().position(|other| *other == kind) {
        Some(index @ 0..9) => char::from(b'1' + u8::try_from(index).unwrap_or(0)),
        _ => '0',
    }
}

/// Four letters, for narrow screens.
pub(super) fn short_word(kind: MessageKind) -> &'static str {
    &kind.word()[..4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_message_has_its_own_key() {
        for kind in MessageKind::ALL {
            assert_eq!(kind_of_key(key_of_kind(kind)), Some(kind));
        }
        assert_eq!(MessageKind::ALL.map(key_of_kind).iter().collect::<String>(), "1234567890");
        assert_eq!(kind_of_key('a'), None);
    }
}

//! Ids of worktrees and conversations, sortable by creation time.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! sortable_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// Generates an id that sorts after every older id.
            pub fn generate() -> Self {
                Self(format!("{}{}", Self::PREFIX, uuid::Uuid::now_v7().simple()))
            }

            pub(crate) fn stored(text: String) -> Self {
                Self(text)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

sortable_id!(
    /// A worktree in the registry: `wt_…`.
    WorktreeId,
    "wt_"
);

sortable_id!(
    /// A conversation with an agent in a worktree: `sess_…`.
    ConversationId,
    "sess_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_time() {
        let ids: Vec<_> = (0..100).map(|_| WorktreeId::generate()).collect();
        assert!(ids.is_sorted() && ids[0] != ids[1] && ids[0].as_str().starts_with("wt_"), "{ids:?}");
    }
}

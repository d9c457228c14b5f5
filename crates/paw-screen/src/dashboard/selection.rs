//! Which row of a panel is selected, also when rows come and go around it.

/// A index in a list of things that have keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection<K> {
    key: Option<K>,
    index: usize,
}

impl<K> Default for Selection<K> {
    fn default() -> Self {
        Self { key: None, index: 0 }
    }
}

impl<K: PartialEq> Selection<K> {
    /// Where the selected thing stands now; where it stood, when it is gone.
    pub(super) fn index(&self, keys: impl ExactSizeIterator<Item = K>) -> usize {
        let last = keys.len().saturating_sub(1);
        let found = self.key.as_ref().and_then(|selected| {
            let mut keys = keys;
            keys.position(|key| key == *selected)
        });
        found.unwrap_or(self.index).min(last)
    }

    pub(super) fn set(&mut self, index: usize, key: Option<K>) {
        *self = Self { key, index };
    }

    /// Keeps hold of what is selected before the list changes.
    pub(super) fn is_set(&self) -> bool {
        self.key.is_some()
    }
}

/// The first row shown, so that the selected one is in view and the window is full.
pub(super) fn first_row(selected: usize, rows: usize, room: usize) -> usize {
    if room == 0 || rows <= room {
        return 0;
    }
    selected.saturating_sub(room / 2).min(rows - room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_row_is_followed_and_a_gone_one_leaves_its_place() {
        let mut cursor = Selection::default();
        cursor.set(1, Some("b"));
        assert_eq!(cursor.index(["x", "a", "b"].into_iter()), 2);
        assert_eq!(cursor.index(["a", "c"].into_iter()), 1);
        assert_eq!(cursor.index(["a"].into_iter()), 0);
        assert_eq!(cursor.index([].into_iter()), 0);
    }

    #[test]
    fn the_window_holds_the_chosen_row_and_no_empty_lines() {
        for (selected, rows, room) in [(0, 10, 4), (9, 10, 4), (5, 10, 4), (3, 4, 4), (0, 0, 3), (7, 8, 1)] {
            let first = first_row(selected, rows, room);
            assert!(first <= selected && selected < first + room.max(1), "{selected} {rows} {room}");
            assert!(rows < room || first + room <= rows);
        }
    }
}

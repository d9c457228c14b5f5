//! The selected row of a panel, which stays selected while rows are added and removed.

/// The selected item of a list, by key and by index.
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
    /// The current index of the selected item, or its last index if it was removed.
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

    /// Whether an item is selected.
    pub(super) fn is_set(&self) -> bool {
        self.key.is_some()
    }
}

/// The first visible row, so that the selected one is visible and the window is full.
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
    fn selection_follows_its_item_and_keeps_the_index_of_a_removed_one() {
        let mut cursor = Selection::default();
        cursor.set(1, Some("b"));
        assert_eq!(cursor.index(["x", "a", "b"].into_iter()), 2);
        assert_eq!(cursor.index(["a", "c"].into_iter()), 1);
        assert_eq!(cursor.index(["a"].into_iter()), 0);
        assert_eq!(cursor.index([].into_iter()), 0);
    }

    #[test]
    fn first_row_keeps_the_selected_row_visible_and_the_window_full() {
        for (selected, rows, room) in [(0, 10, 4), (9, 10, 4), (5, 10, 4), (3, 4, 4), (0, 0, 3), (7, 8, 1)] {
            let first = first_row(selected, rows, room);
            assert!(first <= selected && selected < first + room.max(1), "{selected} {rows} {room}");
            assert!(rows < room || first + room <= rows);
        }
    }
}

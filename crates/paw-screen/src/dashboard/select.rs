//! Which row of a panel is chosen, also when rows come and go around it.

/// A place in a list of things that have keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor<K> {
    key: Option<K>,
    place: usize,
}

impl<K> Default for Cursor<K> {
    fn default() -> Self {
        Self { key: None, place: 0 }
    }
}

impl<K: PartialEq> Cursor<K> {
    /// Where the chosen thing stands now; where it stood, when it is gone.
    pub(super) fn place(&self, keys: impl ExactSizeIterator<Item = K>) -> usize {
        let last = keys.len().saturating_sub(1);
        let found = self.key.as_ref().and_then(|chosen| {
            let mut keys = keys;
            keys.position(|key| key == *chosen)
        });
        found.unwrap_or(self.place).min(last)
    }

    pub(super) fn put(&mut self, place: usize, key: Option<K>) {
        *self = Self { key, place };
    }

    /// Keeps hold of what is chosen before the list changes.
    pub(super) fn is_put(&self) -> bool {
        self.key.is_some()
    }
}

/// The first row shown, so that the chosen one is in view and the window is full.
pub(super) fn first_row(chosen: usize, rows: usize, room: usize) -> usize {
    if room == 0 || rows <= room {
        return 0;
    }
    chosen.saturating_sub(room / 2).min(rows - room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_row_is_followed_and_a_gone_one_leaves_its_place() {
        let mut cursor = Cursor::default();
        cursor.put(1, Some("b"));
        assert_eq!(cursor.place(["x", "a", "b"].into_iter()), 2);
        assert_eq!(cursor.place(["a", "c"].into_iter()), 1);
        assert_eq!(cursor.place(["a"].into_iter()), 0);
        assert_eq!(cursor.place([].into_iter()), 0);
    }

    #[test]
    fn the_window_holds_the_chosen_row_and_no_empty_lines() {
        for (chosen, rows, room) in [(0, 10, 4), (9, 10, 4), (5, 10, 4), (3, 4, 4), (0, 0, 3), (7, 8, 1)] {
            let first = first_row(chosen, rows, room);
            assert!(first <= chosen && chosen < first + room.max(1), "{chosen} {rows} {room}");
            assert!(rows < room || first + room <= rows);
        }
    }
}

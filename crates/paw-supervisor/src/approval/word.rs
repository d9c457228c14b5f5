//! A word after expansion, as a program would get it.

use super::file_tree::FileTree;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Whether part of it was quoted, escaped or expanded.
    pub(super) quoted: bool,
    /// Whether the shell would expand it to matching file names.
    pub(super) glob: bool,
    /// Whether it starts with an unquoted `~`.
    pub(super) home: bool,
    /// Whether it contains the output of a command.
    pub(super) unknown: bool,
    /// Whether it is unknown, but certainly a number: the exit code of a command.
    pub(super) is_status: bool,
    /// It stands for all files that `find` or another command lists.
    pub(super) tree: Option<FileTree>,
}

impl ShellWord {
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Whether its text is what the line says: not a file that another command lists, and not a command's output.
    pub(super) fn is_certain(&self) -> bool {
        !self.unknown && self.tree.is_none()
    }

    /// Whether a shell would neither split nor expand it.
    pub(super) fn is_plain(&self) -> bool {
        self.is_certain() && !self.home && is_plain(&self.text)
    }
}

/// Letters, digits and signs that mean nothing to a shell.
pub(super) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_./@:+=,%-".contains(c))
}

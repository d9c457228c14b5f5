//! The chapter about every key of the configuration, generated from its schema.

use std::fmt::Write as _;

use paw_core::config::{ConfigKey, KeyShape, PawConfig};

const ABOUT: &str = "\
# Every key

This page is generated from the program's own list of keys. [Configuration](configuration.md) explains where the files
are and how they are merged. A key without a default is unset until you set it; the table shows an example for it. Some
keys are accepted for compatibility with other versions but have no effect; setting one prints a warning.
";

pub(super) fn page() -> String {
    let mut page = ABOUT.to_owned();
    page.push_str(
        "\n## Without a section\n\nSet these at the top of the file, before the first `[section]`.\n\n",
    );
    table(PawConfig::KEYS, &mut page);
    for key in PawConfig::KEYS {
        sections(key.name, key, &mut page);
    }
    page
}

/// A section and its subsections.
fn sections(path: &str, key: &ConfigKey, page: &mut String) {
    let (name, keys) = match key.shape {
        KeyShape::Value { .. } => return,
        KeyShape::Section(keys) => (path.to_owned(), keys),
        KeyShape::Entries { keys, .. } => (format!("{path}.<name>"), keys),
    };
    let _ = write!(page, "\n## `[{name}]`\n\n{}.\n\n", sentence(&key.help()));
    if let KeyShape::Entries { example, .. } = key.shape {
        let _ =
            write!(page, "You can have several, each with a name of your choice: `[{path}.{example}]`.\n\n");
    }
    table(keys, page);
    for inner in keys {
        sections(&format!("{name}.{}", inner.name), inner, page);
    }
}

fn table(keys: &[ConfigKey], page: &mut String) {
    page.push_str("| key | default | what it does |\n|---|---|---|\n");
    for key in keys {
        if let KeyShape::Value { sample, is_default } = key.shape {
            let value = cell(&sample().to_string());
            let value = if is_default { format!("`{value}`") } else { format!("none (example: `{value}`)") };
            let _ = writeln!(page, "| `{}` | {value} | {} |", key.name, cell(&key.help()));
        }
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

//! The plugin that makes opencode call our hook. opencode has no hooks that run a program, but it passes events to plugins.
//!
//! An environment variable names the plugin, which is outside the worktree: for a plugin inside a project, opencode would
//! first install packages there.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::{Value, json};

/// The variable from which opencode reads additional configuration.
pub(super) const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

const PLUGIN: &str = include_str!("plugin.js");

/// The source of the plugin, which runs `program`. `None` if the program's path is not Unicode.
pub(super) fn text(program: &Path) -> Option<String> {
    let program = Value::String(program.to_str()?.to_owned());
    Some(PLUGIN.replacen("\"@PROGRAM@\"", &program.to_string(), 1))
}

/// The configuration that names the plugin in `file`.
pub(super) fn configuration(file: &Path) -> String {
    json!({"plugin": [url(file)]}).to_string()
}

/// The path as a percent-encoded file URL.
fn url(file: &Path) -> String {
    file.as_os_str().as_bytes().iter().fold("file://".to_owned(), |mut url, byte| {
        match byte {
            b'/' | b'.' | b'-' | b'_' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
        url
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn text_quotes_the_path_of_the_program() {
        let plugin = text(Path::new("/opt/it's \"x\"\\/git-paw")).unwrap();
        assert!(plugin.contains(r#"const PROGRAM = "/opt/it's \"x\"\\/git-paw";"#), "{plugin:.400}");
        assert!(!plugin.contains("@PROGRAM@"));
        assert_eq!(text(Path::new(OsStr::from_bytes(b"/\xff"))), None);
    }

    #[test]
    fn configuration_encodes_the_path_of_the_plugin() {
        assert_eq!(
            configuration(Path::new("/my app's/é#%/.git/paw/plugin.js")),
            r#"{"plugin":["file:///my%20app%27s/%C3%A9%23%25/.git/paw/plugin.js"]}"#
        );
    }
}

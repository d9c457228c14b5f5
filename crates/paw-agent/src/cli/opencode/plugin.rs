//! The plugin that makes opencode call us. opencode has no hooks that run a program, but it hands its events to plugins.
//!
//! It is named in the environment of the CLI and lies outside of the worktree: for a plugin among a project's own files
//! opencode would first install packages there.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::{Value, json};

/// What opencode reads more of its configuration from.
pub(super) const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

const PLUGIN: &str = include_str!("plugin.js");

/// The text of the plugin, which runs `program`. Nothing for a program whose path is not Unicode.
pub(super) fn text(program: &Path) -> Option<String> {
    let program = Value::String(program.to_str()?.to_owned());
    Some(PLUGIN.replacen("\"@PROGRAM@\"", &program.to_string(), 1))
}

/// The configuration that names the plugin in `file`.
pub(super) fn configuration(file: &Path) -> String {
    json!({"plugin": [url(file)]}).to_string()
}

/// The path as a URL: what could mean something else there is written in hexadecimal.
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
    fn the_program_stands_in_the_plugin_whatever_it_is_called() {
        let plugin = text(Path::new("/opt/it's \"x\"\\/git-paw")).unwrap();
        assert!(plugin.contains(r#"const PROGRAM = "/opt/it's \"x\"\\/git-paw";"#), "{plugin:.400}");
        assert!(!plugin.contains("@PROGRAM@"));
        assert_eq!(text(Path::new(OsStr::from_bytes(b"/\xff"))), None);
    }

    #[test]
    fn the_configuration_names_the_plugin_whatever_its_directory_is_called() {
        assert_eq!(
            configuration(Path::new("/my app's/é#%/.git/paw/plugin.js")),
            r#"{"plugin":["file:///my%20app%27s/%C3%A9%23%25/.git/paw/plugin.js"]}"#
        );
    }
}

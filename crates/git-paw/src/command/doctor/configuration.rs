//! The configuration files: readable, well formed, and without keys that nobody reads.

use std::path::Path;

use paw_core::config::PawConfig;
use paw_host::config::{load_layer, load_layers, repo_config_path};
use paw_host::files::Dirs;

use super::Check;

const GROUP: &str = "Config";

/// The findings, and the configuration the other checks go by: defaults where the files cannot be used.
pub(super) fn check(repo_root: Option<&Path>, dirs: &Dirs) -> (Vec<Check>, PawConfig) {
    let files =
        [Some(("user", dirs.config_file())), repo_root.map(|root| ("repository", repo_config_path(root)))];
    let checks = files.into_iter().flatten().flat_map(|(name, file)| check_file(name, &file)).collect();
    let merged = load_layers(repo_root, None).and_then(|layers| layers.resolve());
    (checks, merged.unwrap_or_default())
}

fn check_file(name: &str, file: &Path) -> Vec<Check> {
    let shown = file.display();
    match load_layer(file) {
        Err(error) => vec![Check::ok(GROUP, name, error.to_string()).fail(format!("mend {shown}"))],
        Ok(_) if !file.exists() => vec![Check::ok(GROUP, name, format!("{shown} (none, defaults hold)"))],
        Ok(layer) if layer.warnings().is_empty() => vec![Check::ok(GROUP, name, shown.to_string())],
        Ok(layer) => {
            let mend = "correct the spelling, or remove the key; nothing reads it";
            layer
                .warnings()
                .iter()
                .map(|warning| Check::ok(GROUP, name, warning.to_string()).warn(mend))
                .collect()
        }
    }
}

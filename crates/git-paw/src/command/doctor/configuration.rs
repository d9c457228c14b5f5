//! Checks that the configuration files are readable and valid, without unknown keys.

use std::path::Path;

use paw_core::config::PawConfig;
use paw_host::config::{load_layer, load_layers, repo_config_path};
use paw_host::files::Dirs;
use paw_supervisor::governance;

use super::DoctorCheck;

const GROUP: &str = "Config";

/// The findings, and the configuration for the other checks: defaults if the files are invalid.
pub(super) fn check(repo_root: Option<&Path>, dirs: &Dirs) -> (Vec<DoctorCheck>, PawConfig) {
    let files =
        [Some(("user", dirs.config_file())), repo_root.map(|root| ("repository", repo_config_path(root)))];
    let checks = files.into_iter().flatten().flat_map(|(name, file)| check_file(name, &file)).collect();
    let merged = load_layers(repo_root, None).and_then(|layers| layers.resolve());
    (checks, merged.unwrap_or_default())
}

/// The configured governance documents that cannot be read.
pub(super) fn check_governance(config: &PawConfig, root: &Path) -> Vec<DoctorCheck> {
    let missing = governance::load(&config.governance, root).missing;
    let warn = |missing: &governance::MissingDocument| {
        DoctorCheck::ok(GROUP, "governance", missing.to_string())
            .warn("write the document, or correct the path in [governance]; no commit is checked against it")
    };
    missing.iter().map(warn).collect()
}

fn check_file(name: &str, file: &Path) -> Vec<DoctorCheck> {
    let shown = file.display();
    match load_layer(file) {
        Err(error) => vec![DoctorCheck::ok(GROUP, name, error.to_string()).fail(format!("fix {shown}"))],
        Ok(_) if !file.exists() => {
            vec![DoctorCheck::ok(GROUP, name, format!("{shown} (not found, using defaults)"))]
        }
        Ok(layer) if layer.warnings().is_empty() => vec![DoctorCheck::ok(GROUP, name, shown.to_string())],
        Ok(layer) => {
            let fix = "correct the spelling, or remove the key; git paw ignores it";
            layer
                .warnings()
                .iter()
                .map(|warning| DoctorCheck::ok(GROUP, name, warning.to_string()).warn(fix))
                .collect()
        }
    }
}

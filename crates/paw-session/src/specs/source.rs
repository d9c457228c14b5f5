//! Which kind of specs is read, and where. Pure.

use std::path::{Path, PathBuf};

use paw_core::config::SpecsConfig;

use super::SpecFormat;

/// Where specs are and how they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) format: SpecFormat,
    pub(super) dir: PathBuf,
}

/// The command line decides, then `[specs]`, then what the repository looks like. A directory that is configured holds
/// for every kind.
pub(super) fn choose(
    flag: Option<SpecFormat>,
    config: Option<&SpecsConfig>,
    is_dir: impl Fn(&Path) -> bool,
) -> Source {
    let detect = || {
        if is_dir(SpecFormat::Speckit.default_dir()) { SpecFormat::Speckit } else { SpecFormat::Openspec }
    };
    let format = flag.or(config.map(|config| config.spec_type)).unwrap_or_else(detect);
    let dir = config.and_then(|config| config.dir.clone()).unwrap_or_else(|| format.default_dir().into());
    Source { format, dir }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        flag: Option<SpecFormat>,
        config: Option<(&str, Option<&str>)>,
        speckit: bool,
    ) -> (String, String) {
        let config = config.map(|(kind, dir)| SpecsConfig {
            spec_type: *SpecFormat::ALL.iter().find(|format| format.as_str() == kind).unwrap(),
            dir: dir.map(Into::into),
        });
        let source = choose(flag, config.as_ref(), |dir| speckit && dir == Path::new(".specify/specs"));
        (source.format.to_string(), source.dir.display().to_string())
    }

    fn is(format: &str, dir: &str) -> (String, String) {
        (format.to_owned(), dir.to_owned())
    }

    #[test]
    fn the_flag_beats_the_configuration_and_that_beats_what_is_there() {
        let flag = Some(SpecFormat::Markdown);
        let config = Some(("openspec", None));
        assert_eq!(chosen(flag, config, true), is("markdown", "specs"));
        assert_eq!(chosen(None, config, true), is("openspec", "specs"));
        assert_eq!(chosen(None, None, true), is("speckit", ".specify/specs"));
        assert_eq!(chosen(None, None, false), is("openspec", "specs"));
        assert_eq!(chosen(Some(SpecFormat::Speckit), None, false), is("speckit", ".specify/specs"));
    }

    #[test]
    fn a_configured_directory_holds_for_every_format() {
        let config = Some(("openspec", Some("work/changes")));
        assert_eq!(chosen(None, config, true), is("openspec", "work/changes"));
        assert_eq!(chosen(Some(SpecFormat::Speckit), config, true), is("speckit", "work/changes"));
    }
}

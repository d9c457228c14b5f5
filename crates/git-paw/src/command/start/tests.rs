use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command};

fn start(args: &[&str]) -> StartArgs {
    match try_start(args) {
        Ok(args) => args,
        Err(error) => panic!("{error}"),
    }
}

fn try_start(args: &[&str]) -> Result<StartArgs, String> {
    let cli =
        Cli::try_parse_from(["git-paw", "start"].iter().chain(args)).map_err(|error| error.to_string())?;
    match cli.command {
        Some(Command::Start(args)) => Ok(args),
        other => panic!("{other:?}"),
    }
}

#[test]
fn start_with_supervisor_flag_combined_with_other_flags() {
    let args = start(&["--supervisor", "--cli", "claude", "--branches", "feat/a,feat/b"]);
    assert!(args.supervisor);
    assert_eq!(args.cli.as_deref(), Some("claude"));
    assert_eq!(args.branches, ["feat/a", "feat/b"]);
    assert!(!start(&["--cli", "claude"]).supervisor);
}

#[test]
fn start_with_no_rebase_flag() {
    let args = start(&["--no-rebase", "--supervisor", "--from-specs"]);
    assert!(args.no_rebase && args.supervisor && args.from_all_specs);
    assert!(!start(&["--cli", "claude"]).no_rebase);
}

#[test]
fn from_specs_parses_identically_to_from_all_specs() {
    assert_eq!(start(&["--from-specs"]), start(&["--from-all-specs"]));
    let both = start(&["--from-all-specs", "--supervisor"]);
    assert!(both.from_all_specs && both.supervisor);
}

#[test]
fn specs_distinguishes_absent_picker_and_names() {
    assert_eq!(start(&["--supervisor"]).specs, None);
    assert_eq!(start(&["--specs"]).specs, Some(vec![]));
    assert_eq!(start(&["--specs", "add-auth"]).specs, Some(vec!["add-auth".to_owned()]));
    let several = start(&["--specs", "add-auth,fix-session,add-logging"]).specs.unwrap();
    assert_eq!(several, ["add-auth", "fix-session", "add-logging"]);
    assert!(start(&["--specs", "--supervisor"]).supervisor);
}

#[test]
fn from_all_specs_and_specs_together_are_rejected() {
    for flag in ["--from-all-specs", "--from-specs"] {
        let error = try_start(&[flag, "--specs", "add-auth"]).unwrap_err();
        assert!(error.contains("--from-all-specs") && error.contains("--specs"), "{error}");
    }
}

#[test]
fn no_supervisor_sets_the_flag_and_combines_with_others() {
    let args = start(&["--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b"]);
    assert!(args.no_supervisor && !args.supervisor);
    assert_eq!(args.branches, ["feat/a", "feat/b"]);
    let neither = start(&[]);
    assert!(!neither.no_supervisor && !neither.supervisor);
}

#[test]
fn both_supervisor_flags_together_are_rejected() {
    let error = try_start(&["--supervisor", "--no-supervisor"]).unwrap_err();
    assert!(error.contains("--supervisor") && error.contains("--no-supervisor"), "{error}");
}

#[test]
fn start_refuses_an_unknown_spec_format_and_lists_the_known_ones() {
    assert_eq!(start(&["--specs-format", "speckit"]).specs_format, Some(SpecFormat::Speckit));
    let error = try_start(&["--specs-format", "word"]).unwrap_err();
    assert!(error.contains("openspec") && error.contains("markdown"), "{error}");
}

#[test]
fn start_takes_the_supervisor_from_flag_then_configuration_then_prompt() {
    use paw_core::config::SupervisorConfig;

    use crate::prompt::select::tests::{ScriptedAnswer, ScriptedPrompter};
    let decide = |args: &[&str], enabled: Option<bool>, answers: Vec<ScriptedAnswer>| {
        let supervisor = enabled.map(|enabled| SupervisorConfig { enabled, ..SupervisorConfig::default() });
        let config = PawConfig { supervisor, ..PawConfig::default() };
        agents::wants_supervisor(&start(args), &config, &ScriptedPrompter::new(answers)).unwrap()
    };
    assert!(!decide(&["--no-supervisor", "--from-specs"], Some(true), vec![]));
    assert!(decide(&["--supervisor", "--from-specs"], None, vec![]));
    assert!(decide(&["--from-specs"], Some(true), vec![]));
    assert!(!decide(&["--from-specs"], Some(false), vec![]));
    assert!(!decide(&["--dry-run"], None, vec![]));
    assert!(decide(&[], None, vec![ScriptedAnswer::One(1)]));
}

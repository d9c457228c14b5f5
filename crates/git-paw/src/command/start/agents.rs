//! Chooses the agents to start, from flags, presets, specs and prompts.

use paw_agent::detect::CliInfo;
use paw_core::config::PawConfig;
use paw_core::{BranchName, ErrorCode, PawError};
use paw_host::git::Repo;
use paw_session::plan::AgentRequest;
use paw_session::specs::{self, SpecEntry};

use super::StartArgs;
use crate::context::Context;
use crate::prompt::Prompter;
use crate::prompt::select::{SelectionInput, run_selection};

/// Whether to start a supervisor: set by a flag, else by the configuration, else asked on the terminal.
pub(super) fn wants_supervisor(
    args: &StartArgs,
    config: &PawConfig,
    prompter: &impl Prompter,
) -> Result<bool, PawError> {
    match (args.no_supervisor, args.supervisor, &config.supervisor) {
        (true, _, _) => Ok(false),
        (_, true, _) => Ok(true),
        (_, _, Some(supervisor)) => Ok(supervisor.enabled),
        (_, _, None) if args.dry_run => Ok(false),
        (_, _, None) => prompter.select_supervisor(),
    }
}

/// What to choose from, and the choices already made.
#[derive(Debug)]
pub(super) struct AgentSelection<'a> {
    pub(super) args: &'a StartArgs,
    pub(super) repo: &'a Repo,
    pub(super) config: &'a PawConfig,
    pub(super) clis: &'a [CliInfo],
    pub(super) branches: &'a [BranchName],
    /// The branch of the user's own checkout.
    pub(super) own: Option<&'a BranchName>,
}

impl AgentSelection<'_> {
    /// The agents, and the supervisor's CLI if there is one.
    pub(super) fn gather(
        &self,
        supervised: bool,
        prompter: &impl Prompter,
        context: &Context,
    ) -> Result<(Vec<AgentRequest>, Option<String>), PawError> {
        let supervisor = if supervised { Some(self.supervisor_cli(prompter)?) } else { None };
        let named = !self.args.branches.is_empty() || self.args.preset.is_some();
        if self.args.wants_specs() {
            let specs = self.specs(prompter, context)?;
            return Ok((self.for_specs(specs, supervisor.as_deref(), prompter)?, supervisor));
        }
        if supervised && !named {
            let found = self.scan(context).map(|scan| scan.entries).unwrap_or_default();
            if !found.is_empty() {
                self.warn_about_uncommitted(&found, context)?;
                let specs = specs::select_all(&found)?;
                return Ok((self.for_specs(specs, supervisor.as_deref(), prompter)?, supervisor));
            }
        }
        Ok((self.for_branches(supervisor.as_deref(), prompter)?, supervisor))
    }

    fn supervisor_cli(&self, prompter: &impl Prompter) -> Result<String, PawError> {
        let configured = self.config.supervisor.as_ref().and_then(|supervisor| supervisor.cli.clone());
        let known = configured.or_else(|| self.config.default_cli.clone()).or_else(|| self.args.cli.clone());
        match known {
            Some(name) => Ok(name),
            None if prompter.is_interactive() => prompter.select_cli(self.clis, None),
            None => Err(PawError::ConfigError("no CLI is set for the supervisor".to_owned())
                .hint("use --cli, or set 'cli' under [supervisor] or 'default_cli' in the configuration")),
        }
    }

    fn for_branches(
        &self,
        supervisor: Option<&str>,
        prompter: &impl Prompter,
    ) -> Result<Vec<AgentRequest>, PawError> {
        let preset = match &self.args.preset {
            Some(name) => Some(self.config.get_preset(name).ok_or_else(|| no_preset(name, self.config))?),
            None => None,
        };
        let named = preset.map_or(&self.args.branches, |preset| &preset.branches);
        let named: Vec<_> =
            named.iter().map(|name| BranchName::new(name.trim())).collect::<Result<_, _>>()?;
        let fallback = || {
            let default = self.config.default_cli.as_deref();
            let skip_prompt = !prompter.is_interactive() || supervisor.is_some();
            default.or(supervisor).filter(|_| skip_prompt)
        };
        let cli = self.args.cli.as_deref().or(preset.map(|preset| preset.cli.as_str())).or_else(fallback);
        let choice = SelectionInput {
            branches: self.branches,
            own: self.own,
            clis: self.clis,
            cli_flag: cli,
            branches_flag: Some(named.as_slice()).filter(|named| !named.is_empty()),
            default_cli: self.config.default_cli.as_deref(),
        };
        let mapped = run_selection(prompter, &choice)?;
        Ok(mapped.into_iter().map(|(branch, cli)| AgentRequest { branch, cli, spec: None }).collect())
    }

    fn specs(&self, prompter: &impl Prompter, context: &Context) -> Result<Vec<SpecEntry>, PawError> {
        let picking = self.args.specs.as_ref().is_some_and(Vec::is_empty);
        if picking && !prompter.is_interactive() {
            return Err(PawError::new(
                ErrorCode::FailedPrecondition,
                "cannot show the list of specs: stdin is not a terminal",
            )
            .hint("name them with --specs NAME[,NAME...], or launch every one with --from-all-specs"));
        }
        let scan = self.scan(context)?;
        if scan.entries.is_empty() {
            return Err(PawError::new(
                ErrorCode::FailedPrecondition,
                format!("No pending specs found. (looked for {} in {})", scan.format, scan.dir.display()),
            ));
        }
        let chosen = match &self.args.specs {
            Some(names) if names.is_empty() => prompter.select_specs(&scan.entries)?,
            Some(names) => specs::resolve(names, &scan.entries)?,
            None => specs::select_all(&scan.entries)?,
        };
        self.warn_about_uncommitted(&chosen, context)?;
        Ok(chosen)
    }

    fn scan(&self, context: &Context) -> Result<specs::SpecScan, PawError> {
        let prefix = self.config.branch_prefix();
        let scan = specs::scan(&self.repo.root, self.config.specs.as_ref(), self.args.specs_format, &prefix)?;
        for warning in &scan.warnings {
            context.output.warn(warning);
        }
        Ok(scan)
    }

    fn warn_about_uncommitted(&self, specs: &[SpecEntry], context: &Context) -> Result<(), PawError> {
        if self.args.force {
            return Ok(());
        }
        let uncommitted = specs::find_uncommitted(&self.repo.root, specs)?;
        if !uncommitted.is_empty() {
            context.output.warn(&format!(
                "new worktrees will not contain uncommitted specs: {} (use --force to hide this warning)",
                uncommitted.join(", ")
            ));
        }
        Ok(())
    }

    fn for_specs(
        &self,
        specs: Vec<SpecEntry>,
        supervisor: Option<&str>,
        prompter: &impl Prompter,
    ) -> Result<Vec<AgentRequest>, PawError> {
        let flag = self.args.cli.clone();
        let default = self.config.default_spec_cli.clone();
        let mut asked: Option<String> = None;
        let mut wanted = Vec::with_capacity(specs.len());
        for spec in specs {
            let known = flag.clone().or_else(|| spec.cli.clone()).or_else(|| default.clone());
            let cli = match (known, &asked) {
                (Some(cli), _) => cli,
                (None, Some(cli)) => cli.clone(),
                (None, None) => {
                    let cli = self.one_cli(supervisor, prompter)?;
                    asked.insert(cli).clone()
                }
            };
            wanted.push(AgentRequest { branch: spec.branch.clone(), cli, spec: Some(spec) });
        }
        Ok(wanted)
    }

    /// The CLI for specs without one.
    fn one_cli(&self, supervisor: Option<&str>, prompter: &impl Prompter) -> Result<String, PawError> {
        let default = self.config.default_cli.as_deref();
        if supervisor.is_none() && prompter.is_interactive() {
            return prompter.select_cli(self.clis, default);
        }
        default.or(supervisor).map(str::to_owned).ok_or_else(|| {
            PawError::ConfigError("no CLI is set for specs without one".to_owned())
                .hint("use --cli, or set 'default_spec_cli' in the configuration")
        })
    }
}

fn no_preset(name: &str, config: &PawConfig) -> PawError {
    let known: Vec<_> = config.presets.keys().map(String::as_str).collect();
    let hint = if known.is_empty() {
        "add a [presets.<name>] section to .git-paw/config.toml".to_owned()
    } else {
        format!("available presets: {}", known.join(", "))
    };
    PawError::ConfigError(format!("preset '{name}' not found")).hint(hint)
}

//! Chooses the agents to start, from flags, presets, specs and prompts.

use paw_agent::detect::CliInfo;
use paw_core::config::{PawConfig, Preset};
use paw_core::{BranchName, ErrorCode, PawError};
use paw_host::files;
use paw_host::git::Repo;
use paw_session::plan::{AgentRequest, NamedAgent, parse_agents_file};
use paw_session::specs::{self, SpecEntry};

use super::StartArgs;
use crate::agent_task;
use crate::context::Context;
use crate::prompt::Prompter;
use crate::prompt::select::{SelectionInput, run_selection};

/// Whether to start a supervisor: set by a flag, else by the configuration, else asked on the terminal.
pub(super) fn wants_supervisor(
    args: &StartArgs,
    config: &PawConfig,
    prompter: &impl Prompter,
) -> Result<bool, PawError> {
    // Flags that name the agents and their CLI leave nothing to ask.
    let is_complete = args.agents.is_some() || args.cli.is_some() && !args.branches.is_empty();
    match (args.no_supervisor, args.supervisor, &config.supervisor) {
        (true, _, _) => Ok(false),
        (_, true, _) => Ok(true),
        (_, _, Some(supervisor)) => Ok(supervisor.enabled),
        (_, _, None) if args.dry_run || is_complete => Ok(false),
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
        let wanted = if self.args.wants_specs() {
            let specs = self.specs(prompter, context)?;
            self.for_specs(specs, supervisor.as_deref(), prompter)?
        } else {
            self.for_branches(supervisor.as_deref(), prompter, context)?
        };
        Ok((wanted, supervisor))
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
        context: &Context,
    ) -> Result<Vec<AgentRequest>, PawError> {
        let preset = self.preset()?;
        let named = self.named(preset, context)?;
        let fallback = || {
            let default = self.config.default_cli.as_deref();
            let skip_prompt = !prompter.is_interactive() || supervisor.is_some();
            default.or(supervisor).filter(|_| skip_prompt)
        };
        let cli = self.args.cli.as_deref().or(preset.map(|preset| preset.cli.as_str())).or_else(fallback);
        let open: Vec<_> =
            named.iter().filter(|agent| agent.cli.is_none()).map(|agent| agent.branch.clone()).collect();
        let choice = SelectionInput {
            branches: self.branches,
            own: self.own,
            clis: self.clis,
            cli_flag: cli,
            branches_flag: (!named.is_empty()).then_some(open.as_slice()),
            default_cli: self.config.default_cli.as_deref(),
        };
        let all_set = !named.is_empty() && open.is_empty();
        let mapped = if all_set { Vec::new() } else { run_selection(prompter, &choice)? };
        if named.is_empty() {
            let picked = mapped.into_iter();
            return Ok(picked
                .map(|(branch, cli)| AgentRequest { branch, cli, spec: None, task: None })
                .collect());
        }
        let chosen = |branch: &BranchName| mapped.iter().find(|(open, _)| open == branch);
        let request = |agent: NamedAgent| {
            let cli = agent.cli.clone().or_else(|| chosen(&agent.branch).map(|(_, cli)| cli.clone()));
            let task = agent_task::load_task(&agent, None, context)?;
            Ok(AgentRequest {
                cli: cli.ok_or(PawError::NoCLIsFound)?,
                branch: agent.branch,
                spec: None,
                task,
            })
        };
        named.into_iter().map(request).collect()
    }

    fn preset(&self) -> Result<Option<&Preset>, PawError> {
        let found = |name| self.config.get_preset(name).ok_or_else(|| no_preset(name, self.config));
        self.args.preset.as_deref().map(found).transpose()
    }

    /// The agents that flags, a preset or a file name.
    fn named(&self, preset: Option<&Preset>, context: &Context) -> Result<Vec<NamedAgent>, PawError> {
        if let Some(file) = &self.args.agents {
            let path = context.cwd.join(file);
            let text = files::load_text(&path)?.ok_or_else(|| {
                PawError::new(ErrorCode::NotFound, format!("agents file {} does not exist", path.display()))
            })?;
            return parse_agents_file(&text, &path);
        }
        let texts = preset.map_or(&self.args.branches, |preset| &preset.branches);
        let is_cli = |name: &str| self.clis.iter().any(|cli| cli.binary_name == name);
        texts.iter().map(|text| NamedAgent::parse(text, is_cli)).collect()
    }

    /// Reports mistakes in the flags, even where no CLI is installed.
    pub(super) fn check(&self, context: &Context) -> Result<(), PawError> {
        self.named(self.preset()?, context)?;
        if let Some(names) = self.args.specs.as_ref().filter(|names| !names.is_empty()) {
            specs::resolve(names, &self.scan(context)?.entries)?;
        }
        Ok(())
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
            wanted.push(AgentRequest { branch: spec.branch.clone(), cli, spec: Some(spec), task: None });
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

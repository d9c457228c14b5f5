//! Chooses the agents to start, from flags, presets, specs and prompts.

use std::collections::BTreeMap;

use paw_agent::cli;
use paw_agent::detect::CliInfo;
use paw_cluster::placement::AUTO;
use paw_core::config::{PawConfig, Preset};
use paw_core::{BranchName, ErrorCode, HostName, PawError, text};
use paw_host::files;
use paw_host::git::Repo;
use paw_session::plan::{AgentRequest, AgentTask, NamedAgent, parse_agents_file, split_host};
use paw_session::specs::{self, SpecEntry, SpecScan};

use super::StartArgs;
use crate::agent_task;
use crate::context::Context;
use crate::prompt::select::{SelectionInput, run_selection};
use crate::prompt::{Prompter, SelectedWork};

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
    /// CLIs of the repository that are not approved.
    pub(super) unapproved: &'a [String],
    pub(super) branches: &'a [BranchName],
    /// The branch of the user's own checkout.
    pub(super) own: Option<&'a BranchName>,
    /// The specs, if any are wanted.
    pub(super) specs: Option<SpecScan>,
    /// The branches that the user has chosen already.
    pub(super) picked: Vec<BranchName>,
}

/// The specs that the flags ask for.
pub(super) fn load_specs(
    args: &StartArgs,
    repo: &Repo,
    config: &PawConfig,
    context: &Context,
) -> Result<Option<SpecScan>, PawError> {
    if !args.wants_specs() {
        return Ok(None);
    }
    let scan = specs::scan(&repo.root, config.specs.as_ref(), args.specs_format, &config.branch_prefix())?;
    for warning in &scan.warnings {
        context.output.warn(warning);
    }
    Ok(Some(scan))
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
        let wanted = if let Some(scan) = &self.specs {
            let specs = self.choose_specs(scan, prompter, context)?;
            let hosts = self.hosts_of_specs(scan)?;
            self.for_specs(specs, &hosts, supervisor.as_deref(), prompter)?
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
                .map(|(branch, cli)| AgentRequest { branch, cli, spec: None, task: None, host: None })
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
                host: agent.host,
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
        if !self.picked.is_empty() {
            let named = |branch: &BranchName| NamedAgent {
                branch: branch.clone(),
                cli: None,
                host: None,
                task: AgentTask::None,
            };
            return Ok(self.picked.iter().map(named).collect());
        }
        let texts = preset.map_or(&self.args.branches, |preset| &preset.branches);
        let is_cli = |name: &str| {
            self.clis.iter().any(|cli| cli.binary_name == name)
                || self.unapproved.iter().any(|unapproved| unapproved == name)
                || cli::find(name).is_some()
        };
        let is_host = |name: &str| self.is_host(name);
        texts.iter().map(|text| NamedAgent::parse(text, is_cli, is_host, self.branches)).collect()
    }

    fn is_host(&self, name: &str) -> bool {
        name == AUTO || self.config.hosts.contains_key(name)
    }

    /// The names of specs, without their machines.
    fn spec_names(&self, texts: &[String]) -> Result<Vec<String>, PawError> {
        let name = |text: &String| Ok(split_host(text, |host| self.is_host(host))?.0.to_owned());
        texts.iter().map(name).collect()
    }

    /// The machines of specs that were named as `SPEC@HOST`, by their ids.
    fn hosts_of_specs(&self, scan: &SpecScan) -> Result<BTreeMap<String, HostName>, PawError> {
        let mut hosts = BTreeMap::new();
        for text in self.args.specs.iter().flatten() {
            let (name, host) = split_host(text, |host| self.is_host(host))?;
            let Some(host) = host else { continue };
            for entry in specs::resolve(&[name.to_owned()], &scan.entries)? {
                hosts.entry(entry.id).or_insert_with(|| host.clone());
            }
        }
        Ok(hosts)
    }

    /// Reports mistakes in the flags, even where no CLI is installed.
    pub(super) fn check(&self, context: &Context) -> Result<(), PawError> {
        self.named(self.preset()?, context)?;
        if let (Some(names), Some(scan)) = (&self.args.specs, &self.specs)
            && !names.is_empty()
        {
            specs::resolve(&self.spec_names(names)?, &scan.entries)?;
        }
        Ok(())
    }

    /// Says that a CLI is not approved where that is why it was not found.
    pub(super) fn explain(&self, error: PawError) -> PawError {
        let text = error.to_string();
        let is_about = |name: &&String| text == PawError::CliNotFound((*name).clone()).to_string();
        let nothing_else = text == PawError::NoCLIsFound.to_string();
        let found = self.unapproved.iter().find(is_about);
        match found.or_else(|| self.unapproved.first().filter(|_| nothing_else)) {
            Some(name) => PawError::SessionError(format!(
                "CLI '{}' is defined by this repository and not approved",
                text::line(name)
            ))
            .hint("review .git-paw/config.toml, then approve it with 'git paw start --trust'"),
            None => error,
        }
    }

    /// Where nothing was named and specs are pending, offers them together with the branches.
    pub(super) fn offer_specs(&mut self, prompter: &impl Prompter) -> Result<(), PawError> {
        let args = self.args;
        let is_named = !args.branches.is_empty() || args.agents.is_some() || args.preset.is_some();
        let is_cli = |name: &String| self.clis.iter().any(|cli| cli.binary_name == *name);
        let can_ask = prompter.is_interactive() && args.cli.as_ref().is_none_or(is_cli);
        if is_named || self.specs.is_some() || !can_ask {
            return Ok(());
        }
        let prefix = self.config.branch_prefix();
        let scan = specs::scan(&self.repo.root, self.config.specs.as_ref(), args.specs_format, &prefix).ok();
        let Some(scan) = scan.filter(|scan| !scan.entries.is_empty()) else { return Ok(()) };
        let offered: Vec<_> =
            self.branches.iter().filter(|branch| Some(*branch) != self.own).cloned().collect();
        match prompter.select_work(&offered, Some(&scan))? {
            SelectedWork::Branches(branches) => self.picked = branches,
            SelectedWork::Specs => self.specs = Some(scan),
        }
        Ok(())
    }

    /// Whether specs are wanted, but none is pending.
    pub(super) fn nothing_to_do(&self) -> Option<String> {
        let scan = self.specs.as_ref().filter(|scan| scan.entries.is_empty())?;
        Some(format!("No pending specs found. (looked for {} in {})", scan.format, scan.dir.display()))
    }

    fn choose_specs(
        &self,
        scan: &SpecScan,
        prompter: &impl Prompter,
        context: &Context,
    ) -> Result<Vec<SpecEntry>, PawError> {
        let picking = self.args.specs.as_ref().is_none_or(Vec::is_empty) && !self.args.from_all_specs;
        if picking && !prompter.is_interactive() {
            return Err(PawError::new(
                ErrorCode::FailedPrecondition,
                "cannot show the list of specs: stdin is not a terminal",
            )
            .hint("name them with --specs NAME[,NAME...], or launch every one with --from-all-specs"));
        }
        let chosen = match &self.args.specs {
            Some(names) if !names.is_empty() => specs::resolve(&self.spec_names(names)?, &scan.entries)?,
            _ if picking => prompter.select_specs(&scan.entries)?,
            _ => specs::select_all(&scan.entries)?,
        };
        self.warn_about_uncommitted(&chosen, context)?;
        Ok(chosen)
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
        hosts: &BTreeMap<String, HostName>,
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
            let host = hosts.get(&spec.id).cloned();
            wanted.push(AgentRequest {
                branch: spec.branch.clone(),
                cli,
                spec: Some(spec),
                task: None,
                host,
            });
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

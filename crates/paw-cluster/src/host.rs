//! Whether another machine can run agents: its programs, their versions, its clock and its disk.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, HostName, text};
use paw_host::git::{GitVersion, MINIMUM_VERSION as MINIMUM_GIT};
use paw_host::ssh::{SshError, SshTarget};
use paw_host::tmux::{MINIMUM_VERSION as MINIMUM_TMUX, TmuxVersion};
use serde::Serialize;

const PROBE_LIMIT: Duration = Duration::from_secs(30);
const INSTALL_LIMIT: Duration = Duration::from_mins(5);
/// Our own line in the output, whatever a login script prints around it.
const MARK: &str = "git-paw-fact ";
/// Larger differences of clocks are reported. Only times that are shown depend on them.
const CLOCK_TOLERANCE: i64 = 60;
const LITTLE_DISK_KIB: u64 = 1 << 20;

/// A shell that ssh starts without a terminal often has a short PATH.
pub(crate) const PATHS: &str = r#"PATH="$HOME/.local/bin:$HOME/.cargo/bin:$HOME/bin:$PATH""#;

/// What a machine says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    pub user: String,
    /// As `uname -sm` prints it.
    pub system: String,
    pub git: Option<String>,
    pub tmux: Option<String>,
    /// The version of git-paw there.
    pub git_paw: Option<String>,
    /// Its clock, in seconds.
    pub clock: Option<i64>,
    pub free_disk_kib: Option<u64>,
}

impl HostFacts {
    /// Asks the machine.
    pub fn fetch(target: &SshTarget) -> Result<Self, SshError> {
        let output = target.run("sh -s", probe_script().into_bytes(), PROBE_LIMIT)?;
        Ok(Self::parse(&String::from_utf8_lossy(&output)))
    }

    fn parse(output: &str) -> Self {
        let mut facts = Self::default();
        for (key, value) in output.lines().filter_map(|line| line.strip_prefix(MARK)?.split_once('=')) {
            let value = text::line(value.trim()).into_owned();
            let some = (!value.is_empty()).then(|| value.clone());
            match key {
                "user" => facts.user = value,
                "system" => facts.system = value,
                "git" => facts.git = some,
                "tmux" => facts.tmux = some,
                "git-paw" => facts.git_paw = some.map(|text| text.trim_start_matches("git-paw ").to_owned()),
                "clock" => facts.clock = value.parse().ok(),
                "disk" => facts.free_disk_kib = value.parse().ok(),
                _ => {}
            }
        }
        facts
    }

    /// What keeps the machine from running agents, and what should be known. `version` is our own, `now` our time.
    pub fn problems(&self, version: &str, now: Timestamp) -> Vec<HostProblem> {
        let git = match self.git.as_deref().map(|found| (found, GitVersion::parse(found))) {
            None => Some(HostProblem::Missing("git")),
            Some((_, Some(found))) if found >= MINIMUM_GIT => None,
            Some((found, _)) => {
                Some(HostProblem::TooOld { found: found.to_owned(), needed: MINIMUM_GIT.to_string() })
            }
        };
        let tmux = match self.tmux.as_deref().map(|found| (found, TmuxVersion::parse(found))) {
            None => Some(HostProblem::Missing("tmux")),
            Some((_, Some(found))) if found >= MINIMUM_TMUX => None,
            Some((found, _)) => {
                Some(HostProblem::TooOld { found: found.to_owned(), needed: MINIMUM_TMUX.to_string() })
            }
        };
        let program = match &self.git_paw {
            None => Some(HostProblem::Missing("git-paw")),
            Some(there) if there != version => {
                Some(HostProblem::OtherVersion { there: there.clone(), here: version.to_owned() })
            }
            Some(_) => None,
        };
        let skew = self.clock.map(|clock| clock - now.as_second());
        let skew = skew.filter(|skew| skew.abs() > CLOCK_TOLERANCE).map(HostProblem::Clock);
        let disk = self.free_disk_kib.filter(|free| *free < LITTLE_DISK_KIB).map(HostProblem::Disk);
        [git, tmux, program, skew, disk].into_iter().flatten().collect()
    }

    /// Whether a program of this machine may run there.
    pub fn is_same_platform(&self) -> bool {
        let system = match std::env::consts::OS {
            "linux" => "Linux",
            "macos" => "Darwin",
            other => other,
        };
        let machine = match (std::env::consts::ARCH, system) {
            ("aarch64", "Darwin") => "arm64",
            (other, _) => other,
        };
        self.system == format!("{system} {machine}")
    }
}

/// One line, as `host add` and `host doctor` show it.
impl fmt::Display for HostFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = |found: &Option<String>, prefix: &str| {
            found.as_deref().map_or("missing", |text| text.trim_start_matches(prefix)).to_owned()
        };
        let git = version(&self.git, "git version ");
        let tmux = version(&self.tmux, "tmux ");
        let own = version(&self.git_paw, "");
        write!(f, "{} as {}, git {git}, tmux {tmux}, git-paw {own}", self.system, self.user)
    }
}

/// Something about a machine that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostProblem {
    #[error("{0} is not installed")]
    Missing(&'static str),
    #[error("{found} is too old; {needed} or newer is needed")]
    TooOld { found: String, needed: String },
    #[error("git-paw is {there} there and {here} here")]
    OtherVersion { there: String, here: String },
    #[error("its clock is off by {0} s")]
    Clock(i64),
    #[error("only {} MiB are free in the home directory", .0 >> 10)]
    Disk(u64),
}

impl HostProblem {
    /// Whether agents could run there nevertheless.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::Clock(_) | Self::Disk(_))
    }

    /// What to do about it. `name` is the host's.
    pub fn hint(&self, name: &str) -> String {
        match self {
            Self::Missing("git-paw") | Self::OtherVersion { .. } => {
                format!(
                    "'git paw host add {name} … --install' copies this version, if the platform is the same"
                )
            }
            Self::Missing(program) => format!("install {program} there"),
            Self::TooOld { .. } => "update it there".to_owned(),
            Self::Clock(_) => "synchronize the clocks; shown times are wrong otherwise".to_owned(),
            Self::Disk(_) => "free disk space there".to_owned(),
        }
    }
}

/// A machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("no host '{0}' in your configuration")]
    Unknown(HostName),
    #[error("{name} is not ready: {}", join(problems))]
    NotReady { name: HostName, problems: Vec<HostProblem> },
    #[error("{name} runs {system}; this program does not run there")]
    OtherPlatform { name: HostName, system: String },
}

fn join(problems: &[HostProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Diagnostic for HostError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Unknown(_) => {
                ErrorReport::new(ErrorCode::NotFound, self).hint("'git paw host list' lists all")
            }
            Self::NotReady { name, problems } => {
                let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
                problems.iter().fold(report, |report, problem| report.hint(problem.hint(name.as_str())))
            }
            Self::OtherPlatform { .. } => ErrorReport::new(ErrorCode::FailedPrecondition, self)
                .hint("install git-paw there, for example from its source"),
        }
    }
}

/// Copies a program to `~/.local/bin/git-paw`. It replaces an older one only if it runs there.
pub fn install(target: &SshTarget, program: Vec<u8>) -> Result<(), SshError> {
    let script = r#"sh -c 'set -e; dir="$HOME/.local/bin"; new="$dir/.git-paw.$$"; mkdir -p "$dir"
trap "rm -f \"$new\"" EXIT; cat >"$new"; chmod 755 "$new"; "$new" --version >/dev/null; mv -f "$new" "$dir/git-paw"'"#;
    target.run(script, program, INSTALL_LIMIT).map(drop)
}

fn probe_script() -> String {
    let fact =
        |key: &str, command: &str| format!("printf '{MARK}{key}=%s\\n' \"$({command} 2>/dev/null)\"\n");
    let facts = [
        ("user", "id -un"),
        ("system", "uname -sm"),
        ("git", "git version"),
        ("tmux", "tmux -V"),
        ("git-paw", "git-paw --version"),
        ("clock", "date +%s"),
        ("disk", r#"df -Pk "$HOME" | awk 'NR == 2 { print $4 }'"#),
    ];
    let facts: String = facts.iter().map(|(key, command)| fact(key, command)).collect();
    format!("{PATHS}\n{facts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(output: &str) -> Vec<String> {
        let now = Timestamp::from_second(1_000_000).unwrap();
        HostFacts::parse(output).problems("0.1.0", now).iter().map(ToString::to_string).collect()
    }

    fn facts(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("{MARK}{line}")).collect::<Vec<_>>().join("\n") + "\n"
    }

    #[test]
    fn a_machine_with_the_right_programs_has_no_problems() {
        let lines = [
            "git=git version 2.39.5",
            "tmux=tmux 3.3a",
            "git-paw=git-paw 0.1.0",
            "clock=1000030",
            "disk=9999999",
        ];
        let output = format!("Welcome!\ngit=git version 1.0\n{}bye", facts(&lines));
        assert_eq!(found(&output), [""; 0]);
    }

    #[test]
    fn missing_and_old_programs_other_versions_skewed_clocks_and_full_disks_are_problems() {
        assert_eq!(found(""), ["git is not installed", "tmux is not installed", "git-paw is not installed"]);
        let lines = [
            "git=git version 2.20.1",
            "tmux=tmux 2.9",
            "git-paw=git-paw 0.0.9",
            "clock=1003600",
            "disk=2048",
        ];
        assert_eq!(
            found(&facts(&lines)),
            [
                "git version 2.20.1 is too old; 2.38 or newer is needed",
                "tmux 2.9 is too old; 3.2 or newer is needed",
                "git-paw is 0.0.9 there and 0.1.0 here",
                "its clock is off by 3600 s",
                "only 2 MiB are free in the home directory",
            ]
        );
    }

    #[test]
    fn text_of_a_machine_is_safe_to_show() {
        let facts = HostFacts::parse(&facts(&["user=x\u{1b}[2Jy", "system=Linux\u{202e}"]));
        assert!(!facts.to_string().contains(['\u{1b}', '\u{202e}']), "{facts}");
    }
}

//! `git paw man`: a manual page for every command. git itself looks for one when somebody types `git paw --help`.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use paw_core::PawError;
use paw_host::files::{self, Access, FileError};

use crate::cli::Cli;
use crate::context::Context;

/// Install a manual page for every command, so that `git paw --help` finds them
///
/// git shows a manual page when it is asked for `git paw --help`, and man looks for it beside the programs on your PATH. `git
/// paw -h` and `git paw help` need none.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw man
  git paw man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The directory to write them to, in the place of share/man/man1 beside the program's own directory
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, context: &Context) -> Result<(), PawError> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let dir = match &args.dir {
        Some(dir) => context.cwd.join(dir),
        None => beside_the_program()?,
    };
    let refused = |error: PawError| match args.dir {
        None => error.hint("name another directory: git paw man <dir>"),
        Some(_) => error,
    };
    let mut written = 0;
    write(&root, "git-paw", &dir, &mut written).map_err(refused)?;
    context.output.say(&format!("wrote {written} manual pages to {}", dir.display()))
}

/// man looks there for every directory on the PATH.
fn beside_the_program() -> Result<PathBuf, PawError> {
    let program = paw_host::process::own_program()?;
    let program = program.canonicalize().map_err(FileError::when("find", &program))?;
    let above = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    Ok(above.join("share/man/man1"))
}

/// The page of a command, and those of the commands below it.
fn write(command: &Command, name: &str, dir: &Path, written: &mut u32) -> Result<(), PawError> {
    let page = Man::new(command.clone()).title(name.to_uppercase()).section("1");
    let page = page.source(concat!("git-paw ", env!("CARGO_PKG_VERSION"))).manual("git paw");
    let mut text = Vec::new();
    page.render(&mut text).map_err(FileError::when("write", dir))?;
    let text = with_headings(&String::from_utf8_lossy(&text));
    files::write_atomic(&dir.join(format!("{name}.1")), text.as_bytes(), Access::Usual)?;
    *written += 1;
    // clap gives a `help` to whatever has commands below it; only the first one is ours.
    let is_ours =
        |below: &&Command| !below.is_hide_set() && (name == "git-paw" || below.get_name() != "help");
    for below in command.get_subcommands().filter(is_ours) {
        write(below, &format!("{name}-{}", below.get_name()), dir, written)?;
    }
    Ok(())
}

/// What `--help` ends with becomes sections of their own, under the words it has above them there, line by line.
fn with_headings(page: &str) -> String {
    let Some((before, after)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let line = |line: &str| match line.strip_suffix(':') {
        Some(title) if !line.starts_with(' ') => format!(".fi\n.SH {}\n.nf\n", title.to_uppercase()),
        _ if line.starts_with(".SH") => format!(".fi\n{line}\n"),
        _ => format!("{line}\n"),
    };
    before.to_owned() + &after.lines().map(line).collect::<String>()
}

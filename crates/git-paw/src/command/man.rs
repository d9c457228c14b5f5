//! `git paw man`: a manual page for every command. git opens it for `git paw --help`.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use paw_core::PawError;
use paw_host::files::{self, Access, FileError};

use crate::cli::Cli;
use crate::context::Context;

/// Install manual pages, which `git paw --help` opens
///
/// git turns `git paw --help` into `man git-paw`, and man searches the directories next to those on your PATH. `git paw -h`
/// and `git paw help` work without manual pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw man
  git paw man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The directory to write to [default: ../share/man/man1 from the program's directory]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, context: &Context) -> Result<(), PawError> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let dir = match &args.dir {
        Some(dir) => context.cwd.join(dir),
        None => default_man_dir()?,
    };
    let refused = |error: PawError| match args.dir {
        None => error.hint("name another directory: git paw man <dir>"),
        Some(_) => error,
    };
    let mut written = 0;
    write(&root, "git-paw", &dir, &mut written).map_err(refused)?;
    context.output.say(&format!("wrote {written} manual pages to {}", dir.display()))
}

/// The directory that man searches for a program on PATH.
fn default_man_dir() -> Result<PathBuf, PawError> {
    let program = paw_host::process::own_program()?;
    let program = program.canonicalize().map_err(FileError::when("find", &program))?;
    let above = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    Ok(above.join("share/man/man1"))
}

/// Writes the page of a command and of its subcommands.
fn write(command: &Command, name: &str, dir: &Path, written: &mut u32) -> Result<(), PawError> {
    let page = Man::new(command.clone()).title(name.to_uppercase()).section("1");
    let page = page.source(concat!("git-paw ", env!("CARGO_PKG_VERSION"))).manual("git paw");
    let mut text = Vec::new();
    page.render(&mut text).map_err(FileError::when("write", dir))?;
    let text = with_headings(&String::from_utf8_lossy(&text));
    files::write_atomic(&dir.join(format!("{name}.1")), text.as_bytes(), Access::Usual)?;
    *written += 1;
    // clap adds `help` to every command with subcommands; only the top-level one is ours.
    let is_ours =
        |below: &&Command| !below.is_hide_set() && (name == "git-paw" || below.get_name() != "help");
    for below in command.get_subcommands().filter(is_ours) {
        write(below, &format!("{name}-{}", below.get_name()), dir, written)?;
    }
    Ok(())
}

/// Turns the text after the options (`Examples:` and the like) into sections of their own.
fn with_headings(page: &str) -> String {
    let Some((before, after)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let line = |line: &str| match line.strip_suffix(':') {
        Some(title) if !line.starts_with(' ') => format!(".fi\n.SH {}\n.nf\n", title.to_uppercase()),
        _ if line.starts_with(".SH") => format!(".fi\n{line}\n"),
        _ => format!("{line}\n"),
    };
    before.to_owned() + &after.lines().map(line).collect::<String>()
}

//! `test …` and `[ … ]`.

use super::characters::quoted;
use super::path::PathAccess;
use super::shell::ShellState;
use super::word::ShellWord;

/// Checks one comparison. Numbers have to be written as such, because zsh evaluates other texts.
pub(super) fn check(args: &[ShellWord], shell: &ShellState<'_>) -> Result<(), String> {
    let args = match args.split_first() {
        Some((not, rest)) if not.text == "!" && !not.quoted => rest,
        _ => args,
    };
    let texts: Vec<_> = args.iter().map(|word| word.text.as_str()).collect();
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let number = |word: &ShellWord| word.is_status || (word.is_certain() && digits(&word.text));
    match texts.as_slice() {
        ["-f" | "-d" | "-e" | "-s" | "-r" | "-w" | "-x" | "-L" | "-h", path] if args[1].is_certain() => {
            shell.check_path(path, args[1].glob, PathAccess::Read)
        }
        ["-n" | "-z", text] if !text.starts_with('-') => Ok(()),
        [_, "=" | "==" | "!=", _] if args.iter().all(|word| !word.glob) => Ok(()),
        [_, "-eq" | "-ne" | "-gt" | "-ge" | "-lt" | "-le", _] if number(&args[0]) && number(&args[2]) => {
            Ok(())
        }
        _ => Err(format!("the test {} is not on the allowlist", quoted(&texts.join(" ")))),
    }
}

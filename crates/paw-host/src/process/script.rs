//! Script files and their interpreters (the `#!` line).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::find_program;

/// How much of a file is read.
const BEGINNING: u64 = 64 * 1024;

/// A program that an interpreter runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    pub interpreter: PathBuf,
    /// The only argument that a `#!` line can have.
    pub argument: Option<OsString>,
    /// The beginning of the file, including the `#!` line.
    pub text: Vec<u8>,
}

impl ScriptFile {
    /// `None` if the program is not a script, or its `#!` line cannot be parsed.
    pub fn read(path: &Path, search_path: &OsStr) -> Option<Self> {
        let mut text = Vec::new();
        File::open(path).ok()?.take(BEGINNING).read_to_end(&mut text).ok()?;
        let (interpreter, argument) = parse(text.split(|byte| *byte == b'\n').next()?)?;
        if !interpreter.ends_with("env") {
            return Some(Self { interpreter, argument, text });
        }
        // `env` looks the interpreter up on PATH. With options, `env` has to do that itself.
        let name = argument?
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('-') && !name.contains(['=', ' ']))?;
        Some(Self { interpreter: find_program(&name, search_path)?, argument: None, text })
    }

    /// The name of the interpreter, and its name after following symbolic links.
    pub fn interpreter_names(&self) -> Vec<OsString> {
        let real = self.interpreter.canonicalize().ok();
        [Some(self.interpreter.as_path()), real.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(|path| path.file_name().map(OsStr::to_owned))
            .collect()
    }
}

/// `#! /bin/sh -e x`: a path, and the rest of the line as one argument.
fn parse(line: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = line.strip_prefix(b"#!")?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(end);
    let rest = rest.trim_ascii();
    let path = Path::new(OsStr::from_bytes(interpreter));
    path.is_absolute()
        .then(|| (path.to_owned(), (!rest.is_empty()).then(|| OsStr::from_bytes(rest).to_owned())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::{Access, write_atomic};

    fn read(text: &str) -> Option<(String, Option<OsString>)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("program");
        write_atomic(&file, text.as_bytes(), Access::Executable).unwrap();
        let tool = dir.path().join("bin/tool");
        write_atomic(&tool, b"", Access::Executable).unwrap();
        let script = ScriptFile::read(&file, dir.path().join("bin").as_os_str())?;
        let interpreter = script.interpreter.strip_prefix(dir.path()).unwrap_or(&script.interpreter);
        Some((interpreter.display().to_string(), script.argument))
    }

    #[test]
    fn the_interpreter_is_read_from_the_first_line() {
        let plain = |path: &str| Some((path.to_owned(), None));
        assert_eq!(read("#!/bin/sh\necho"), plain("/bin/sh"));
        assert_eq!(read("#! /bin/bash  -e x \n"), Some(("/bin/bash".into(), Some("-e x".into()))));
        assert_eq!(read("#!/usr/bin/env tool\n"), plain("bin/tool"));
    }

    #[test]
    fn files_without_a_valid_first_line_are_not_scripts() {
        for text in [
            "",
            "echo",
            "#!",
            "#!sh\n",
            "#!/usr/bin/env\n",
            "#!/usr/bin/env -S tool -x\n",
            "#!/usr/bin/env no-such-tool\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(ScriptFile::read(Path::new("/no/such/file"), OsStr::new("/bin")), None);
        assert_eq!(ScriptFile::read(Path::new("/"), OsStr::new("/bin")), None);
    }

    proptest! {
        #[test]
        fn parsing_any_first_line_does_not_panic(line in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse(&line);
            let _ = parse(&[b"#!".as_slice(), &line].concat());
        }
    }
}

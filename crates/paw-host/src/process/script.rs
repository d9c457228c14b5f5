//! Scripts: what runs them, as their first line says.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::find_program;

/// As much of a file as is read to know what it is.
const BEGINNING: u64 = 64 * 1024;

/// A program that is run by another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    pub interpreter: PathBuf,
    /// The one argument that a first line can give.
    pub argument: Option<OsString>,
    /// How it begins, from its first line on.
    pub text: Vec<u8>,
}

impl ScriptFile {
    /// Nothing for a program that is not a script, or not one that we understand.
    pub fn read(path: &Path, search_path: &OsStr) -> Option<Self> {
        let mut text = Vec::new();
        File::open(path).ok()?.take(BEGINNING).read_to_end(&mut text).ok()?;
        let (interpreter, argument) = parse(text.split(|byte| *byte == b'\n').next()?)?;
        if !interpreter.ends_with("env") {
            return Some(Self { interpreter, argument, text });
        }
        // `env` runs what follows; with options of its own it is left to do so by itself.
        let name = argument?
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('-') && !name.contains(['=', ' ']))?;
        Some(Self { interpreter: find_program(&name, search_path)?, argument: None, text })
    }

    /// The name of what runs it, with links followed: one program may go by many names.
    pub fn interpreter_names(&self) -> Vec<OsString> {
        let real = self.interpreter.canonicalize().ok();
        [Some(self.interpreter.as_path()), real.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(|path| path.file_name().map(OsStr::to_owned))
            .collect()
    }
}

/// `#! /bin/sh -e` has a path and, as one word, whatever else the line says.
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
    fn what_runs_a_script_stands_in_its_first_line() {
        let plain = |path: &str| Some((path.to_owned(), None));
        assert_eq!(read("#!/bin/sh\necho"), plain("/bin/sh"));
        assert_eq!(read("#! /bin/bash  -e x \n"), Some(("/bin/bash".into(), Some("-e x".into()))));
        assert_eq!(read("#!/usr/bin/env tool\n"), plain("bin/tool"));
    }

    #[test]
    fn what_cannot_be_understood_is_no_script() {
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
        fn no_first_line_makes_it_panic(line in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse(&line);
            let _ = parse(&[b"#!".as_slice(), &line].concat());
        }
    }
}

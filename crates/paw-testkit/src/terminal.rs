//! A pseudo-terminal with a keyboard that tests control.

use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::{Sandbox, wait_until};

/// A program on a pseudo-terminal of 120 columns and 40 rows.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    shown: Arc<Mutex<Vec<u8>>>,
    // Closing it would hang up the terminal.
    _master: Box<dyn MasterPty + Send>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("shown", &self.shown()).finish_non_exhaustive()
    }
}

impl Terminal {
    pub fn run(sandbox: &Sandbox, dir: &Path, program: &str, args: &[&str]) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(dir);
        command.env_clear();
        for (name, value) in sandbox.variables() {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).expect("the program starts");
        let mut screen = pty.master.try_clone_reader().expect("what the program shows");
        let keyboard = pty.master.take_writer().expect("a keyboard");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let writing = Arc::clone(&shown);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = screen.read(&mut buffer) {
                writing.lock().expect("the lock is not poisoned").extend_from_slice(&buffer[..n]);
            }
        });
        Self { child, keyboard, shown, _master: pty.master }
    }

    /// All output so far, including escape sequences.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("the lock is not poisoned")).into_owned()
    }

    pub fn wait_for(&self, text: &str) {
        let what = format!("the terminal shows {text:?}");
        let shown = || self.shown().contains(text).then_some(());
        wait_until(&what, shown);
    }

    pub fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the keyboard works");
        self.keyboard.flush().expect("the keyboard works");
    }

    /// Waits for the program to exit and returns its exit code.
    pub fn finish(mut self) -> u32 {
        wait_until("the program exits", || self.child.try_wait().expect("a child of ours")).exit_code()
    }
}

//! The program with plain pipes, for input that no client sends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use paw_testkit::{Sandbox, wait_until};
use serde_json::{Value, json};

use crate::paw::PROGRAM;

pub(super) struct Raw {
    child: Child,
    input: Option<ChildStdin>,
    pub(super) lines: Receiver<String>,
}

impl Raw {
    pub(super) fn start_in(sandbox: &Sandbox, dir: &Path) -> Self {
        let mut command = sandbox.command(PROGRAM);
        command.arg("mcp").current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { input: child.stdin.take(), child, lines }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).unwrap();
    }

    pub(super) fn send_json(&mut self, message: &Value) {
        self.send(message.to_string().as_bytes());
    }

    /// The response to a request. Every line before it must be a protocol message.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.recv_timeout(Duration::from_mins(2)).expect("an answer");
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"));
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(super) fn shake_hands(&mut self) {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"}});
        self.send_json(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        assert_eq!(self.answer(1)["result"]["serverInfo"]["name"], "git-paw");
        self.send_json(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    pub(super) fn is_alive(&mut self, id: u64) {
        let params = json!({"name": "tasks_list", "arguments": {}});
        self.send_json(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        assert!(self.answer(id)["result"]["content"].is_array());
    }

    /// Closes the input.
    pub(super) fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Closes the input and waits for the exit.
    pub(super) fn end(mut self) -> Option<i32> {
        self.hang_up();
        wait_until("the server ends with its input", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

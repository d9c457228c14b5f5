//! Programs that tests run in separate processes. They are ignored in a normal test run.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::exit;
use std::time::Duration;

use paw_core::Diagnostic as _;
use paw_daemon::DaemonOptions;
use paw_host::files::Dirs;

/// A daemon in the environment of this process.
#[test]
#[ignore = "a process that tests start"]
fn daemon() {
    let mut options = DaemonOptions::new(&Dirs::from_env().unwrap(), std::env::var_os("PATH").unwrap());
    if let Ok(grace) = std::env::var("PAW_TEST_GRACE_MS") {
        options.grace = Duration::from_millis(grace.parse().unwrap());
    }
    paw_daemon::log::init(&options.data_dir).unwrap();
    if let Err(error) = paw_daemon::run(options, |_| {}) {
        eprintln!("error: {}", error.report());
        exit(1);
    }
    exit(0);
}

/// Connects like an HTTP/2 client. Exits with 0 if the server closes the connection without a response.
#[test]
#[ignore = "a process that tests start"]
fn foreign_client() {
    let mut stream = UnixStream::connect(std::env::var_os("PAW_TEST_SOCKET").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let _ = stream.write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat());
    let mut answer = [0; 64];
    match stream.read(&mut answer) {
        Ok(0) => exit(0),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => exit(0),
        Ok(_) => exit(7),
        Err(_) => exit(8),
    }
}

//! Starting and stopping the daemon, and that only one runs.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;

use paw_daemon::{DaemonClient, DaemonError, control};
use paw_testkit::wait_until;

use crate::world::{World, is_gone};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_user_can_access_the_socket() {
    let world = World::new();
    let daemon = world.daemon().await;
    let socket = world.options().socket;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    assert_eq!(mode(&world.data_dir().join("daemon.log")), 0o600);
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_reports_the_running_one() {
    let world = World::new();
    let daemon = world.daemon().await;
    let mut second = world.spawn(&[]);
    let code = wait_until("the second one gives up", || second.try_wait().unwrap()).code();
    let mut said = String::new();
    second.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(code, Some(1), "{said}");
    let holder = format!("a daemon is already running (pid {})", daemon.process.id());
    let socket = world.options().socket.display().to_string();
    assert!(
        said.contains(&holder) && said.contains(&socket) && said.contains("git paw daemon stop"),
        "{said}"
    );
    assert_eq!(daemon.list().await, [], "the first one keeps running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_another_program_is_reported_and_kept() {
    let world = World::new();
    let socket = world.options().socket;
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _other = UnixListener::bind(&socket).unwrap();
    let refused = world.spawn(&[]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let holder = format!("is in use by another program (pid {})", std::process::id());
    assert!(refused.status.code() == Some(1) && said.contains(&holder), "{said}");
    assert!(socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regular_file_at_the_socket_path_is_not_deleted() {
    let world = World::new();
    world.sandbox.write("run/git-paw/daemon.sock", "precious");
    let refused = world.spawn(&[]).wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(world.read("run/git-paw/daemon.sock"), "precious");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_replaces_the_socket_of_a_killed_one() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("develop")).await.unwrap();
    daemon.signal("-KILL");
    assert!(!daemon.wait().success());
    assert!(world.options().socket.exists());

    let socket = world.options().socket;
    let process = world.spawn(&[]);
    wait_until("the daemon listens", || std::os::unix::net::UnixStream::connect(&socket).ok());
    let client = DaemonClient::connect(&socket).await.unwrap();
    let daemon = crate::world::TestDaemon { process, client };
    assert_eq!(daemon.list().await, [made]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_calls_finish_and_removes_the_socket() {
    let world = World::new();
    let go = world.at("go");
    let wait = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    world.configure(&format!("[worktree]\nsetup_commands = [\"{wait}\"]\n"));
    let daemon = world.daemon().await;
    let (mut client, request) = (daemon.client.worktrees.clone(), world.request("develop"));
    let call = tokio::spawn(async move { client.create_worktree(request).await });
    let made = world.at("project-develop/README.md");
    wait_until("the worktree is there", || made.exists().then_some(()));
    daemon.signal("-TERM");
    wait_until("the daemon is stopping", || world.log().contains("stopping").then_some(()));
    fs::write(&go, "").unwrap();
    assert_eq!(call.await.unwrap().unwrap().into_inner().setup_status, "success");
    assert!(daemon.wait().success());
    assert!(!world.options().socket.exists() && !world.data_dir().join("daemon.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_the_daemon_interrupts_a_running_setup() {
    let world = World::new();
    let pid = world.at("setup.pid");
    // In a sandbox the setup would see another process id than we do.
    world.configure(&format!(
        "[sandbox]\nruns = \"off\"\n[worktree]\nsetup_commands = [\"echo $$ > {}; sleep 600; true\"]\n",
        pid.display()
    ));
    let daemon = world.daemon_with(&[("PAW_TEST_GRACE_MS", "100")]).await;
    let (mut client, request) = (daemon.client.worktrees.clone(), world.request("develop"));
    let call = tokio::spawn(async move { client.create_worktree(request).await });
    let setup = world.pid("setup.pid");
    daemon.signal("-TERM");
    daemon.signal("-TERM");
    assert!(daemon.wait().success());
    assert!(call.await.unwrap().is_err());
    crate::world::wait_until_gone(setup);

    world.configure("");
    let daemon = world.daemon().await;
    let rows = daemon.list().await;
    assert_eq!((rows[0].status.as_str(), rows[0].setup_status.as_str()), ("active", "failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_stop_work_on_a_running_daemon() {
    let world = World::new();
    let options = world.options();
    let ask = |options: &paw_daemon::DaemonOptions| {
        let options = options.clone();
        tokio::task::spawn_blocking(move || control::status(&options))
    };
    assert_eq!(ask(&options).await.unwrap().unwrap(), None);
    let daemon = world.daemon().await;
    daemon.create(world.request("develop")).await.unwrap();
    let status = ask(&options).await.unwrap().unwrap().unwrap();
    assert_eq!((status.pid, &status.socket), (daemon.process.id(), &options.socket));
    assert_eq!((status.worktrees, status.running_turns), (Some(1), 0));
    assert_eq!(status.version, env!("CARGO_PKG_VERSION"));

    let stopping = options.clone();
    let stopped = tokio::task::spawn_blocking(move || control::stop(&stopping)).await.unwrap().unwrap();
    assert_eq!(stopped, Some(status.pid));
    assert!(daemon.wait().success());
    assert!(!options.socket.exists());
    let again = options.clone();
    let stopped = tokio::task::spawn_blocking(move || control::stop(&again)).await.unwrap().unwrap();
    assert_eq!(stopped, None);
    assert_eq!(ask(&options).await.unwrap().unwrap(), None);
}

/// Whether every thread of a process is stopped.
fn stands_still(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.filter_map(Result::ok).all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_a_hanging_daemon_reports_its_pid() {
    let world = World::new();
    let daemon = world.daemon().await;
    daemon.signal("-STOP");
    wait_until("all of it stands still", || stands_still(daemon.process.id()).then_some(()));
    let options = world.options();
    let error = tokio::task::spawn_blocking(move || control::status(&options)).await.unwrap().unwrap_err();
    assert!(
        matches!(error, DaemonError::Unresponsive { pid: Some(pid), .. } if pid == daemon.process.id()),
        "{error}"
    );
    daemon.signal("-CONT");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_other_users_are_rejected() {
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let tool = Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success());
    if !root || !tool {
        eprintln!("skipped: only root can run as another user");
        return;
    }
    let world = World::new();
    let daemon = world.daemon().await;
    let socket = world.options().socket;
    // All file permissions are opened, so that only the check of the daemon remains.
    for dir in socket.ancestors().skip(1).take_while(|dir| dir.starts_with(world.sandbox.root())) {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    let greet = |who: &[&str]| {
        let mut words = who.to_vec();
        let exe = std::env::current_exe().unwrap().display().to_string();
        words.extend([exe.as_str(), "--exact", "child::foreign_client", "--ignored", "--nocapture"]);
        let status =
            Command::new(words[0]).args(&words[1..]).env("PAW_TEST_SOCKET", &socket).output().unwrap();
        status.status.code()
    };
    let other_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    assert_eq!(greet(&["env"]), Some(7), "we ourselves are answered");
    assert_eq!(greet(&other_user), Some(0), "another user is rejected");
    wait_until("the daemon says so", || {
        world.log().contains("rejected a connection from user 65534").then_some(())
    });
    assert!(!is_gone(daemon.process.id()));
    assert_eq!(daemon.list().await, []);
}

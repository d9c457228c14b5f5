//! The user's own NATS servers, which accept only users that their operator has signed.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use paw_testkit::{git, wait_until};
use serde_json::{Value, json};

use super::{OwnServers, TwoMachines, audit};
use crate::paw::document;

/// A token with these claims about `subject`, signed by `issuer`.
fn token(issuer: &KeyPair, subject: &KeyPair, kind: &str, mut claims: Value) -> String {
    claims["type"] = json!(kind);
    claims["version"] = json!(2);
    let body = json!({"jti": "test", "iat": 1_700_000_000, "iss": issuer.public_key(), "sub": subject.public_key(),
                      "name": kind, "nats": claims});
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let text = format!("{}.{}", part(&json!({"typ": "JWT", "alg": "ed25519-nkey"})), part(&body));
    let signature = BASE64URL_NOPAD.encode(&issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

/// The file of a user of `account`.
fn credentials(account: &KeyPair) -> String {
    let user = KeyPair::new_user();
    let unlimited = json!({"pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1});
    format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        token(account, &user, "user", unlimited),
        user.seed().unwrap()
    )
}

/// Starts a server with an operator, and returns it with the account whose users it admits.
fn start(world: &TwoMachines) -> (OwnServers, KeyPair, u16) {
    let (operator, system, account) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let names = [
        "subs",
        "data",
        "payload",
        "imports",
        "exports",
        "conn",
        "leaf",
        "mem_storage",
        "disk_storage",
        "streams",
        "consumer",
    ];
    let mut limits = json!({"wildcards": true});
    for name in names {
        limits[name] = json!(-1);
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let root = world.machine.sandbox.root();
    let store = root.join("own-servers");
    let text = format!(
        "listen: 127.0.0.1:{port}\njetstream {{ store_dir: {:?} }}\noperator: {}\nsystem_account: {}\nresolver: MEMORY\n\
         resolver_preload: {{\n  {}: {}\n  {}: {}\n}}\n",
        store.display().to_string(),
        token(&operator, &operator, "operator", json!({})),
        system.public_key(),
        system.public_key(),
        token(&operator, &system, "account", json!({})),
        account.public_key(),
        token(&operator, &account, "account", json!({"limits": limits})),
    );
    let config = root.join("own-servers.conf");
    fs::write(&config, text).unwrap();
    let log = fs::File::create(root.join("own-servers.log")).unwrap();
    let server = Command::new(root.join("tools/nats-server"))
        .arg("-c")
        .arg(&config)
        .stderr(Stdio::from(log))
        .spawn()
        .unwrap();
    let servers = OwnServers { server, store };
    wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).ok());
    (servers, account, port)
}

/// All files below a directory that contain a text.
fn files_with(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), text));
        } else if kind.is_file()
            && fs::read(entry.path()).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn credentials_open_the_users_own_servers_to_all_machines_and_are_kept_private() {
    let Some(world) = TwoMachines::new() else { return };
    let sandbox = &world.machine.sandbox;
    let (servers, account, port) = start(&world);
    let config = format!(
        "[hosts.big]\nssh = \"big\"\n[broker]\nenabled = true\n[cluster]\nservers = [\"nats://127.0.0.1:{port}\"]\n"
    );
    let configure =
        |more: &str| sandbox.write("home/.config/git-paw/config.toml", &format!("{config}{more}"));
    let file = sandbox.root().join("home/me.creds");
    let write = |text: &str, mode: u32| {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    };
    configure("credentials = \"~/me.creds\"\n");
    let start =
        || world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b@big"]);

    // A file that cannot be used is an error before anything starts.
    let missing = start();
    assert!(missing.code == 1 && missing.stderr.contains("me.creds does not exist"), "{missing}");
    let good = credentials(&account);
    write(&good, 0o644);
    let open = start();
    assert!(
        open.code == 1 && open.stderr.contains("other users can read") && open.stderr.contains("chmod 600"),
        "{open}"
    );
    let doctor = world.paw(&["doctor"]);
    assert!(doctor.stdout.contains("other users can read"), "{doctor}");
    write("not one", 0o600);
    let malformed = start();
    assert!(malformed.code == 1 && malformed.stderr.contains("is not a credentials file"), "{malformed}");
    assert_eq!(git(&world.repo.root, ["branch", "--list", "feat/*"]), "");
    assert_eq!(document(&world.run(&["status", "--json"]))["session"], Value::Null);

    // A repository cannot name one.
    fs::create_dir_all(world.repo.root.join(".git-paw")).unwrap();
    let own = world.repo.root.join(".git-paw/config.toml");
    fs::write(&own, "[cluster]\ncredentials = \"/etc/passwd\"\n").unwrap();
    write(&good, 0o600);
    let started = start();
    assert_eq!(started.code, 0, "{started}\n{}", world.logs());
    assert!(started.stderr.contains("cluster.credentials"), "{started}");
    fs::remove_file(own).unwrap();
    world.wait_until_reachable(true);
    let clone = world.clone();
    world.run(&["tell", "feat-b", "go on", "--inbox"]);
    wait_until("the message arrives there", || audit(&clone).contains("go on").then_some(()));
    world.ask();
    wait_until("the question arrives here", || {
        audit(&world.repo.root).contains("may I rename it?").then_some(())
    });

    // The other machine has the key in one private file, outside of every worktree, and no process shows it.
    let seed = good.lines().find(|line| line.starts_with("SU")).unwrap();
    assert_eq!(files_with(&world.machine.there(), seed), [clone.join(".git/paw/cluster-link.json")]);
    let mode = fs::metadata(clone.join(".git/paw/cluster-link.json")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert!(files_with(&world.repo.root, seed).is_empty());
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        for shown in ["cmdline", "environ"] {
            let text = fs::read(entry.path().join(shown)).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&text).contains(seed), "{} of {:?}", shown, entry.path());
        }
    }
    world.run(&["purge", "--force"]);
    assert!(files_with(&world.machine.there(), seed).is_empty());
    wait_until("the stream is deleted", || (servers.streams() == 0).then_some(()));
}

#[test]
fn servers_that_refuse_a_user_are_named_with_their_reason() {
    let Some(world) = TwoMachines::new() else { return };
    let sandbox = &world.machine.sandbox;
    let (_servers, _, port) = start(&world);
    let file = sandbox.write("home/me.creds", &credentials(&KeyPair::new_account()));
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[hosts.big]\nssh = \"big\"\n[broker]\nenabled = true\n[cluster]\nservers = [\"nats://127.0.0.1:{port}\"]\n\
         credentials = \"~/me.creds\"\n"
    );
    sandbox.write("home/.config/git-paw/config.toml", &config);
    world.run(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"]);
    let refused = world.paw(&["add", "feat/b@big"]);
    assert!(refused.code == 1 && refused.stderr.contains("authorization violation"), "{refused}");
    assert_eq!(world.agent("feat/b"), Value::Null);
}

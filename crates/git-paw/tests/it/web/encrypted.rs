//! The page for other machines, in a network of its own.

use std::path::Path;

use paw_testkit::{AgentLook, Sandbox};

use super::browser::{find_program, note};
use crate::paw::PROGRAM;

/// Runs in a network that has no other machines, only an address that is not a loopback address.
const SCRIPT: &str = r#"set -e
"$IP" link set lo up
"$IP" address add 10.9.8.7/32 dev lo
"$PAW" start --no-supervisor --cli claude --branches feat/x >&2
link=$("$PAW" web --bind 10.9.8.7 --json | sed -n 's/.*"link": *"\([^"]*\)".*/\1/p')
page=${link%%/#*} code=${link#*#} port=${link#https://box.example:} port=${port%%/*}
echo "page ${page%:*}"
ask() { "$CURL" --silent --show-error --max-time 60 --resolve "box.example:$port:10.9.8.7" --header "Origin: $page" --header 'Content-Type: application/json' "$@"; }
ask --cacert "$CERTIFICATE" --output /dev/null --write-out 'first view %{http_code}\n' "$page/"
ask --output /dev/null "$page/" || echo "unknown certificate"
ask --output /dev/null "http://box.example:$port/" || echo "not encrypted"
token=$(ask --cacert "$CERTIFICATE" --data "{\"code\":\"$code\"}" "$page/api/login" | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
ask --cacert "$CERTIFICATE" --header "Authorization: Bearer $token" --output /dev/null --write-out 'messages %{http_code}\n' "$page/api/messages"
ask --cacert "$CERTIFICATE" --header 'Host: 10.9.8.8' --output /dev/null --write-out 'another name %{http_code}\n' "$page/"
"$PAW" purge --force >&2
"#;

#[test]
fn page_for_other_machines_is_encrypted_with_the_users_certificate() {
    let tools = ["unshare", "ip", "curl"].map(|tool| find_program(&[tool]));
    let [Some(unshare), Some(ip), Some(curl)] = tools else {
        return note("skipped: unshare, ip and curl are needed for a network of its own");
    };
    let sandbox = Sandbox::new();
    let alone = ["--user", "--map-root-user", "--net"];
    let probe = sandbox.run(&sandbox.root(), &unshare, [&alone[..], &["true"]].concat());
    if probe.code != 0 {
        return note(&format!("skipped: this machine does not allow network namespaces: {probe}"));
    }
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    sandbox.install_agent("claude", AgentLook::Claude, "");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paw-web/tests/fixtures");
    let (certificate, key) = (fixtures.join("certificate.pem"), fixtures.join("key.pem"));
    let config = format!(
        "[broker]\nenabled = true\nport = 0\n[web]\nport = 0\nhosts = [\"box.example\"]\ncertificate = \"{}\"\nkey = \"{}\"\n",
        certificate.display(),
        key.display()
    );
    sandbox.write("home/.config/git-paw/config.toml", &config);
    let repo = sandbox.repo("app");
    let mut command = sandbox.command(unshare);
    command.current_dir(&repo.root).args(alone).args(["sh", "-c", SCRIPT]);
    command.env("IP", ip).env("CURL", curl).env("PAW", PROGRAM).env("CERTIFICATE", certificate);
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let expected = "page https://box.example\nfirst view 200\nunknown certificate\nnot encrypted\nmessages 200\nanother name 403\n";
    assert_eq!(stdout, expected, "{stderr}");
}

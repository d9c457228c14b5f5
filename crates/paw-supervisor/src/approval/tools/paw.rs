//! git paw: messages and status. Commands that start, stop, remove, merge or approve are not listed.

use super::{AllowedCall, local, network};

pub(super) const CALLS: &[AllowedCall] = &[
    local(
        "git paw say",
        "--json -m=TEXT --message=TEXT --phase=TEXT --export=TEXT --file=TEXT --from=TEXT -s=TEXT --summary=TEXT \
         --ttl=NUM --commit=TEXT --re=TEXT TEXT...",
    ),
    local("git paw inbox", "--since=NUM --wait=NUM --follow --json"),
    local("git paw status", "--json"),
    local("git paw doctor", "--json"),
    local("git paw list-clis", "--json"),
    local("git paw worktree list", "--json --all"),
    local("git paw undo", "--json"),
    local("git paw undo show", "--json NAME"),
    local("git paw explain", "--json NAME"),
    local("git paw sweep snapshot", "--json --lines=NUM"),
    local("git paw sweep capture", "--json --lines=NUM NAME"),
    local("git paw sweep status", "--json"),
    local("git paw sweep worktrees", "--json"),
    local("git paw sweep inbox", "--json --since=NUM"),
    local("git paw sweep detect-stuck", "--json"),
    local("git paw approvals", "--json --limit=NUM --session=NAME"),
    local("git paw approvals check", "--json TEXT"),
    local("git paw verify", "--json --gate=NAME NAME"),
    network(
        "curl",
        "-s -S -f -i -v --silent --show-error --fail --max-time=NUM -m=NUM -X=GET|POST|get|post --request=GET|POST|get \
         -H=DATA --header=DATA -d=DATA --data=DATA --data-raw=DATA BROKER",
    ),
];

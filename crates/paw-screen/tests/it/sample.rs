//! A session in the middle of its work, for looking at.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_core::AgentId;
use paw_screen::dashboard::{
    Agent, Conflict, ConflictKind, Feed, Header, Home, Kind, Look, Message, Mood, Options, Role,
};
use paw_screen::text::Text;

pub(crate) fn options() -> Options {
    Options {
        home: Home::Session,
        look: Look::FULL,
        max_messages: 500,
        show_messages: true,
        message_lines: 20,
        zone: TimeZone::UTC,
    }
}

pub(crate) fn id(id: &str) -> AgentId {
    AgentId::new(id).unwrap()
}

/// So many seconds before `now`.
pub(crate) fn ago(now: Timestamp, seconds: i64) -> Timestamp {
    now - jiff::SignedDuration::from_secs(seconds)
}

pub(crate) fn header() -> Feed {
    Feed::Header(Header {
        session: "paw-shop".into(),
        repository: "/home/ada/code/shop".into(),
        address: "127.0.0.1:9119".into(),
        open_to_all: false,
    })
}

pub(crate) fn agent(
    now: Timestamp,
    name: &str,
    state: &str,
    files: &[&str],
    age: i64,
    message: &str,
) -> Agent {
    Agent {
        id: id(name),
        mood: Mood::of(state),
        state: state.into(),
        branch: name.replacen('-', "/", 1).as_str().into(),
        cli: if name.ends_with('i') { "codex" } else { "claude" }.into(),
        files: files.iter().map(|file| Text::line(file)).collect(),
        last_seen: Some(ago(now, age)),
        last_message: message.into(),
    }
}

pub(crate) fn message(
    now: Timestamp,
    seq: u64,
    age: i64,
    kind: Kind,
    (from, to): (&str, &str),
    text: &str,
) -> Message {
    let role = match kind {
        Kind::Question => Role::Question { asker: id(from), question: text.to_owned() },
        Kind::Answer => Role::Answer { asker: id(to), quoted: None },
        _ => Role::Plain,
    };
    Message {
        seq,
        at: ago(now, age),
        kind,
        from: from.into(),
        to: to.into(),
        text: text.into(),
        fields: vec![("text".into(), Text::new(text))],
        role,
    }
}

pub(crate) fn session(now: Timestamp) -> Vec<Feed> {
    let mut feeds = vec![header()];
    let agents = [
        agent(
            now,
            "feat-auth",
            "working",
            &["src/auth.rs", "src/token.rs", "tests/auth.rs"],
            4,
            "hash passwords with argon2",
        ),
        agent(now, "feat-api", "blocked", &["src/api.rs"], 190, "needs the User type from feat-auth"),
        agent(
            now,
            "feat-search",
            "committed",
            &["src/search.rs", "src/index.rs"],
            65,
            "inverted index with prefix queries",
        ),
        agent(
            now,
            "fix-checkout-rounding",
            "verified",
            &["src/cart.rs"],
            3_725,
            "all gates passed at 4fe2a91",
        ),
        agent(now, "docs-guide", "done", &[], 840, "quick start and troubleshooting"),
        Agent {
            branch: Text::default(),
            ..agent(now, "supervisor", "watching", &[], 12, "supervisor online")
        },
    ];
    feeds.extend(agents.map(Feed::Agent));
    feeds.push(Feed::Conflict(Conflict {
        key: "auth-api".to_owned(),
        kind: ConflictKind::Clash,
        file: "src/middleware/session.rs".into(),
        lines: "41-58".into(),
        agents: ["feat-auth".into(), "feat-api".into()],
        since: ago(now, 95),
        story: Text::new("both changed the signature of open_session\ngit cannot merge lines 41-58"),
    }));
    feeds.push(Feed::Conflict(Conflict {
        key: "search-api".to_owned(),
        kind: ConflictKind::Additive,
        file: "src/lib.rs".into(),
        lines: Text::default(),
        agents: ["feat-search".into(), "feat-api".into()],
        since: ago(now, 30),
        story: "both add a module line".into(),
    }));
    let all = [
        (840, Kind::Artifact, ("docs-guide", ""), "done: quick start and troubleshooting"),
        (700, Kind::Intent, ("feat-auth", ""), "3 files for 15m: argon2 behind a trait"),
        (510, Kind::Status, ("feat-auth", ""), "working, 1 file"),
        (300, Kind::Artifact, ("feat-search", ""), "committed: src/search.rs, src/index.rs"),
        (190, Kind::Blocked, ("feat-api", "feat-auth"), "needs the User type"),
        (
            96,
            Kind::Feedback,
            ("supervisor", "feat-auth"),
            "[conflict-detector] in-flight conflict: src/middleware/session.rs lines 41-58 with feat-api",
        ),
        (
            95,
            Kind::Feedback,
            ("supervisor", "feat-api"),
            "[conflict-detector] in-flight conflict: src/middleware/session.rs lines 41-58 with feat-auth",
        ),
        (60, Kind::Verified, ("supervisor", "fix-checkout-rounding"), "all gates passed at 4fe2a91"),
        (
            33,
            Kind::Question,
            ("feat-auth", "supervisor"),
            "Should expired tokens be refused with 401, or refreshed silently when the refresh token is still good?",
        ),
        (4, Kind::Status, ("feat-auth", ""), "working, 3 files"),
    ];
    let numbered = (1..).zip(all);
    feeds.extend(
        numbered.map(|(seq, (age, kind, who, text))| Feed::Message(message(now, seq, age, kind, who, text))),
    );
    feeds
}

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Barrier;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::caller::CallingAgent;
use paw_core::AgentId;

struct TestStore {
    dir: TempDir,
    store: TrustStore,
}

impl TestStore {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore::at(dir.path().join("data/trust.json"));
        Self { dir, store }
    }

    fn repo(&self, name: impl AsRef<OsStr>) -> Repo {
        let root = self.dir.path().join(name.as_ref());
        let common_dir = root.join(".git");
        fs::create_dir_all(&common_dir).unwrap();
        Repo { worktree: Some(root.clone()), root, common_dir, bare: false }
    }

    fn put(&self, text: &str) {
        files::write_atomic(self.store.path(), text.as_bytes(), Access::Usual).unwrap();
    }
}

fn user() -> Approver {
    Approver::new(&CommandCaller::User).unwrap()
}

fn setup(commands: &[&str]) -> TrustSubject {
    commands.iter().fold(TrustSubject::new("setup"), |subject, command| subject.with("command", *command))
}

#[test]
fn a_new_store_approves_nothing() {
    let test = TestStore::new();
    assert!(!test.store.is_approved(&test.repo("app"), &setup(&["npm install"])).unwrap());
    assert!(!test.store.path().exists());
}

#[test]
fn an_approval_covers_only_its_content_and_its_repository() {
    let test = TestStore::new();
    let (app, other) = (test.repo("app"), test.repo("other"));
    test.store.approve(&user(), &app, &setup(&["npm install"])).unwrap();
    let approved = |repo, subject: &TrustSubject| test.store.is_approved(repo, subject).unwrap();
    assert!(approved(&app, &setup(&["npm install"])));
    assert!(!approved(&app, &setup(&["npm install "])), "one more byte");
    assert!(!approved(&app, &setup(&["npm install", "make"])), "one more command");
    assert!(!approved(&app, &TrustSubject::new("config").with("command", "npm install")), "another kind");
    assert!(!approved(&other, &setup(&["npm install"])), "another repository");
}

#[test]
fn an_approval_covers_a_repository_under_every_path() {
    let test = TestStore::new();
    let app = test.repo("app");
    symlink(&app.root, test.dir.path().join("link")).unwrap();
    let linked = Repo { common_dir: test.dir.path().join("link/.git"), ..app.clone() };
    test.store.approve(&user(), &linked, &setup(&["make"])).unwrap();
    assert!(test.store.is_approved(&app, &setup(&["make"])).unwrap());
}

#[test]
fn approvals_distinguish_repository_paths_that_are_not_utf8() {
    let test = TestStore::new();
    let (odd, other, literal) =
        (test.repo(OsStr::from_bytes(b"a\xff")), test.repo(OsStr::from_bytes(b"a\xfe")), test.repo(r"a\xff"));
    test.store.approve(&user(), &odd, &setup(&["make"])).unwrap();
    assert!(test.store.is_approved(&odd, &setup(&["make"])).unwrap());
    assert!(!test.store.is_approved(&other, &setup(&["make"])).unwrap());
    assert!(!test.store.is_approved(&literal, &setup(&["make"])).unwrap());
}

#[test]
fn approvals_are_listed_with_a_summary_and_only_the_owner_can_read_the_file() {
    let test = TestStore::new();
    let subject = setup(&["npm install"]).with("script", "#!/bin/sh\nmake\nmake test\n");
    test.store.approve(&user(), &test.repo("app"), &subject).unwrap();
    test.store.approve(&user(), &test.repo("app"), &subject).unwrap();
    let [approval] = &test.store.list().unwrap()[..] else { panic!("one approval") };
    assert_eq!(approval.what, ["command: npm install", "script: #!/bin/sh (and 2 more lines)"]);
    assert_eq!((approval.subject.as_str(), &approval.hash), ("setup", &subject.fingerprint()));
    assert_eq!(fs::metadata(test.store.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn revoke_removes_the_approvals_of_one_repository_only() {
    let test = TestStore::new();
    let (app, other) = (test.repo("app"), test.repo("other"));
    for subject in [setup(&["a"]), setup(&["b"])] {
        test.store.approve(&user(), &app, &subject).unwrap();
    }
    test.store.approve(&user(), &other, &setup(&["a"])).unwrap();
    assert_eq!(test.store.revoke(&app).unwrap(), 2);
    assert!(!test.store.is_approved(&app, &setup(&["a"])).unwrap());
    assert!(test.store.is_approved(&other, &setup(&["a"])).unwrap());
    assert_eq!(test.store.revoke(&other).unwrap(), 1);
    assert_eq!(test.store.revoke(&other).unwrap(), 0);
    assert_eq!(test.store.list().unwrap(), []);
}

#[test]
fn a_damaged_or_newer_file_approves_nothing_and_is_not_changed() {
    let test = TestStore::new();
    let app = test.repo("app");
    let entry = |hash: &str| {
        format!(
            r#"{{"format":1,"approvals":[{{"repository":"/x","subject":"setup","hash":"{hash}","approved_at":"2026-01-01T00:00:00Z","what":[]}}]}}"#
        )
    };
    let damaged = [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        r#"{"format":1}"#.to_owned(),
        r#"{"format":-1,"approvals":[]}"#.to_owned(),
        r#"{"format":1,"approvals":[],"more":1}"#.to_owned(),
        entry("abc"),
        entry(&"G".repeat(64)),
    ];
    for text in damaged {
        test.put(&text);
        let error = test.store.is_approved(&app, &setup(&["a"])).unwrap_err();
        assert!(matches!(error, TrustError::Damaged { .. }), "{text}: {error}");
        assert!(test.store.approve(&user(), &app, &setup(&["a"])).is_err(), "{text}");
        assert!(test.store.revoke(&app).is_err(), "{text}");
        assert_eq!(fs::read_to_string(test.store.path()).unwrap(), text);
    }
    test.put(&entry(&"0".repeat(64)));
    assert_eq!(test.store.list().unwrap().len(), 1);
    test.put(r#"{"format":2,"approvals":{}}"#);
    let error = test.store.approve(&user(), &app, &setup(&["a"])).unwrap_err();
    assert!(matches!(error, TrustError::Newer { found: 2, .. }), "{error}");
}

#[test]
fn trust_errors_name_the_file_and_have_hints() {
    let error =
        TrustError::Damaged { path: "/data/trust.json".into(), reason: "expected value at line 1".into() };
    insta::assert_snapshot!(error.report(), @"
    /data/trust.json is damaged, so nothing is trusted: expected value at line 1
    hint: repair or move it, then approve again with `git paw trust`
    ");
    insta::assert_snapshot!(TrustError::NotTheUser.report(), @"
    an agent cannot approve the commands of a repository
    hint: ask the user to review and approve them
    ");
}

#[test]
fn no_agent_can_approve() {
    for id in ["feat-x", "supervisor", "Not an id"] {
        let agent = CallingAgent { id: AgentId::new(id).ok(), token: None };
        let refused = Approver::new(&CommandCaller::Agent(agent));
        assert!(matches!(refused, Err(TrustError::NotTheUser)), "{id}");
    }
}

#[test]
fn concurrent_approvals_are_all_stored() {
    let test = TestStore::new();
    let app = test.repo("app");
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (test, app, start) = (&test, &app, &start);
            scope.spawn(move || {
                start.wait();
                test.store.approve(&user(), app, &setup(&[&format!("make {number}")])).unwrap();
            });
        }
    });
    assert_eq!(test.store.list().unwrap().len(), 8);
}

#[test]
fn details_escape_characters_that_a_terminal_would_hide() {
    let subject = setup(&["echo \u{1b}[8mhidden\u{202e}"]).with("script", "a\n\tb\r\n");
    insta::assert_snapshot!(subject.details().join("\n"), @r"
    command: echo \u{1b}[8mhidden\u{202e}
    script:
      | a
      |     b\u{d}
    ");
}

#[test]
fn the_fingerprint_format_is_stable() {
    let fingerprint = setup(&["npm install"]).fingerprint();
    insta::assert_snapshot!(fingerprint, @"6d5cc0e26d36190dc0a14179a0e28300ab6cac4441d7b19b66b425ee9c869ceb");
}

type Fields = Vec<(String, Vec<u8>)>;

fn subject(kind: &str, fields: &Fields) -> TrustSubject {
    fields
        .iter()
        .fold(TrustSubject::new(kind), |subject, (key, value)| subject.with(key.clone(), value.clone()))
}

fn fields() -> impl Strategy<Value = Fields> {
    proptest::collection::vec(("[ab\\x00]{0,3}", proptest::collection::vec(0u8..3, 0..4)), 0..4)
}

/// The same bytes in the same order, split into fields at other positions.
fn recut(fields: &Fields, cuts: &[usize]) -> Fields {
    let all: Vec<u8> = fields.iter().flat_map(|(key, value)| [key.as_bytes(), value].concat()).collect();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (all.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(all.len());
    let mut from = 0;
    let pieces: Vec<Vec<u8>> =
        cuts.into_iter().map(|to| all[std::mem::replace(&mut from, to)..to].to_vec()).collect();
    pieces
        .chunks(2)
        .map(|pair| {
            (String::from_utf8_lossy(&pair[0]).into_owned(), pair.get(1).cloned().unwrap_or_default())
        })
        .collect()
}

proptest! {
    #[test]
    fn fingerprints_are_equal_only_for_equal_fields(
        one in fields(), other in fields(), kinds in ("[ab]{0,2}", "[ab]{0,2}"),
    ) {
        let (left, right) = (subject(&kinds.0, &one), subject(&kinds.1, &other));
        prop_assert_eq!(left.fingerprint() == right.fingerprint(), left == right);
    }

    #[test]
    fn moving_bytes_between_fields_changes_the_fingerprint(one in fields(), cuts in proptest::collection::vec(0usize..32, 0..8)) {
        let other = recut(&one, &cuts);
        let same = subject("setup", &one).fingerprint() == subject("setup", &other).fingerprint();
        prop_assert_eq!(same, one == other);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_invalid_file_is_an_error_and_is_not_changed(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let test = TestStore::new();
        files::write_atomic(test.store.path(), &bytes, Access::Usual).unwrap();
        prop_assert!(test.store.list().is_err());
        prop_assert!(test.store.approve(&user(), &test.repo("app"), &setup(&["a"])).is_err());
        prop_assert_eq!(fs::read(test.store.path()).unwrap(), bytes);
    }
}

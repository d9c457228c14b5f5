//! The order of a merge, skipped branches, and the messages about them.

use paw_supervisor::merge::{MergeAction, MergeError, MergeLock, MergeOutcome, MergeSkip};

use super::world::{World, branch, id, outcome, outcomes};

#[test]
fn merge_fast_forwards_independent_agents_first() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "a\n");
    let world = world.with_agent("b", "feat/a");
    world.commit("b", "b.txt", "b\n");
    let world = world.with_agent("c", "feat/b");
    let tip = world.commit("c", "c.txt", "c\n");
    world.blocked("a", "supervisor");
    world.blocked("c", "b");
    world.blocked("b", "a");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "merged"), ("feat/c", "merged")]);
    assert_eq!((world.main(), report.after.clone()), (tip.clone(), tip));
    assert_eq!(world.repo.git(["rev-list", "--merges", "main"]), "", "never a merge commit");
    assert!(world.repo.root.join("c.txt").exists(), "the checkout has followed");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
    assert!(report.is_complete());
    world.assert_tidy();
}

#[test]
fn merge_order_follows_blocked_messages() {
    let world = World::new(&["b"]).with_agent("a", "main");
    world.commit("a", "a.txt", "a\n");
    world.commit("b", "b.txt", "b\n");
    world.blocked("b", "a");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "skipped")]);
    assert_eq!(world.main(), world.tip("feat/a"));
}

#[test]
fn merge_skips_a_diverged_branch_and_asks_its_agent_to_rebase() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "a\n");
    let b = world.commit("b", "b.txt", "b\n");
    let report = world.merge();
    assert_eq!(outcome(&report, "feat/b"), &MergeOutcome::Skipped { why: MergeSkip::Diverged });
    assert_eq!(world.tip("feat/b"), b, "the branch is left alone");
    let feedback = world.messages_of("agent.feedback", "b");
    assert_eq!((feedback.len(), &feedback[0]["payload"]["from"]), (1, &"supervisor".into()));
    let text = feedback[0]["payload"]["errors"][0].as_str().unwrap();
    assert!(text.contains("feat/b was not merged") && text.contains("git rebase main"), "{text}");
    assert!(world.messages_of("agent.feedback", "a").is_empty());
    assert!(!report.is_complete());
}

#[test]
fn merge_skips_a_dependency_cycle_and_asks_the_user() {
    let world = World::new(&["a", "b", "c"]);
    for agent in ["a", "b", "c"] {
        world.commit(agent, &format!("{agent}.txt"), "x\n");
    }
    world.blocked("a", "b");
    world.blocked("b", "a");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/c", "merged"), ("feat/a", "cycle"), ("feat/b", "cycle")]);
    assert_eq!(report.cycles, [vec![id("a"), id("b")]]);
    assert_eq!(world.main(), world.tip("feat/c"));
    let question = world.messages_of("agent.question", "supervisor");
    assert_eq!(question.len(), 1);
    let text = question[0]["payload"]["question"].as_str().unwrap();
    assert!(text.contains("a, b depend on each other"), "{text}");
}

#[test]
fn merge_skips_a_branch_whose_dependency_is_not_merged() {
    let world = World::new(&["a", "b", "c"]);
    world.commit("a", "broken", "x\n");
    world.commit("b", "b.txt", "x\n");
    world.commit("c", "c.txt", "x\n");
    world.blocked("b", "a");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "regression"), ("feat/b", "skipped"), ("feat/c", "merged")]);
    assert_eq!(outcome(&report, "feat/b"), &MergeOutcome::Skipped { why: MergeSkip::Waits { on: id("a") } });
    assert!(world.messages_of("agent.feedback", "b").is_empty(), "b cannot do anything about it");
}

#[test]
fn merge_of_one_branch_ignores_dependencies_outside_the_merge() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "x\n");
    world.commit("b", "b.txt", "x\n");
    world.blocked("b", "a");
    let b = [paw_supervisor::merge::MergeMember { agent: id("b"), branch: branch("feat/b") }];
    let merge = world.open_for(&b).unwrap();
    assert_eq!(merge.forecast(false).unwrap()[0].1, MergeAction::FastForward);
}

#[test]
fn merge_publishes_a_summary() {
    let world = World::new(&["a", "b", "c", "d"]);
    world.commit("a", "broken", "x\n");
    world.commit("b", "b.txt", "x\n");
    world.commit("c", "c.txt", "x\n");
    let report = world.merge();
    let status = world.messages_of("agent.status", "supervisor");
    assert_eq!(status.len(), 1);
    let text = status[0]["payload"]["message"].as_str().unwrap();
    assert_eq!(
        text,
        "merged: feat/b; nothing to merge: feat/d; skipped: feat/c (diverged: needs a rebase); regressions: feat/a"
    );
    assert_eq!((text, status[0]["payload"]["phase"].as_str()), (report.summary().as_str(), Some("merge")));
    assert_eq!(status[0]["payload"]["detail"][1]["outcome"], "merged");
}

#[test]
fn merge_publishes_that_main_moved() {
    let world = World::new(&["a"]);
    let tip = world.commit("a", "a.txt", "a\n");
    world.merge();
    let moved: Vec<_> =
        world.messages().into_iter().filter(|sent| sent["type"] == "agent.advanced-main").collect();
    assert_eq!(moved.len(), 1);
    assert_eq!(
        (moved[0]["merged_branch"].as_str(), moved[0]["new_main_sha"].as_str()),
        (Some("feat/a"), Some(&*tip))
    );
    assert_eq!((moved[0]["from"].as_str(), moved[0]["base"].as_str()), (Some("supervisor"), Some("main")));
}

#[test]
fn a_verification_applies_only_to_the_current_tip() {
    let world = World::new(&["a", "b", "idle"]);
    world.commit("a", "a.txt", "x\n");
    world.commit("b", "b.txt", "x\n");
    world.verify("a");
    world.verify("b");
    assert!(
        world.open().unwrap().unverified().unwrap().is_empty(),
        "who has nothing to merge needs no check"
    );
    world.commit("b", "more.txt", "x\n");
    let merge = world.open().unwrap();
    let unverified: Vec<_> =
        merge.unverified().unwrap().iter().map(|entry| entry.agent.to_string()).collect();
    assert_eq!(unverified, ["b"]);
}

#[test]
fn a_forecast_changes_nothing_and_matches_the_merge() {
    let world = World::new(&["a", "b", "idle"]);
    world.commit("a", "a.txt", "x\n");
    world.commit("b", "b.txt", "x\n");
    let before = world.main();
    let merge = world.open().unwrap();
    let moves = |rebase| -> Vec<_> {
        merge
            .forecast(rebase)
            .unwrap()
            .into_iter()
            .map(|(entry, next)| (entry.agent.to_string(), next))
            .collect()
    };
    let expected = |b| {
        [
            ("a".to_owned(), MergeAction::FastForward),
            ("b".to_owned(), b),
            ("idle".to_owned(), MergeAction::Nothing),
        ]
    };
    assert_eq!(moves(false), expected(MergeAction::Skip(MergeSkip::Diverged)));
    assert_eq!(moves(true), expected(MergeAction::Rebase));
    drop(merge);
    assert_eq!(world.main(), before);
    assert!(world.messages().is_empty());
    world.assert_tidy();
    assert_eq!(
        outcomes(&world.merge()),
        [("feat/a", "merged"), ("feat/b", "skipped"), ("feat/idle", "up_to_date")]
    );
}

#[test]
fn only_one_merge_runs_at_a_time() {
    let world = World::new(&["a"]);
    let first = world.lock();
    assert!(matches!(MergeLock::take(&world.repo()), Err(MergeError::Busy)));
    assert!(world.open().unwrap().forecast(false).is_ok(), "a forecast needs no lock");
    drop(first);
    world.lock();
}

#[test]
fn merge_does_not_wait_for_a_forecast() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let forecast = world.open().unwrap();
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged")]);
    drop(forecast);
}

#[test]
fn merge_reports_a_missing_branch_and_merges_the_others() {
    let world = World::new(&["a", "b"]);
    world.commit("b", "b.txt", "x\n");
    let dir = world.worktree("a");
    world.repo.git(["worktree", "remove", "--force", dir.to_str().unwrap()]);
    world.repo.git(["branch", "-D", "feat/a"]);
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/b", "merged")]);
    assert!(report.notes.iter().any(|note| note == "feat/a no longer exists"), "{:?}", report.notes);
}

#[test]
fn merge_accepts_hostile_branch_names() {
    let world = World::new(&[]);
    let name = "feat/$(touch gone)'\"&;é";
    let name = name.replace(' ', "-");
    world.repo.git(["branch", &name, "main"]);
    let tree = world.repo.git(["write-tree"]);
    let commit = world.repo.git(["commit-tree", "-p", "main", "-m", "hostile", &tree]);
    world.repo.git(["update-ref", &format!("refs/heads/{name}"), &commit]);
    let members = [paw_supervisor::merge::MergeMember { agent: id("x"), branch: branch(&name) }];
    let merge = world.open_for(&members).unwrap();
    let (me, now) = (id("operator"), paw_host::clock::now);
    let stop = paw_supervisor::gates::StopRequest::default();
    let checkouts = paw_supervisor::gates::GateCheckouts::new(&world.repo(), &world.checkouts(), &stop);
    let mut callbacks = paw_supervisor::merge::MergeCallbacks {
        on_line: &mut |_| {},
        checkouts: &checkouts,
        remote: None,
        prove: &mut |checkout| Ok(super::world::prove(checkout)),
        send: &mut |_| Ok(()),
        on_step: &mut |_, _| {},
        sender: &me,
        now: &now,
    };
    assert!(merge.run(world.lock(), false, &mut callbacks).unwrap().is_complete());
    assert_eq!(world.main(), commit);
}

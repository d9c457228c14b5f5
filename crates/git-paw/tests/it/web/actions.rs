//! What a person does on the page, with the functions of the command line.

use std::fs;

use paw_testkit::{git, wait_until};
use serde_json::{Value, json};

use super::WebWorld;

/// The need of `feat-x` of this kind.
fn need(kind: &'static str) -> impl Fn(&Value) -> Option<Value> {
    move |state| {
        let needs = state["needs"].as_array()?.iter();
        needs.clone().find(|need| need["agent_id"] == "feat-x" && need["kind"] == kind).cloned()
    }
}

#[test]
fn person_approves_denies_answers_and_tells_on_the_page() {
    let world = WebWorld::started("");
    let browser = world.log_in(&[]);
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    // Approve exactly what was shown.
    world.submit("build [[bash:rm -rf build]]");
    browser.wait_for("the approval", need("approval"));
    let prompt = browser.get("agents/feat-x/prompt").json();
    assert_eq!((prompt["text"].as_str(), prompt["allowed"].as_bool()), (Some("rm -rf build"), Some(false)));
    assert!(prompt["reason"].as_str().unwrap().contains("`rm` is not on the allowlist"), "{prompt}");
    let answer = browser.post("agents/feat-x/approve", &json!({"text": "rm -rf /"}));
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(!world.agent.events().iter().any(|event| event.starts_with("allowed")));
    let answer = browser.post("agents/feat-x/approve", &json!({"text": "rm -rf build"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    wait_until("it was allowed", || world.has_event("allowed rm -rf build").then_some(()));
    browser.wait_for("the need is gone", |state| need("approval")(state).is_none().then_some(json!(true)));
    let answer = browser.post("agents/feat-x/approve", &json!({"text": "rm -rf build"}));
    assert!(answer.status == 409 && answer.body.contains("not waiting for an approval"), "{answer:?}");
    // Deny, and say what to do instead.
    world.submit("clean [[bash:rm -rf cache]]");
    browser.wait_for("the approval", need("approval"));
    let denial = json!({"text": "rm -rf cache", "tell": "keep the cache"});
    let answer = browser.post("agents/feat-x/deny", &denial);
    assert_eq!(answer.status, 200, "{answer:?}");
    wait_until("it was denied", || world.has_event("denied rm -rf cache").then_some(()));
    browser.wait_for("the directive", |state| {
        let messages = state["messages"].as_array()?.iter();
        messages.clone().find(|message| message["text"].as_str().unwrap().contains("keep the cache")).cloned()
    });
    // Answer a question once.
    world.say_as_agent(&["question", "tabs or spaces?"]);
    let question = browser.wait_for("the question", |state| state["questions"].get(0).cloned());
    let reply = json!({"question": question["seq"], "text": "spaces"});
    assert_eq!(browser.post("answer", &reply).status, 204);
    browser.wait_for("the question is closed", |state| {
        state["questions"].as_array()?.is_empty().then_some(json!(true))
    });
    assert_eq!(browser.post("answer", &reply).status, 409);
    let found = browser.get("messages?q=spaces&kind=answer").json();
    assert_eq!(found["messages"][0]["from"], "operator", "{found}");
    // An idle agent gets an instruction in its pane.
    let before = world.agent.prompts().len();
    let told = browser.post("agents/feat-x/tell", &json!({"text": "-- use fewer words"}));
    assert_eq!((told.status, told.json()["way"].as_str()), (200, Some("pane")), "{told:?}");
    wait_until("it was typed", || world.agent.prompts().get(before).cloned());
    assert!(world.agent.prompts()[before].contains("-- use fewer words"));
    assert_eq!(browser.post("agents/nobody/tell", &json!({"text": "x"})).status, 404);
    assert_eq!(browser.post("agents/feat-x/tell", &json!({"text": " "})).status, 400);
}

#[test]
fn person_comments_on_a_diff_verifies_and_merges_on_the_page() {
    let world =
        WebWorld::started("[supervisor]\ntest_command = \"test -e good\"\n[sandbox]\nruns = \"off\"\n");
    let browser = world.log_in(&[]);
    let worktree = world.worktree("feat/y");
    fs::write(worktree.join("a <b>.txt"), "one\n").unwrap();
    let diff = browser.get("agents/feat-y/diff").json();
    assert_eq!((&diff["committed"], &diff["files"][0]["path"]), (&json!(false), &json!("a <b>.txt")));
    let patch = browser.get("agents/feat-y/diff?file=a+%3Cb%3E.txt").json();
    assert!(patch["patch"].as_str().unwrap().contains("\n+one\n"), "{patch}");
    assert_eq!(browser.get("agents/feat-y/diff?file=..%2Fx").status, 404);
    let comment = json!({"path": "a <b>.txt", "line": 1, "quote": "one", "text": "call it two"});
    let answer = browser.post("agents/feat-y/comments", &comment);
    assert_eq!(answer.status, 200, "{answer:?}");

    let commit = |file: &str| {
        fs::write(worktree.join(file), "x\n").unwrap();
        git(&worktree, ["add", "--all"]);
        git(&worktree, ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "work"]);
        git(&worktree, ["rev-parse", "HEAD"])
    };
    let run = |path: &str, body: &Value| {
        let started = browser.post(path, body);
        assert_eq!(started.status, 200, "{started:?}");
        let id = started.json()["job"].clone();
        browser.wait_for("the run ends", |state| {
            let jobs = state["jobs"].as_array()?.iter();
            jobs.clone().find(|job| job["id"] == id && job["success"].is_boolean()).cloned()
        })
    };
    let verification = |state: &Value| state["agents"]["feat-y"]["verification"].clone();
    commit("bad");
    let failed = run("agents/feat-y/verify", &json!({}));
    assert_eq!(failed["success"], false, "{failed}");
    let tip = commit("good");
    let passed = run("agents/feat-y/verify", &json!({}));
    assert_eq!(passed["success"], true, "{passed}");
    browser.wait_for("the tip is proven", |state| (verification(state) == "proven").then_some(json!(true)));
    let forecast = browser.get("merge").json();
    let plan = forecast["branches"].as_array().unwrap().iter().find(|plan| plan["branch"] == "feat/y");
    assert_eq!(plan.unwrap()["proven"], true, "{forecast}");
    let merged = run("merge", &json!({"only": ["feat/y"]}));
    assert_eq!(merged["success"], true, "{merged}");
    assert_eq!(world.repo.git(["rev-parse", "main"]), tip);
    assert_eq!(browser.post("merge", &json!({"only": [], "trust": true})).status, 400);
}

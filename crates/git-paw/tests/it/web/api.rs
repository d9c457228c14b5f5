//! The documents of the API, as a page reads them.

use std::fs;

use paw_testkit::wait_until;
use serde_json::{Value, json};

use super::WebWorld;

/// Replaces what differs from run to run.
fn redact(world: &WebWorld, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "seq" | "next" | "login" if value.is_number() => *value = json!("[number]"),
                    "token" | "ticket" => *value = json!("[secret]"),
                    _ => redact(world, value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redact(world, value)),
        Value::String(text) => {
            let is_commit = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
            *text = match text.parse::<jiff::Timestamp>() {
                Ok(_) => "[time]".to_owned(),
                Err(_) if is_commit(text) => "[commit]".to_owned(),
                Err(_) => world.sandbox.redact(text),
            };
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of them are the documents")]
fn documents_of_the_api_keep_their_shape() {
    let world = WebWorld::started("");
    let browser = world.log_in(&[]);
    fs::write(world.worktree("feat/y").join("one.txt"), "one\n").unwrap();
    world.say_as_agent(&["question", "tabs or spaces?"]);
    let question = browser.wait_for("the question", |state| state["questions"].get(0).cloned());
    let documents = [
        ("POST login", browser.post("login", &json!({"code": "ABCD-EFGH-JKLM"}))),
        ("GET agents/feat-y/diff", browser.get("agents/feat-y/diff")),
        ("GET agents/feat-y/diff?file=one.txt", browser.get("agents/feat-y/diff?file=one.txt")),
        ("GET merge", browser.get("merge")),
        ("GET messages?kind=question", browser.get("messages?kind=question")),
        ("GET runs", browser.get("runs")),
        ("POST agents/feat-x/ticket", browser.post("agents/feat-x/ticket", &json!({}))),
        ("POST agents/feat-x/take", browser.post("agents/feat-x/take", &json!({}))),
        ("POST answer", browser.post("answer", &json!({"question": question["seq"], "text": " "}))),
        ("POST agents/nobody/tell", browser.post("agents/nobody/tell", &json!({"text": "hello"}))),
    ];
    wait_until("the agent got its first prompt", || (!world.agent.prompts().is_empty()).then_some(()));
    world.submit("build [[bash:rm -rf build]]");
    let prompt = wait_until("the prompt is there", || {
        let answer = browser.get("agents/feat-x/prompt");
        (answer.status == 200).then_some(answer)
    });
    let documents = documents.into_iter().chain([("GET agents/feat-x/prompt", prompt)]);
    let shown = documents.map(|(request, answer)| {
        let mut document = answer.json();
        redact(&world, &mut document);
        format!("{request} -> {}\n{}\n", answer.status, serde_json::to_string_pretty(&document).unwrap())
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
    POST login -> 401
    {
      "error": "this code is not valid; it may have been used already, or be older than ten minutes",
      "hints": []
    }

    GET agents/feat-y/diff -> 200
    {
      "base": "[commit]",
      "committed": false,
      "files": [
        {
          "path": "one.txt",
          "kind": "added",
          "added": 1,
          "removed": 0
        }
      ]
    }

    GET agents/feat-y/diff?file=one.txt -> 200
    {
      "patch": "diff --git a/one.txt b/one.txt\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n+++ b/one.txt\n@@ -0,0 +1 @@\n+one\n",
      "cut": false
    }

    GET merge -> 200
    {
      "dry_run": true,
      "branches": [
        {
          "branch": "feat/x",
          "agent": "feat-x",
          "tip": "[commit]",
          "needs": [],
          "verified": false,
          "proven": false,
          "move": "up_to_date",
          "detail": "nothing to merge"
        },
        {
          "branch": "feat/y",
          "agent": "feat-y",
          "tip": "[commit]",
          "needs": [],
          "verified": false,
          "proven": false,
          "move": "up_to_date",
          "detail": "nothing to merge"
        }
      ],
      "cycles": [],
      "notes": []
    }

    GET messages?kind=question -> 200
    {
      "messages": [
        {
          "seq": "[number]",
          "at": "[time]",
          "kind": "question",
          "from": "feat-x",
          "to": "supervisor",
          "text": "tabs or spaces?",
          "fields": [
            [
              "question",
              "tabs or spaces?"
            ]
          ]
        }
      ],
      "next": null
    }

    GET runs -> 200
    {
      "runs": []
    }

    POST agents/feat-x/ticket -> 200
    {
      "ticket": "[secret]"
    }

    POST agents/feat-x/take -> 200
    {
      "login": "[number]",
      "until": "[time]"
    }

    POST answer -> 400
    {
      "error": "the answer is empty",
      "hints": []
    }

    POST agents/nobody/tell -> 404
    {
      "error": "there is nothing at this address",
      "hints": []
    }

    GET agents/feat-x/prompt -> 200
    {
      "agent": "feat-x",
      "cli": "claude",
      "text": "rm -rf build",
      "allowed": false,
      "reason": "`rm` is not on the allowlist",
      "refused": null
    }
    "#);
}

//! The official Python client.

use std::path::{Path, PathBuf};
use std::process::Command;

use paw_testkit::Sandbox;
use serde_json::{Value, json};

use super::project::project;
use crate::paw::PROGRAM;

/// Connects to the server in the directory of its first argument, with the arguments in the second, and makes the calls in the
/// third. Prints one document.
const SCRIPT: &str = r#"
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    program, directory, words, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
    server = StdioServerParameters(command=program, args=["mcp", *words], cwd=directory, env=dict(os.environ))
    dump = lambda answer: answer.model_dump(mode="json", by_alias=True)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        answers = [dump(await session.call_tool(name, arguments)) for name, arguments in calls]
        print(json.dumps({
            "server": dump(hello)["serverInfo"]["name"],
            "tools": [tool.name for tool in tools.tools],
            "schemas": [dump(tool)["inputSchema"]["type"] for tool in tools.tools],
            "read_only": [dump(tool)["annotations"]["readOnlyHint"] for tool in tools.tools],
            "answers": [{"failed": one["isError"], "said": json.loads(one["content"][0]["text"])} for one in answers],
        }))

asyncio.run(main())
"#;

/// The Python for which `scripts/test` installed the client, or the default one. `None` if it has no client.
fn find_python() -> Option<PathBuf> {
    let installed = std::env::var_os("PAW_RUNNERS").map(|place| Path::new(&place).join("venv/bin/python"));
    let python = installed.filter(|python| python.exists()).unwrap_or_else(|| "python3".into());
    let has_client = Command::new(&python).args(["-c", "import mcp.client.stdio"]).output();
    if has_client.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    crate::guide::skip("this machine's python3 has no mcp package (scripts/test installs it)");
    None
}

fn talk(python: &Path, sandbox: &Sandbox, dir: &Path, words: &[&str], calls: &[(&str, Value)]) -> Value {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT, PROGRAM]).arg(dir).args([json!(words).to_string(), json!(calls).to_string()]);
    for (name, value) in sandbox.variables().filter(|(name, _)| *name != "PATH" && *name != "HOME") {
        command.env(name, value);
    }
    command.env("XDG_DATA_HOME", sandbox.home()).env("XDG_CONFIG_HOME", sandbox.home().join(".config"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_python_sdk_lists_and_calls_tools() {
    let Some(python) = find_python() else { return };
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let calls = [
        ("tasks_add", json!({"title": "from python"})),
        ("tasks_show", json!({"id": 99})),
        ("agents", json!({})),
        ("intents", json!({})),
        ("conflicts", json!({})),
        ("tasks_list", json!({})),
    ];
    let seen = talk(&python, &sandbox, &repo.root, &["--tools", "tasks,coordination"], &calls);
    assert_eq!(seen["server"], "git-paw");
    let schemas = seen["schemas"].as_array().unwrap();
    assert!(schemas.len() > 9 && schemas.iter().all(|kind| kind == "object"), "{schemas:?}");
    assert_eq!(seen["answers"][0]["said"]["id"], "1");
    assert_eq!(seen["answers"][4]["said"], json!({"conflicts": []}));
    let failed: Vec<_> =
        seen["answers"].as_array().unwrap().iter().map(|answer| answer["failed"] == true).collect();
    assert_eq!(failed, [false, true, false, false, false, false], "{seen}");
}

#[test]
fn the_python_sdk_reads_a_project_with_each_of_its_tools() {
    let Some(python) = find_python() else { return };
    let (sandbox, repo) = project();
    let (dir, log) = (repo.root.display().to_string(), sandbox.root().join("calls.log"));
    let words = ["--tools", "project", "--repo", &dir, "--log-file", log.to_str().unwrap()];
    let branch = json!({"branch": "feat/x"});
    // A tool, its arguments, and where its answer has to have which value.
    let expected = [
        ("governance", json!({}), "/documents/0/content", json!("- [ ] tests\n")),
        ("decision_records", json!({}), "/records/0/title", json!("Use files")),
        ("audit", branch.clone(), "/checks/0/items/0/text", json!("tests")),
        ("docs", json!({}), "/docs/0", json!("README.md")),
        ("files", json!({"path": "src"}), "/files", json!(["src/lib.rs"])),
        ("file_read", json!({"path": "src/lib.rs"}), "/of_lines", json!(2)),
        ("file_search", json!({"text": "parse"}), "/matches/0/path", json!("src/lib.rs")),
        ("commits", branch.clone(), "/commits/1/subject", json!("add new")),
        ("diff", branch, "/files", json!(["src/new.rs"])),
        ("learnings", json!({}), "/applicable/0", json!("Documentation gaps: no page")),
        ("skill", json!({"name": "supervisor"}), "/source", json!("built in")),
        ("spec_graph", json!({}), "/edges", json!([{"from": "one", "to": "two"}])),
    ];
    let calls: Vec<_> = expected.iter().map(|(name, arguments, ..)| (*name, arguments.clone())).collect();
    let seen = talk(&python, &sandbox, &sandbox.root(), &words, &calls);
    let names: Vec<_> = expected.iter().map(|(name, ..)| *name).collect();
    assert_eq!(seen["tools"], json!(names), "every tool is called");
    assert!(seen["read_only"].as_array().unwrap().iter().all(|hint| hint == true), "{}", seen["read_only"]);
    for ((name, _, at, value), answer) in expected.iter().zip(seen["answers"].as_array().unwrap()) {
        assert_eq!(answer["said"].pointer(at), Some(value), "{name}: {answer}");
    }
    let logged = std::fs::read_to_string(log).unwrap();
    assert_eq!(logged.lines().filter(|line| line.ends_with(" ok")).count(), names.len(), "{logged}");
}

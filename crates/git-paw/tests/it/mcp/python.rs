//! The official Python client.

use std::path::{Path, PathBuf};

use paw_testkit::Sandbox;

use crate::paw::PROGRAM;

const SCRIPT: &str = r#"
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "--tools", "tasks,coordination,project"], cwd=sys.argv[2], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        added = await session.call_tool("tasks_add", {"title": "from python"})
        wrong = await session.call_tool("tasks_show", {"id": 99})
        reads = {name: await session.call_tool(name, {}) for name in ("agents", "intents", "conflicts", "tasks_list", "governance", "docs", "files", "commits", "learnings")}
        dump = lambda answer: answer.model_dump(mode="json", by_alias=True)
        print(json.dumps({
            "server": dump(hello)["serverInfo"]["name"],
            "tools": len(tools.tools),
            "added": json.loads(added.content[0].text)["id"],
            "failed": [dump(answer)["isError"] for answer in (added, wrong, *reads.values())],
            "read": {name: sorted(json.loads(answer.content[0].text)) for name, answer in reads.items()},
            "schemas": all(dump(tool)["inputSchema"]["type"] == "object" for tool in tools.tools),
        }))

asyncio.run(main())
"#;

/// The Python for which `scripts/test` installed the client, or the default one.
fn python() -> PathBuf {
    let installed = std::env::var_os("PAW_RUNNERS").map(|place| Path::new(&place).join("venv/bin/python"));
    installed.filter(|python| python.exists()).unwrap_or_else(|| "python3".into())
}

#[test]
fn the_python_sdk_lists_and_calls_tools() {
    let python = python();
    let has_sdk = std::process::Command::new(&python).args(["-c", "import mcp.client.stdio"]).output();
    if !has_sdk.is_ok_and(|output| output.status.success()) {
        crate::guide::skip("this machine's python3 has no mcp package (scripts/test installs it)");
        return;
    }
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let mut command = std::process::Command::new(&python);
    command.args(["-c", SCRIPT, PROGRAM]).arg(&repo.root);
    for (name, value) in sandbox.variables().filter(|(name, _)| *name != "PATH" && *name != "HOME") {
        command.env(name, value);
    }
    command.env("XDG_DATA_HOME", sandbox.home()).env("XDG_CONFIG_HOME", sandbox.home());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(seen["server"], "git-paw");
    assert!(seen["tools"].as_u64() > Some(9));
    let failed =
        serde_json::json!([false, true, false, false, false, false, false, false, false, false, false]);
    assert_eq!((&seen["added"], &seen["failed"]), (&"1".into(), &failed));
    assert_eq!(
        (&seen["schemas"], &seen["read"]["conflicts"]),
        (&true.into(), &serde_json::json!(["conflicts"]))
    );
}

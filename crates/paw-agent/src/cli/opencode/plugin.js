// Tells git paw what the agent in this pane does, and answers what git paw finds harmless. Written at the start of a
// session, removed with it.
import { spawn } from "node:child_process";
import { resolve } from "node:path";

const PROGRAM = "@PROGRAM@";
const PATIENCE = 10000;
const SOON = 1000;
const TOLD = new Set([
  "session.created",
  "session.status",
  "session.idle",
  "session.error",
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.replied",
  "question.rejected",
]);

export const GitPaw = async ({ client, directory }) => {
  // One that the agent itself has started is not the agent.
  const followed = process.env.GIT_PAW_FOLLOWED;
  if (!process.env.GIT_PAW_AGENT_ID || (followed && followed !== String(process.pid))) return {};
  process.env.GIT_PAW_FOLLOWED = String(process.pid);

  const last = new Map();
  const places = new Map();
  const awaited = new Map();
  let queue = Promise.resolve();

  const hook = (record) =>
    new Promise((done) => {
      let said = "";
      const child = spawn(PROGRAM, ["hook", "--cli", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] });
      const late = setTimeout(() => child.kill(), PATIENCE);
      const end = () => {
        clearTimeout(late);
        done(said);
      };
      child.on("error", end);
      child.on("close", end);
      child.stdout?.on("data", (words) => (said += words));
      child.stdin?.on("error", () => {});
      child.stdin?.end(JSON.stringify(record));
    });

  const answer = async (facts, said) => {
    if (JSON.parse(said || "{}").reply !== "once") return;
    const path = { id: facts.sessionID, permissionID: facts.id };
    await client.postSessionIdPermissionsPermissionId({ path, body: { response: "once" } });
  };

  // Where a command would run. Its call may be told a moment after the question about it.
  const placeOf = (call) => {
    if (!call || places.has(call)) return places.get(call);
    return new Promise((found) => {
      awaited.set(call, found);
      setTimeout(found, SOON);
    });
  };

  // In their order, and nobody waits for them.
  const tell = (record, place = () => undefined) => {
    queue = queue
      .then(place)
      .then((place) => hook({ ...record, cwd: place && resolve(directory, place) }))
      .then((said) => (record.type === "permission.asked" ? answer(record.properties, said) : undefined))
      .catch(() => {});
  };

  // Whether this is another word than the last about the same.
  const isNews = (about, word) => last.get(about) !== word && last.set(about, word) && true;

  const tool = (facts) => {
    const { tool, callID, state } = facts.part;
    const { command, filePath, workdir } = state?.input ?? {};
    if (state?.status === "running") {
      places.set(callID, workdir ?? ".");
      awaited.get(callID)?.(workdir ?? ".");
    }
    const part = { tool, state: { status: state?.status, input: { command, filePath } } };
    const known = ["running", "completed", "error"].includes(state?.status);
    return known && isNews(callID, state.status) ? { sessionID: facts.sessionID, part } : undefined;
  };

  return {
    event: async ({ event }) => {
      const { type } = event;
      let facts = event.properties ?? {};
      if (type === "message.part.updated" && facts.part?.type === "tool") {
        facts = tool(facts);
        if (facts) tell({ type, properties: facts });
        return;
      }
      if (!TOLD.has(type)) return;
      if (type === "session.status" && !isNews(facts.sessionID, JSON.stringify(facts.status))) return;
      const { diff: _, ...metadata } = facts.metadata ?? {};
      // Where a command would run has to be known; anything else is at home here.
      const call = facts.tool?.callID;
      const place = () => (facts.permission === "bash" ? placeOf(call) : (places.get(call) ?? "."));
      tell({ type, properties: { ...facts, metadata } }, place);
    },
  };
};

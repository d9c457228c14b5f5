// Reports to git paw what the agent in this pane does, and approves requests that git paw considers harmless. Written at
// the start of a session and removed with it.
import { spawn } from "node:child_process";
import { resolve } from "node:path";

const PROGRAM = "@PROGRAM@";
const HOOK_TIMEOUT_MS = 10000;
const CALL_TIMEOUT_MS = 1000;
const REPORTED = new Set([
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
  // An opencode that the agent itself started is not the agent.
  const followed = process.env.GIT_PAW_FOLLOWED;
  if (!process.env.GIT_PAW_AGENT_ID || (followed && followed !== String(process.pid))) return {};
  process.env.GIT_PAW_FOLLOWED = String(process.pid);

  const last = new Map();
  const directories = new Map();
  const awaited = new Map();
  const costs = new Map();
  const children = new Set();
  let queue = Promise.resolve();

  const hook = (record) =>
    new Promise((done) => {
      let output = "";
      const child = spawn(PROGRAM, ["hook", "--cli", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] });
      const timer = setTimeout(() => child.kill(), HOOK_TIMEOUT_MS);
      const end = () => {
        clearTimeout(timer);
        done(output);
      };
      child.on("error", end);
      child.on("close", end);
      child.stdout?.on("data", (chunk) => (output += chunk));
      child.stdin?.on("error", () => {});
      child.stdin?.end(JSON.stringify(record));
    });

  const answer = async (properties, output) => {
    if (JSON.parse(output || "{}").reply !== "once") return;
    const path = { id: properties.sessionID, permissionID: properties.id };
    await client.postSessionIdPermissionsPermissionId({ path, body: { response: "once" } });
  };

  // Where a command would run. Its call may be reported shortly after the permission request.
  const directoryOf = (call) => {
    if (!call || directories.has(call)) return directories.get(call);
    return new Promise((found) => {
      awaited.set(call, found);
      setTimeout(found, CALL_TIMEOUT_MS);
    });
  };

  // Sends records in order and in the background.
  const report = (record, dir = () => undefined) => {
    queue = queue
      .then(dir)
      .then((dir) => hook({ ...record, cwd: dir && resolve(directory, dir) }))
      .then((output) => (record.type === "permission.asked" ? answer(record.properties, output) : undefined))
      .catch(() => {});
  };

  // Whether the value for this key has changed.
  const isNew = (key, value) => last.get(key) !== value && last.set(key, value) && true;

  const tool = (properties) => {
    const { tool, callID, state } = properties.part;
    const { command, filePath, workdir } = state?.input ?? {};
    if (state?.status === "running") {
      directories.set(callID, workdir ?? ".");
      awaited.get(callID)?.(workdir ?? ".");
    }
    const part = { tool, state: { status: state?.status, input: { command, filePath } } };
    const known = ["running", "completed", "error"].includes(state?.status);
    return known && isNew(callID, state.status) ? { sessionID: properties.sessionID, part } : undefined;
  };

  // What a conversation has cost before this message, in dollars.
  const costBefore = async (sessionID, messageID) => {
    const { data } = await client.session.messages({ path: { id: sessionID } });
    const earlier = (data ?? []).filter(({ info }) => info.id !== messageID);
    return earlier.reduce((sum, { info }) => sum + (info.cost ?? 0), 0);
  };

  // Reports the size and the cost of a conversation after each answer of the model.
  const usage = async ({ sessionID, messageID, tokens, cost }) => {
    if (!costs.has(sessionID)) costs.set(sessionID, await costBefore(sessionID, messageID).catch(() => 0));
    costs.set(sessionID, costs.get(sessionID) + (cost ?? 0));
    const { input = 0, output = 0, reasoning = 0, cache = {} } = tokens ?? {};
    const size = input + output + reasoning + (cache.read ?? 0) + (cache.write ?? 0);
    const micros = Math.round(costs.get(sessionID) * 1e6);
    // A part of the work has a conversation of its own; its size is not the agent's.
    return { sessionID, usage: { tokens: children.has(sessionID) ? undefined : size, cost_micros: micros } };
  };

  return {
    event: async ({ event }) => {
      const { type } = event;
      let properties = event.properties ?? {};
      if (type === "message.part.updated" && properties.part?.type === "tool") {
        properties = tool(properties);
        if (properties) report({ type, properties });
        return;
      }
      if (type === "message.part.updated" && properties.part?.type === "step-finish") {
        const { part } = properties;
        if (!isNew(part.id, "step-finish")) return;
        const used = await usage({ ...part, sessionID: part.sessionID ?? properties.sessionID }).catch(() => undefined);
        if (used) report({ type: "usage", properties: used });
        return;
      }
      if (type === "session.created" && properties.info?.parentID) children.add(properties.info.id);
      if (!REPORTED.has(type)) return;
      if (type === "session.status" && !isNew(properties.sessionID, JSON.stringify(properties.status))) return;
      const { diff: _, ...metadata } = properties.metadata ?? {};
      // A command needs its directory; every other request uses the current one.
      const call = properties.tool?.callID;
      const dir = () => (properties.permission === "bash" ? directoryOf(call) : (directories.get(call) ?? "."));
      report({ type, properties: { ...properties, metadata } }, dir);
    },
  };
};

// Requests to the server. The token lives in this tab only.

const KEY = "git-paw-login";

export class RequestError extends Error {
  constructor(message, hints, status) {
    super([message, ...hints].join("; "));
    this.status = status;
  }
}

export function login() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function forgetLogin() {
  sessionStorage.removeItem(KEY);
}

// Exchanges a one-time code for a token.
export async function logIn(code) {
  const answer = await post("/api/login", { code }, null);
  sessionStorage.setItem(KEY, JSON.stringify(answer));
  return answer;
}

function headers(token) {
  return token ? { authorization: `Bearer ${token}` } : {};
}

async function check(response) {
  if (response.ok) return response;
  let told = {};
  try {
    told = await response.json();
  } catch {
    // Not our server, or it was cut off.
  }
  throw new RequestError(told.error ?? `the server answered ${response.status}`, told.hints ?? [], response.status);
}

const token = () => login()?.token ?? null;

export async function get(path, signal) {
  const response = await check(await fetch(path, { headers: headers(token()), signal, cache: "no-store" }));
  return response.json();
}

export async function post(path, body = {}, as = token()) {
  const response = await check(
    await fetch(path, {
      method: "POST",
      headers: { ...headers(as), "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  return response.status === 204 ? null : response.json();
}

export const agentPath = (agent, action) => `/api/agents/${encodeURIComponent(agent)}/${action}`;

// Reads the event stream line by line until it ends. An empty line is a heartbeat.
export async function follow(onDocument, onHeartbeat, signal) {
  const response = await check(await fetch("/api/events", { headers: headers(token()), signal, cache: "no-store" }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onHeartbeat();
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line) onDocument(JSON.parse(line));
    }
  }
}

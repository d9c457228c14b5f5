// The state of the session in this tab: the whole of it first, then changes.

import { follow, forgetLogin, login, RequestError } from "./api.js";

const MOST_MESSAGES = 2000;
// Without a heartbeat for this long the view is called stale.
const STALE_AFTER = 25_000;

export const state = {
  phase: login() ? "connecting" : "login",
  problem: "",
  stale: false,
  lastSeen: 0,
  version: null,
  session: {},
  supervisor: null,
  order: [],
  agents: {},
  questions: [],
  conflicts: [],
  needs: [],
  jobs: [],
  terminals: {},
  messages: [],
  skew: 0,
};

const listeners = new Set();
let queued = false;

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Draws at most once per frame, however many changes arrive.
export function changed() {
  if (queued) return;
  queued = true;
  const draw = () => {
    queued = false;
    for (const listener of listeners) listener();
  };
  if (document.hidden) setTimeout(draw, 250);
  else requestAnimationFrame(draw);
}

export const now = () => Date.now() + state.skew;
export const mayAct = () => login()?.scope === "act";

export function apply(update) {
  if (update.whole) {
    state.agents = {};
    state.messages = [];
    const shown = document.querySelector('meta[name="program-version"]').content;
    state.version = update.version;
    // A newer program has other files.
    if (update.version !== shown) location.reload();
  }
  for (const part of ["session", "supervisor", "order", "questions", "conflicts", "needs", "jobs", "terminals"]) {
    if (part in update) state[part] = update[part];
  }
  Object.assign(state.agents, update.agents ?? {});
  if (update.messages) {
    const last = state.messages.at(-1)?.seq ?? 0;
    state.messages.push(...update.messages.filter((message) => message.seq > last));
    if (state.messages.length > MOST_MESSAGES) state.messages.splice(0, state.messages.length - MOST_MESSAGES);
  }
  if (update.now) state.skew = Date.parse(update.now) - Date.now();
  state.phase = "open";
  state.problem = "";
  changed();
}

let current = null;

// Follows the session, and connects again after sleep, restart and upgrade.
export async function connect() {
  let wait = 250;
  for (;;) {
    if (!login()) {
      state.phase = "login";
      changed();
      return;
    }
    current = new AbortController();
    try {
      await follow(
        (update) => {
          wait = 250;
          apply(update);
        },
        seen,
        current.signal,
      );
      state.problem = "the connection was closed";
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) {
        forgetLogin();
        state.phase = "login";
        state.problem = "This login has ended. Run git paw web for a new link.";
        changed();
        return;
      }
      state.problem = error.message;
    }
    state.stale = state.phase === "open";
    changed();
    await pause(wait);
    wait = Math.min(wait * 2, 5000);
  }
}

function seen() {
  state.lastSeen = Date.now();
  if (state.stale) {
    state.stale = false;
    changed();
  }
}

let wake = () => {};
function pause(time) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

// A page that was asleep connects at once.
export function watchForSleep() {
  const check = () => {
    if (state.phase !== "open" && state.phase !== "connecting") return;
    if (Date.now() - state.lastSeen > STALE_AFTER) {
      state.stale = state.phase === "open";
      current?.abort();
      changed();
    }
    wake();
  };
  document.addEventListener("visibilitychange", () => document.hidden || check());
  addEventListener("online", check);
  setInterval(() => {
    if (state.phase === "open" && Date.now() - state.lastSeen > STALE_AFTER) check();
  }, 5000);
}

// The frame of the page: login, navigation, and one view at a time.

import { html, render, useEffect, useErrorBoundary, useReducer, useRef, useState } from "./vendor/preact.js";
import { forgetLogin, logIn, post } from "./api.js";
import { AgentPage } from "./agent.js";
import { Conflicts } from "./conflicts.js";
import { Messages } from "./messages.js";
import { Overview } from "./overview.js";
import { Runs } from "./runs.js";
import { Timeline } from "./timeline.js";
import { Work } from "./work.js";
import { age, needsYou } from "./format.js";
import { blocked, setWanted, supported, tell, wanted } from "./notify.js";
import { changed, connect, mayAct, state, subscribe, watchForSleep } from "./store.js";

const VIEWS = [
  ["", "Agents", Overview, "M4 6h16M4 12h16M4 18h10"],
  ["work", "Merge", Work, "M6 4v16M18 4v4a6 6 0 0 1-6 6H6"],
  ["conflicts", "Conflicts", Conflicts, "M12 4 3 20h18ZM12 10v4M12 17v.5"],
  ["messages", "Messages", Messages, "M4 5h16v11H10l-5 4v-4H4Z"],
  ["timeline", "Timeline", Timeline, "M4 7h9M8 12h11M4 17h7"],
  ["runs", "Autopilot", Runs, "M5 12l4 4L19 6"],
];

function route() {
  const [view = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view, rest: rest.map(decodeURIComponent) };
}

function useSession() {
  const [, draw] = useReducer((count) => count + 1, 0);
  useEffect(() => subscribe(draw), []);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || draw(), 1000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    const show = () => {
      scrollTo(0, 0);
      document.querySelector(".body")?.scrollTo(0, 0);
      draw();
    };
    addEventListener("hashchange", show);
    return () => removeEventListener("hashchange", show);
  }, []);
}

function LoginPage() {
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState(state.problem);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await enter(code);
    } catch (error) {
      // Typing replaces what was wrong.
      field.current?.focus();
      field.current?.select();
      setProblem(error.message);
    }
  };
  return html`<main class="login">
    <h1>git paw</h1>
    <p>Run <kbd>git paw web</kbd> in the repository and open the link it prints, or enter its code here.</p>
    <form onSubmit=${submit}>
      <label for="code">Code</label>
      <input id="code" name="code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" required
        ref=${field} aria-describedby="problem" value=${code} onInput=${(event) => setCode(event.target.value)} />
      <button class="primary">Log in</button>
    </form>
    <p id="problem" class="problem" role="alert">${problem}</p>
  </main>`;
}

function Bell() {
  const [on, setOn] = useState(wanted());
  if (!supported()) return null;
  if (blocked()) return html`<span>Notifications are blocked in this browser.</span>`;
  const label = on ? "Notifications are on" : "Notifications are off";
  return html`<button class="quiet" aria-pressed=${on} onClick=${async () => setOn(await setWanted(!on))}>${label}</button>`;
}

function Status() {
  if (state.stale) {
    return html`<p class="stale" role="status" title=${state.problem}>Not connected for ${age(new Date(state.lastSeen).toISOString())}.
      The page shows the state from then, and is reconnecting.</p>`;
  }
  return state.session.broker?.problem
    ? html`<p class="stale" role="status">${state.session.broker.problem}</p>`
    : null;
}

function Failed({ error }) {
  return html`<div class="problem" role="alert"><p>This view failed: ${String(error?.message ?? error)}</p>
    <button onClick=${() => location.reload()}>Reload</button></div>`;
}

function View() {
  const [error] = useErrorBoundary();
  const { view, rest } = route();
  if (error) return html`<${Failed} error=${error} />`;
  if (view === "agent") return html`<${AgentPage} key=${rest[0]} id=${rest[0]} tab=${rest[1]} />`;
  const found = VIEWS.find(([path]) => path === view) ?? VIEWS[0];
  return html`<${found[2]} />`;
}

function Page() {
  useSession();
  useEffect(tell);
  if (state.phase === "login") return html`<${LoginPage} key=${state.problem} />`;
  if (state.phase === "connecting") {
    return html`<main class="login"><h1>git paw</h1><p role="status">Connecting… ${state.problem}</p></main>`;
  }
  const counts = { "": state.needs.length, conflicts: state.conflicts.length };
  const { view } = route();
  const name = (state.session.session ?? "").replace(/^paw-/, "").replace(/@.*$/, "");
  const leave = async () => {
    await post("/api/logout").catch(() => {});
    forgetLogin();
    location.reload();
  };
  return html`
    <a class="skip" href="#content" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("content").focus();
    }}>Skip to content</a>
    <header>
      <h1><a class="name" href="#/"><img src="/icon.svg" alt="" width="22" height="22" />${name || "git paw"}</a></h1>
      <span class=${state.needs.length ? "count some" : "count"} role="status">${needsYou(state.needs.length)}</span>
    </header>
    <nav class="views" aria-label="Views">${VIEWS.map(([path, title, , icon]) =>
      html`<a href=${`#/${path}`} key=${path} aria-current=${path === view ? "page" : undefined}>
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d=${icon} /></svg>
        <b>${title}${counts[path] ? html` <i>${counts[path]}</i>` : null}</b></a>`)}</nav>
    <div class="body"><${Status} /><main id="content" tabindex="-1"><${View} key=${location.hash} /></main></div>
    <footer>
      <${Bell} />
      ${mayAct() ? null : html`<span>This login is view-only.</span>`}
      <button class="quiet" onClick=${leave}>Log out</button>
      <span>git paw ${state.version ?? ""}</span>
    </footer>`;
}

async function enter(code) {
  await logIn(code);
  state.phase = "connecting";
  state.problem = "";
  changed();
  connect();
}

const isCode = (fragment) => fragment !== "" && !fragment.startsWith("/");

// A code in the address is used once and does not stay there.
async function start() {
  const fragment = location.hash.slice(1);
  const hasCode = isCode(fragment);
  // Another link in the same tab only changes the fragment.
  addEventListener("hashchange", () => isCode(location.hash.slice(1)) && location.reload());
  if (hasCode) history.replaceState(null, "", location.pathname);
  render(html`<${Page} />`, document.getElementById("app"));
  watchForSleep();
  if (hasCode) {
    forgetLogin();
    state.phase = "connecting";
    changed();
    try {
      await enter(fragment);
    } catch (error) {
      state.phase = "login";
      state.problem = error.message;
      changed();
    }
  } else {
    connect();
  }
}

start();

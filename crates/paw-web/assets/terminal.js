// The live terminal of an agent, at its own size, scaled to fit. It takes input only after "take over".

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { agentPath, get, login, post } from "./api.js";
import { mayAct, now, state } from "./store.js";

// Keys that a phone does not have.
const KEYS = [["Esc", "\x1b"], ["Tab", "\t"], ["↑", "\x1b[A", "Up"], ["↓", "\x1b[B", "Down"], ["Enter", "\r"], ["Ctrl+C", "\x03"]];

// Until a lost connection is opened again, in milliseconds.
const [RETRY, LONGEST_RETRY] = [500, 8000];

let library = null;

// The terminal adds a style element, which needs the nonce of this page.
function loadLibrary() {
  library ??= (async () => {
    const nonce = document.querySelector('meta[name="style-nonce"]').content;
    const create = document.createElement.bind(document);
    document.createElement = (name, ...rest) => {
      const element = create(name, ...rest);
      if (String(name).toLowerCase() === "style") element.setAttribute("nonce", nonce);
      return element;
    };
    const sheet = create("link");
    sheet.rel = "stylesheet";
    sheet.href = "/vendor/xterm.css";
    document.head.append(sheet);
    return import("./vendor/xterm.js");
  })();
  return library;
}

// A small pane is enlarged at most this much.
const LARGEST_SCALE = 1.4;

// Scales the pane's own size to the width of the page, unless the person wants to scroll.
function fit(frame) {
  const screen = frame.querySelector(".xterm-screen");
  if (!screen) return;
  const room = frame.clientWidth - 2 * parseFloat(getComputedStyle(frame).paddingLeft);
  const scale = frame.classList.contains("full") ? 1 : Math.min(LARGEST_SCALE, room / screen.offsetWidth);
  frame.firstElementChild.style.transform = `scale(${scale})`;
  frame.style.height = `${screen.offsetHeight * scale + 14}px`;
}

// Shows the pane of an agent in `frame` until it is closed. A lost connection is opened again.
class Connection {
  constructor(agent, frame, onProblem, onShown) {
    this.agent = agent;
    this.frame = frame;
    this.onProblem = onProblem;
    this.onShown = onShown;
    this.closed = false;
    this.mayType = false;
    this.onResize = () => fit(frame);
    this.open().catch((error) => this.closed || onProblem(error.message));
  }

  async open() {
    const { Terminal } = await loadLibrary();
    if (this.closed) return;
    this.terminal = new Terminal({ cursorBlink: false, fontSize: 14, scrollback: 2000, theme: { background: "#0b0e0f" } });
    this.terminal.open(this.frame.firstElementChild);
    this.terminal.onData((keys) => this.type(keys));
    // The terminal takes Tab, so it needs another way out.
    this.terminal.attachCustomKeyEventHandler((event) => {
      const leaves = event.key === "Escape" && event.shiftKey;
      if (leaves && event.type === "keydown") document.getElementById("release")?.focus();
      return !leaves;
    });
    this.setMayType(this.mayType);
    addEventListener("resize", this.onResize);
    await this.connect(RETRY);
  }

  async connect(wait) {
    let socket = null;
    try {
      const { ticket } = await post(agentPath(this.agent, "ticket"));
      if (this.closed) return;
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const query = new URLSearchParams({ agent: this.agent, ticket });
      socket = new WebSocket(`${scheme}://${location.host}/api/terminal?${query}`);
    } catch (error) {
      return this.retry(error.message, wait);
    }
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    let reason = "The connection to the terminal was closed.";
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return this.terminal.write(new Uint8Array(data));
      const told = JSON.parse(data);
      if (told.lost) reason = `${told.lost}.`;
      else if (told.closed) this.end(told.closed);
      else {
        // A screen: the other side has answered.
        wait = RETRY;
        this.show(told);
      }
    };
    socket.onclose = () => this.retry(reason, wait);
  }

  retry(problem, wait) {
    if (this.closed || this.ended) return;
    this.onShown(false);
    this.onProblem(`${problem} Connecting again…`);
    this.timer = setTimeout(() => this.connect(Math.min(2 * wait, LONGEST_RETRY)), wait);
  }

  end(problem) {
    this.ended = true;
    this.onShown(false);
    this.onProblem(problem);
  }

  show(size) {
    this.onShown(true);
    this.onProblem("");
    this.terminal.resize(size.columns, size.rows);
    requestAnimationFrame(this.onResize);
  }

  type(keys) {
    if (this.mayType && this.socket?.readyState === WebSocket.OPEN) this.socket.send(new TextEncoder().encode(keys));
  }

  setMayType(mayType) {
    const taken = mayType && !this.mayType;
    this.mayType = mayType;
    if (!this.terminal) return;
    this.terminal.textarea.tabIndex = mayType ? 0 : -1;
    this.terminal.textarea.readOnly = !mayType;
    if (taken) this.terminal.focus();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener("resize", this.onResize);
    this.socket?.close();
    this.terminal?.dispose();
  }
}

export function Terminal({ agent }) {
  const frame = useRef(null);
  const connection = useRef(null);
  const [problem, setProblem] = useState("");
  const [shown, setShown] = useState(false);
  const [text, setText] = useState(null);
  const [full, setFull] = useState(false);
  const holder = state.terminals[agent];
  const mine = Boolean(holder) && holder.login === login()?.login;
  useLayoutEffect(() => {
    connection.current = new Connection(agent, frame.current, setProblem, setShown);
    return () => connection.current.close();
  }, [agent]);
  // Before the page says so, so that no key is lost.
  useLayoutEffect(() => connection.current?.setMayType(mine), [mine]);
  useEffect(() => fit(frame.current), [full]);
  const act = (action) => post(agentPath(agent, action)).catch((error) => setProblem(error.message));
  const left = holder ? Math.max(0, Math.round((Date.parse(holder.until) - now()) / 1000)) : 0;
  const status = mine
    ? "You are typing into this terminal. Shift+Escape leaves it."
    : holder
      ? "Someone else has taken over this terminal."
      : shown ? "You are watching." : problem ? "" : "Connecting…";
  return html`
    <div class="buttons">
      ${mine
        ? html`<button id="release" onClick=${() => act("release")}>Release (${left} s)</button>`
        : html`<button disabled=${!mayAct() || holder} onClick=${() => act("take")}>Take over</button>`}
      <button class="quiet" onClick=${() => (text === null ? get(agentPath(agent, "text")).then((shown) => setText(shown.text), (error) => setProblem(error.message)) : setText(null))}>${text === null ? "Show as text" : "Hide the text"}</button>
      <button class="quiet" aria-pressed=${full} onClick=${() => setFull(!full)}>${full ? "Fit the width" : "Full size"}</button>
      <span role="status">${status}</span>
    </div>
    <p class="problem" role="alert">${problem}</p>
    ${text === null ? null : html`<pre class="transcript" tabindex="0" role="group" aria-label=${`Terminal of ${agent}`}>${text}</pre>`}
    <div class=${`screen ${mine ? "taken" : ""} ${full ? "full" : ""}`} ref=${frame} aria-hidden=${mine ? undefined : "true"}><div class="box"></div></div>
    ${mine
      ? html`<div class="buttons" role="group" aria-label="Keys">${KEYS.map(([name, keys, label]) =>
          html`<button key=${name} aria-label=${label} onClick=${() => connection.current.type(keys)}>${name}</button>`)}</div>`
      : null}`;
}

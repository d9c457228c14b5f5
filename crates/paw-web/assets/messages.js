// Messages of the session, newest first, with a search of everything.

import { html, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { clock } from "./format.js";
import { state } from "./store.js";

const KINDS = ["status", "artifact", "blocked", "verified", "feedback", "question", "answer", "intent", "main", "learning"];
const SHOWN = 200;

export function MessageList({ messages }) {
  return html`<ol class="messages">${messages.map((message) => html`<li key=${message.seq}>
    <time datetime=${message.at}>${clock(message.at)}</time>
    <span class=${`kind ${message.kind}`}>${message.kind}</span>
    <span class="who">${message.from}${message.to ? ` → ${message.to}` : ""}</span>
    <details><summary>${message.text || message.kind}</summary>
      <dl>${message.fields.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl></details></li>`)}</ol>`;
}

export function Messages() {
  const [words, setWords] = useState("");
  const [kind, setKind] = useState("");
  const [agent, setAgent] = useState("");
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  const load = async (before, signal) => {
    const query = new URLSearchParams({ q: words, kind, agent, ...(before ? { before } : {}) });
    try {
      const page = await get(`/api/messages?${query}`, signal);
      setFound((earlier) => ({ messages: before ? [...earlier.messages, ...page.messages] : page.messages, next: page.next }));
      setProblem("");
    } catch (error) {
      if (error.name !== "AbortError") setProblem(error.message);
    }
  };
  const searches = words || kind || agent;
  useEffect(() => {
    if (!searches) return setFound(null);
    const stop = new AbortController();
    const timer = setTimeout(() => load(null, stop.signal), 200);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [words, kind, agent]);
  const live = state.messages.slice(-SHOWN).reverse();
  return html`
    <h2>Messages</h2>
    <form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <div class="wide"><label for="words">Search</label>
      <input id="words" type="search" value=${words} onInput=${(event) => setWords(event.target.value)} /></div>
      <div><label for="kind">Kind</label>
      <select id="kind" value=${kind} onChange=${(event) => setKind(event.target.value)}><option value="">all</option>
        ${KINDS.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></div>
      <div><label for="sender">Agent</label>
      <select id="sender" value=${agent} onChange=${(event) => setAgent(event.target.value)}><option value="">all</option>
        ${state.order.map((id) => html`<option key=${id} value=${id}>${id}</option>`)}</select></div>
    </form>
    <p class="problem" role="alert">${problem}</p>
    <${MessageList} messages=${searches && found ? found.messages : live} />
    ${searches && found?.next ? html`<button onClick=${() => load(found.next)}>Search older messages</button>` : null}
    ${searches && found && !found.messages.length ? html`<p role="status">No message found${found.next ? " yet" : ""}.</p>` : null}`;
}

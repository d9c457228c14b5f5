// The prompt that an agent waits at: the whole command, the verdict, approve and deny.

import { html, useEffect, useState } from "./vendor/preact.js";
import { agentPath, get, post } from "./api.js";
import { mayAct } from "./store.js";

// The last prompt of each agent, and what it was known to need then. Reading a prompt takes a moment, so that going to another view
// and back must not repeat it. A reply is checked against the prompt that the pane shows.
const known = new Map();

export function PromptCard({ agent, need }) {
  const [prompt, setPrompt] = useState(known.get(agent)?.need === need ? known.get(agent).prompt : null);
  const [problem, setProblem] = useState("");
  const [instead, setInstead] = useState("");
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState("");
  const load = async (signal) => {
    try {
      const prompt = await get(agentPath(agent, "prompt"), signal);
      known.set(agent, { need, prompt });
      setPrompt(prompt);
      setProblem("");
    } catch (error) {
      if (error.name !== "AbortError") setProblem(error.message);
    }
  };
  useEffect(() => {
    if (prompt) return undefined;
    const stop = new AbortController();
    load(stop.signal);
    return () => stop.abort();
  }, [agent]);
  const reply = async (action) => {
    setBusy(true);
    setProblem("");
    try {
      const tell = action === "deny" && instead.trim() ? instead : undefined;
      await post(agentPath(agent, action), { text: prompt.text, tell });
      known.delete(agent);
      setDone(action === "approve" ? "Approved." : "Denied.");
    } catch (error) {
      known.delete(agent);
      await load();
      setProblem(error.message);
    }
    setBusy(false);
  };
  if (done) return html`<p role="status">${done}</p>`;
  if (!prompt) {
    return html`<p role="status">${problem || "Loading the prompt…"}</p>
      ${problem ? html`<div class="buttons"><button onClick=${() => load()}>Try again</button><a class="button" href=${`#/agent/${encodeURIComponent(agent)}/terminal`}>Open terminal</a></div>` : null}`;
  }
  const id = `instead-${agent}`;
  return html`<div class="prompt">
    <pre class="command" tabindex="0" role="group" aria-label=${`What ${agent} wants to do`}>${prompt.text}</pre>
    <p class=${`verdict ${prompt.allowed ? "passed" : "asks"}`}>${prompt.allowed ? "Allowed by your rules" : "Not allowed automatically"}: ${prompt.reason}</p>
    ${prompt.refused ? html`<p class="problem">${prompt.refused}</p>` : null}
    <div class="buttons">
      <button class="primary" disabled=${busy || prompt.refused || !mayAct()} onClick=${() => reply("approve")}>Approve once</button>
      <button class="danger" disabled=${busy || !mayAct()} onClick=${() => reply("deny")}>Deny</button>
    </div>
    <details class="more"><summary>Deny and say what to do instead</summary>
      <label for=${id}>Message to ${agent}, sent when you deny</label>
      <input id=${id} value=${instead} onInput=${(event) => setInstead(event.target.value)} /></details>
    <p class="problem" role="alert">${problem}</p>
  </div>`;
}

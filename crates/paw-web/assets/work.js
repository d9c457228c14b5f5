// Gates and merge: what is proven, what would be merged, and what runs now.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { agentPath, get, post } from "./api.js";
import { age, plural } from "./format.js";
import { StateBadge, Verification, agentLink } from "./overview.js";
import { mayAct, state } from "./store.js";

function Job({ job }) {
  const word = job.success === null ? "running" : job.success ? "passed" : "failed";
  return html`<li class=${`card job ${{ running: "need", passed: "good", failed: "bad" }[word]}`}>
    <h3>${job.kind === "verify" ? "Verify" : "Merge"} <span class="branch">${job.subject}</span> <small class=${word}>${job.success === null ? `running for ${age(job.started)}` : `${word}, started ${age(job.started)} ago`}</small></h3>
    ${job.lines.length ? html`<pre tabindex="0" role="group" aria-label=${`Output of ${job.kind} ${job.subject}`}>${job.lines.join("\n")}</pre>` : null}</li>`;
}

const isRunning = (kind, subject) => state.jobs.some((job) => job.success === null && job.kind === kind && job.subject === subject);

// What a merge would do with a branch.
const MOVES = { up_to_date: "nothing to merge", fast_forwarded: "can be merged, if its gates pass", rebased: "can be rebased and merged, if its gates pass" };
const planWords = (entry) => (entry ? (MOVES[entry.move] ?? `${entry.move.replaceAll("_", " ")}: ${entry.detail}`) : "");

// Asks before main moves. It takes the focus, so that it is seen and read wherever it was asked for.
function ConfirmMerge({ branches, ready, onAnswer }) {
  const [rebase, setRebase] = useState(false);
  const card = useRef(null);
  useEffect(() => card.current.focus(), []);
  return html`<div class="card need" ref=${card} tabindex="-1" role="group" aria-labelledby="sure">
    <p id="sure">${branches.length ? html`Merge <span class="branch">${branches.join(", ")}</span>?` : `Merge ${plural(ready, "verified branch", "verified branches")}?`}
      Every gate runs on each branch before main moves.</p>
    <p><label class="check"><input type="checkbox" checked=${rebase} onChange=${(event) => setRebase(event.target.checked)} /> Rebase diverged branches first</label></p>
    <div class="buttons"><button class="primary" onClick=${() => onAnswer({ only: branches, rebase })}>Merge now</button>
    <button onClick=${() => onAnswer(null)}>Cancel</button></div></div>`;
}

export function Work() {
  const [plan, setPlan] = useState(null);
  const [problem, setProblem] = useState("");
  // The branches to merge after a confirmation; all verified ones if empty.
  const [sure, setSure] = useState(null);
  const tips = state.order.map((id) => state.agents[id]?.tip?.commit).join();
  const running = state.jobs.filter((job) => job.success === null).length;
  useEffect(() => {
    const stop = new AbortController();
    get("/api/merge", stop.signal).then((found) => (setPlan(found), setProblem(""))).catch((error) => error.name === "AbortError" || setProblem(error.message));
    return () => stop.abort();
  }, [running, tips]);
  const act = (path, body) => post(path, body).then(() => setProblem("")).catch((error) => setProblem(error.message));
  const agents = state.order.map((id) => state.agents[id]).filter((agent) => agent?.branch);
  const plans = new Map((plan?.branches ?? []).map((entry) => [entry.branch, entry]));
  const ready = (plan?.branches ?? []).filter((entry) => ["fast_forwarded", "rebased"].includes(entry.move) && entry.verified);
  return html`
    <section aria-labelledby="branches">
      <h2 id="branches">Branches</h2>
      <p class="problem" role="alert">${problem}</p>
      <ul class="agents">${agents.map((agent) => html`<li class="agent" key=${agent.agent_id}>
        <a class="who branch" href=${agentLink(agent.agent_id, "diff")}>${agent.branch}</a>
        <${StateBadge} agent=${agent} />
        <span class="facts"><${Verification} agent=${agent} />
          <button aria-label=${`Verify ${agent.branch}`} disabled=${!mayAct() || isRunning("verify", agent.branch)} onClick=${() => act(agentPath(agent.agent_id, "verify"))}>Verify</button>
          <button aria-label=${`Merge ${agent.branch}…`} disabled=${!mayAct() || plans.get(agent.branch)?.move === "up_to_date"} onClick=${() => setSure([agent.branch])}>Merge…</button></span>
        <span class="last">${planWords(plans.get(agent.branch))}</span></li>`)}</ul>
    </section>
    <section aria-labelledby="merge">
      <h2 id="merge">Merge into main</h2>
      ${sure
        ? html`<${ConfirmMerge} key=${sure.join()} branches=${sure} ready=${ready.length} onAnswer=${(answer) => (setSure(null), answer && act("/api/merge", answer))} />`
        : html`<p><button disabled=${!mayAct() || !ready.length} onClick=${() => setSure([])}>Merge all verified…</button>
            <span class="soft"> ${ready.length ? plural(ready.length, "branch is", "branches are") + " ready" : "No branch is verified and ahead of main."}</span></p>`}
    </section>
    <section aria-labelledby="runs"><h2 id="runs">Runs</h2>
      ${state.jobs.length ? null : html`<p class="empty">Verifications and merges started from this page appear here, with their output.</p>`}
      <ul aria-live="polite">${[...state.jobs].reverse().map((job) => html`<${Job} key=${job.id} job=${job} />`)}</ul></section>`;
}

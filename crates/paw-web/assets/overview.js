// Who needs a person, then every agent.

import { html, useState } from "./vendor/preact.js";
import { login, post } from "./api.js";
import { age, clock, needWords, plural, shortCommit, urgency, usageWords } from "./format.js";
import { PromptCard } from "./prompt.js";
import { mayAct, state } from "./store.js";

export const agentLink = (id, tab = "") => `#/agent/${encodeURIComponent(id)}${tab && `/${tab}`}`;
export const nameOf = (id) => state.agents[id]?.branch ?? id;
export const isQuestion = (open) => !open.text.startsWith("[approval]");

export function AnswerForm({ question }) {
  const [text, setText] = useState("");
  const [told, setTold] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await post("/api/answer", { question: question.seq, text });
      setTold("Sent.");
    } catch (error) {
      setTold(error.message);
    }
  };
  const id = `answer-${question.seq}`;
  return html`<form class="answer" onSubmit=${submit}>
    <p class="asked">${question.text}</p>
    <label for=${id}>Answer to ${question.asker}</label>
    <div class="row"><textarea id=${id} rows="1" required value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
    <button class="primary" disabled=${!mayAct()}>Answer</button></div>
    <span role="status">${told}</span>
  </form>`;
}

function Need({ need }) {
  const question = state.questions.find((open) => open.asker === need.agent_id && isQuestion(open));
  const body =
    need.kind === "approval" ? html`<${PromptCard} agent=${need.agent_id} need=${need.text} />`
    : need.kind === "answer" && question ? html`<${AnswerForm} question=${question} key=${question.seq} />`
    : html`<p class="asked">${need.text}</p><div class="buttons"><a class="button" href=${agentLink(need.agent_id, "terminal")}>Open terminal</a></div>`;
  return html`<li class=${`card need ${need.kind}`}>
    <h3>${state.agents[need.agent_id]
      ? html`<a class="branch" href=${agentLink(need.agent_id)}>${nameOf(need.agent_id)}</a>`
      : html`<span class="branch">${need.agent_id}</span>`} ${needWords(need.kind)}
      ${need.since ? html`<small>${age(need.since)}</small>` : null}</h3>
    ${body}
  </li>`;
}

export function StateBadge({ agent }) {
  return html`<span class=${`state ${agent.status_category}`}>${(agent.status ?? "unknown").replaceAll("_", " ")}
    ${agent.since ? html`<small>${age(agent.since)}</small>` : null}</span>`;
}

// The other machine that the agent runs on.
export function HostChip({ agent }) {
  const host = agent.host;
  if (!host) return null;
  const problem = host.reachable === false ? `unreachable since ${clock(host.since)}: ${host.problem ?? ""}` : undefined;
  return html`<span class=${problem ? "chip failed" : "chip"} title=${problem}>@${host.name}</span>`;
}

// Someone types into the pane of the agent.
export function TakenOver({ agent }) {
  const holder = state.terminals[agent.agent_id];
  if (!holder) return null;
  const who = holder.login === login()?.login ? "you type into its terminal" : "someone types into its terminal";
  return html`<a class="asks" href=${agentLink(agent.agent_id, "terminal")}>${who}</a>`;
}

// Whether the tip of the agent's branch is verified, and why.
export function Verification({ agent }) {
  const tip = shortCommit(agent.tip?.commit);
  if (agent.verification === "proven") return html`<span class="passed">✓ verified ${tip}</span>`;
  if (agent.verification === "by_hand") return html`<span>✓ verified by hand ${tip}</span>`;
  const failed = agent.checks?.some((check) => !check.passed && check.commit && agent.tip?.commit.startsWith(check.commit));
  return failed ? html`<span class="failed">✗ gates failed ${tip}</span>` : null;
}

function AgentRow({ agent }) {
  const files = agent.reported?.modified_files?.length ?? 0;
  const conflicts = state.conflicts.filter((conflict) => conflict.agents.includes(agent.agent_id)).length;
  const usage = usageWords(agent.usage);
  const asks = state.questions.some((open) => open.asker === agent.agent_id && isQuestion(open));
  return html`<li class="agent">
    <a class="who branch" href=${agentLink(agent.agent_id)}>${agent.branch ?? agent.agent_id}${agent.cli ? html`<span class="chip">${agent.cli}</span>` : null}<${HostChip} agent=${agent} /></a>
    <${StateBadge} agent=${agent} />
    <span class="facts">
      ${asks ? html`<span class="asks">asks a question</span>` : null}
      <${TakenOver} agent=${agent} />
      ${files ? html`<a href=${agentLink(agent.agent_id, "diff")}>${plural(files, "file")}</a>` : null}
      ${conflicts ? html`<a class="failed" href="#/conflicts">${plural(conflicts, "conflict")}</a>` : null}
      <${Verification} agent=${agent} />
      ${usage ? html`<span>${usage}</span>` : null}
    </span>
    <span class="last">${agent.last_message || agent.observed?.reason}</span>
  </li>`;
}

export function Overview() {
  const agents = state.order.map((id) => state.agents[id]).filter(Boolean);
  const sorted = agents.map((agent, place) => [urgency(agent, state.needs), place, agent]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return html`
    <section aria-labelledby="needs">
      <h2 id="needs">${state.needs.length ? "Needs you" : "Nothing needs you"}</h2>
      <ul aria-live="polite">${state.needs.map((need) =>
        html`<${Need} key=${`${need.agent_id}|${need.kind}|${need.since}`} need=${need} />`)}</ul>
      ${state.needs.length ? null : html`<p class="soft">Approvals and questions appear here.</p>`}
    </section>
    <section aria-labelledby="agents">
      <h2 id="agents">${plural(agents.length, "agent")}</h2>
      <ul class="agents">${sorted.map(([, , agent]) => html`<${AgentRow} key=${agent.agent_id} agent=${agent} />`)}</ul>
    </section>`;
}

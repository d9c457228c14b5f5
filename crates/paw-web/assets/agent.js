// One agent: what it does, its prompt, its work, its terminal.

import { html, useState } from "./vendor/preact.js";
import { agentPath, post } from "./api.js";
import { Diff } from "./diff.js";
import { clock, needWords, usageWords } from "./format.js";
import { MessageList } from "./messages.js";
import { AnswerForm, HostChip, StateBadge, TakenOver, Verification, isQuestion } from "./overview.js";
import { PromptCard } from "./prompt.js";
import { Terminal } from "./terminal.js";
import { mayAct, state } from "./store.js";

const TABS = [["", "State"], ["diff", "Changes"], ["terminal", "Terminal"]];

function TellForm({ agent }) {
  const [text, setText] = useState("");
  const [told, setTold] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    setTold("Sending…");
    try {
      const answer = await post(agentPath(agent, "tell"), { text });
      setTold(answer?.way === "pane" ? "Typed into its pane." : "Sent to its inbox.");
      setText("");
    } catch (error) {
      setTold(error.message);
    }
  };
  return html`<form class="answer" onSubmit=${submit}>
    <label for="tell">Tell ${agent}</label>
    <div class="row"><textarea id="tell" rows="1" required value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
    <button class="primary" disabled=${!mayAct()}>Send</button></div>
    <span role="status">${told}</span>
  </form>`;
}

function Facts({ agent }) {
  const rows = [
    ["Observed", agent.observed?.reason],
    ["Worktree", agent.worktree_path],
    ["Machine", agent.host && [agent.host.name, agent.host.reachable === false && `unreachable since ${clock(agent.host.since)}: ${agent.host.problem ?? ""}`].filter(Boolean).join(", ")],
    ["Says", agent.last_message],
    ["Plans to change", agent.plan && [agent.plan.files.join(", "), agent.plan.summary].filter(Boolean).join(": ")],
    ["Changed files", agent.reported?.modified_files?.join("\n")],
    ["First prompt", agent.prompt === "failed" ? agent.prompt_problem : agent.prompt],
    ["Used", usageWords(agent.usage)],
  ];
  return html`<dl class="facts-list">${rows.filter(([, text]) => text).map(([name, text]) =>
    html`<dt key=${name}>${name}</dt><dd>${text}</dd>`)}</dl>`;
}

function State({ agent }) {
  const id = agent.agent_id;
  const need = state.needs.find((need) => need.agent_id === id);
  const questions = state.questions.filter((open) => open.asker === id && isQuestion(open));
  const messages = state.messages.filter((message) => message.from === id || message.to === id).slice(-50).reverse();
  return html`
    ${need?.kind === "approval" ? html`<section class="card need"><h3>Needs approval</h3><${PromptCard} agent=${id} need=${need.text} key=${need.since} /></section>` : null}
    ${need && need.kind !== "approval" && need.kind !== "answer" ? html`<p class="card need asked">${needWords(need.kind)}: ${need.text}</p>` : null}
    ${questions.map((question) => html`<section class="card need" key=${question.seq}><h3>Asks</h3><${AnswerForm} question=${question} /></section>`)}
    <section class="card"><${TellForm} agent=${id} /></section>
    <section class="card"><${Facts} agent=${agent} /></section>
    <section><h2>Messages</h2>${messages.length ? html`<${MessageList} messages=${messages} />` : html`<p class="empty">No messages yet.</p>`}</section>`;
}

export function AgentPage({ id, tab = "" }) {
  const agent = state.agents[id];
  if (!agent) return html`<p>There is no agent ${id} in this session. <a href="#/">All agents</a></p>`;
  // An agent that moves to another machine has another worktree and another pane.
  const place = agent.host?.name ?? "";
  const link = (name) => `#/agent/${encodeURIComponent(id)}${name && `/${name}`}`;
  return html`
    <div class="top"><h2>${agent.branch ?? id}</h2><span class="chip">${agent.cli}</span><${HostChip} agent=${agent} /><${StateBadge} agent=${agent} /><${Verification} agent=${agent} /><${TakenOver} agent=${agent} /></div>
    <nav class="tabs" aria-label=${`Views of ${id}`}>${TABS.map(([name, title]) =>
      html`<a href=${link(name)} aria-current=${name === tab ? "page" : undefined}>${title}</a>`)}</nav>
    ${tab === "diff" ? html`<${Diff} key=${place} agent=${id} />` : tab === "terminal" ? html`<${Terminal} key=${place} agent=${id} />` : html`<${State} agent=${agent} />`}`;
}

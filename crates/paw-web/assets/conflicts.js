// Conflicts as a matrix of agents and as a list.

import { html, useState } from "./vendor/preact.js";
import { age, plural } from "./format.js";
import { state } from "./store.js";

const RANK = ["additive", "planned", "shared", "trespass", "conflict"];
const WORDS = {
  planned: "both plan to change it",
  shared: "both changed it",
  additive: "both changed it, and it merges",
  conflict: "both changed it, and it does not merge",
  trespass: "changed by the first, claimed by the second",
};

const worst = (conflicts) => conflicts.map((conflict) => conflict.kind).sort((a, b) => RANK.indexOf(b) - RANK.indexOf(a))[0];

function Matrix({ agents, pick, picked }) {
  const between = (one, other) => state.conflicts.filter((conflict) => conflict.agents.includes(one) && conflict.agents.includes(other));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Conflicts by pair of agents"><table class="matrix">
    <thead><tr><td></td>${agents.map((id) => html`<th scope="col" key=${id}>${id}</th>`)}</tr></thead>
    <tbody>${agents.map((row) => html`<tr key=${row}><th scope="row">${row}</th>${agents.map((column) => {
      if (row === column) return html`<td key=${column} class="self"></td>`;
      const found = between(row, column);
      const key = [row, column].sort().join("|");
      return html`<td key=${column} class=${found.length ? worst(found) : ""}>${found.length
        ? html`<button aria-pressed=${picked === key} aria-label=${`${row} and ${column}: ${plural(found.length, "conflict")}`} onClick=${() => pick(picked === key ? "" : key)}>${found.length}</button>`
        : null}</td>`;
    })}</tr>`)}</tbody></table></div>`;
}

export function Conflicts() {
  const [picked, pick] = useState("");
  const agents = [...new Set(state.conflicts.flatMap((conflict) => conflict.agents))].sort();
  const shown = state.conflicts.filter((conflict) => !picked || [...conflict.agents].sort().join("|") === picked);
  if (!state.conflicts.length) return html`<h2>No conflicts</h2><p class="empty">No two agents change the same files.</p>`;
  return html`
    <h2>${plural(state.conflicts.length, "conflict")}</h2>
    <${Matrix} agents=${agents} pick=${pick} picked=${picked} />
    <ul class="conflicts">${shown.map((conflict) => html`<li key=${conflict.key} class=${`card ${["conflict", "trespass"].includes(conflict.kind) ? "bad" : conflict.kind === "additive" ? "good" : "need"}`}>
      <h3><span class="path">${conflict.file}</span> ${conflict.lines ? html`<small>lines ${conflict.lines}</small>` : null}</h3>
      <span>${conflict.agents.map((id, place) => html`${place ? " and " : ""}<a href=${`#/agent/${encodeURIComponent(id)}/diff`}>${id}</a>`)}${": "}${WORDS[conflict.kind] ?? conflict.kind} <small>${age(conflict.since)}</small></span>
      <details class="more"><summary>Details</summary><pre tabindex="0">${conflict.details}</pre></details></li>`)}</ul>`;
}

// Autopilot runs: their steps, test counts and coverage.

import { html, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { age, clock, plural } from "./format.js";

const SHOWN = ["subtask", "executor", "branch", "sha", "message", "title", "url", "coverage", "reason", "note", "error"];

// What a line of the run's log says, without its time and phase.
function words(step) {
  const counts = step.tests ? `${step.tests.passed ?? 0} passed, ${step.tests.failed ?? 0} failed` : "";
  const facts = SHOWN.map((name) => step[name]).filter((value) => typeof value === "string" || typeof value === "number");
  return [facts.join(" · "), counts, step.status && step.status !== "ok" ? step.status : ""].filter(Boolean).join(", ");
}

function Run({ run }) {
  const lines = run.finalCoverage?.lines;
  const tone = { running: "need", paused: "need", completed: "good", aborted: "bad" }[run.status] ?? "";
  return html`<li class=${`card run ${tone}`}>
    <h3>Task ${run.taskId} <span class="branch">${run.branch ?? ""}</span> <small>${run.status}, started ${age(run.startTime)} ago</small></h3>
    <p class="soft">${[`${plural(run.subtasksCompleted?.length ?? 0, "subtask")} done`, run.subtasksFailed?.length ? `${run.subtasksFailed.length} failed` : "",
      plural(run.totalCommits ?? 0, "commit"), lines === undefined ? "" : `${lines} % of lines covered`].filter(Boolean).join(" · ")}</p>
    <details class="more" open=${run.status === "running"}><summary>${plural(run.steps.length, "step")}</summary>
      <ol>${[...run.steps].reverse().map((step, place) => html`<li class="step" key=${run.steps.length - place}>
        <span class=${`phase ${step.phase}`}>${step.phase}</span><span>${words(step)}</span><time class="soft" datetime=${step.ts}>${clock(step.ts)}</time></li>`)}</ol></details></li>`;
}

export function Runs() {
  const [runs, setRuns] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const load = () =>
      document.hidden || get("/api/runs", stop.signal)
        .then((answer) => (setRuns(answer.runs), setProblem("")))
        .catch((error) => error.name === "AbortError" || setProblem(error.message));
    load();
    const timer = setInterval(load, 3000);
    return () => (stop.abort(), clearInterval(timer));
  }, []);
  return html`<h2>Autopilot runs</h2><p class="problem" role="alert">${problem}</p>
    ${runs === null ? html`<p role="status">Loading…</p>`
      : runs.length ? html`<ul>${runs.map((run) => html`<${Run} key=${run.runId} run=${run} />`)}</ul>`
      : html`<p class="empty">No runs in the worktrees of this repository. <kbd>git paw autopilot TASK</kbd> starts one.</p>`}`;
}

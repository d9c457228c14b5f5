// The session as a picture: one lane per agent, its states as bars, what happened as marks.

import { html, useEffect, useMemo, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { clock } from "./format.js";
import { now, state } from "./store.js";

const LANE = 34;
// How wide the names of the agents are, and the lanes: on a phone, what fits.
const sizes = () => (innerWidth < 700 ? [118, Math.max(160, innerWidth - 178)] : [170, 960]);
// Between two times below the lanes, at least.
const TICK = 70;
// Reading and drawing every lane is work, so it follows a busy session at this pace.
const PACE = 3000;
const MARKS = { commit: "●", verified: "✔", question: "?", answer: "!", blocked: "■", conflict: "✕", feedback: "✉", main: "▲" };
const BARS = { works: "working", waits: "waiting for you", failed: "exited or rate-limited", rests: "idle" };
const NAMES = { commit: "commit", verified: "verified", question: "question", answer: "answer", blocked: "blocked", conflict: "conflict", feedback: "feedback", main: "main moved" };

const CLASSES = { starting: "works", working: "works", waiting_approval: "waits", waiting_input: "waits", exited: "failed", rate_limited: "failed" };
const classOf = (word) => CLASSES[word] ?? "rests";

const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Lane({ id, marks, place, x, left, end }) {
  const states = marks.filter((mark) => mark.what === "state");
  const y = place * LANE;
  return html`<g>
    <text x=${left - 10} y=${y + 21} text-anchor="end" class="lane-name">${shorten(id, Math.floor((left - 14) / 7.3))}</text>
    <line x1=${left} x2=${end} y1=${y + 17} y2=${y + 17} class="lane-line" />
    ${states.map((mark, index) => {
      const [from, to] = [x(mark.at), index + 1 < states.length ? x(states[index + 1].at) : end];
      return html`<rect key=${mark.seq} x=${from} y=${y + 10} width=${Math.max(1, to - from)} height="14" class=${`bar ${classOf(mark.state ?? "")}`}>
        <title>${id}: ${mark.state} from ${clock(mark.at)} ${mark.text}</title></rect>`;
    })}
    ${marks.filter((mark) => mark.what !== "state").map((mark) => html`<text key=${mark.seq} x=${x(mark.at)} y=${y + 22} text-anchor="middle" class=${`mark ${mark.what}`}>
      ${MARKS[mark.what]}<title>${NAMES[mark.what]} at ${clock(mark.at)}: ${mark.text}</title></text>`)}
  </g>`;
}

export function Timeline() {
  const [lanes, setLanes] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let read = -1;
    const load = () => {
      const newest = state.messages.at(-1)?.seq ?? 0;
      if (newest === read || document.hidden) return;
      read = newest;
      get("/api/timeline", stop.signal)
        .then((answer) => (setLanes(answer.lanes), setProblem("")))
        .catch((error) => error.name === "AbortError" || setProblem(error.message));
    };
    load();
    const timer = setInterval(load, PACE);
    return () => (stop.abort(), clearInterval(timer));
  }, []);
  const picture = useMemo(() => lanes && draw(lanes), [lanes, Math.floor(now() / PACE), innerWidth]);
  if (problem) return html`<h2>Timeline</h2><p class="problem" role="alert">${problem}</p>`;
  return picture ?? html`<h2>Timeline</h2><p role="status">Loading…</p>`;
}

function draw(lanes) {
  const [left, width] = sizes();
  const ids = [...state.order.filter((id) => lanes[id]), ...Object.keys(lanes).filter((id) => !state.order.includes(id))];
  const times = Object.values(lanes).flat().map((mark) => Date.parse(mark.at));
  if (!times.length) return html`<h2>Timeline</h2><p class="empty">Nothing has happened yet.</p>`;
  const [first, last] = [Math.min(times.reduce((a, b) => Math.min(a, b)), now() - 60_000), now()];
  const parts = Math.min(4, Math.floor(width / TICK));
  const ticks = Array.from({ length: parts + 1 }, (_, part) => new Date(first + (part / parts) * (last - first)).toISOString());
  // Two ticks of a short session may be in one minute.
  const tick = (at) => (last - first < parts * 60_000 ? clock(at) : clock(at).slice(0, 5));
  const x = (at) => left + ((Date.parse(at) - first) / Math.max(1, last - first)) * width;
  const events = ids.flatMap((id) => lanes[id].filter((mark) => mark.what !== "state").map((mark) => ({ id, ...mark })));
  return html`
    <h2>Timeline</h2>
    <p>From ${clock(first)} to now. <span class="legend">${Object.entries(MARKS).map(([what, mark]) => html`<span key=${what}><span class=${`mark ${what}`}>${mark}</span> ${NAMES[what]} </span>`)}
      ${Object.entries(BARS).map(([name, words]) => html`<span key=${name}><span class=${`swatch ${name}`}></span> ${words} </span>`)}</span></p>
    <div class="scroll" tabindex="0" role="region" aria-label="Lanes of the agents">
      <svg class="lanes" viewBox=${`0 0 ${left + width + 30} ${ids.length * LANE + 22}`} role="img" aria-label=${`What ${ids.length} agents did; the list below has the same events`}>
        ${ticks.map((at) => html`<g key=${at}><line x1=${x(at)} x2=${x(at)} y1="0" y2=${ids.length * LANE} class="lane-line" />
          <text x=${x(at)} y=${ids.length * LANE + 15} text-anchor="middle" class="tick">${tick(at)}</text></g>`)}
        ${ids.map((id, place) => html`<${Lane} key=${id} id=${id} marks=${lanes[id]} place=${place} x=${x} left=${left} end=${left + width} />`)}
      </svg></div>
    <details><summary>As a list</summary><ol class="messages">${events.sort((a, b) => b.seq - a.seq).slice(0, 300).map((mark) => html`<li key=${mark.seq}>
      <time datetime=${mark.at}>${clock(mark.at)}</time> <span class="who">${mark.id}</span> ${NAMES[mark.what]}: ${mark.text}</li>`)}</ol></details>`;
}

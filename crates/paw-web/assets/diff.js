// The work of an agent, file by file; a click on a line comments on it.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { agentPath, get, post } from "./api.js";
import { clock, plural, shortCommit } from "./format.js";
import { mayAct } from "./store.js";

// Lines that are drawn at first; the rest on request.
const FIRST_LINES = 600;

// Reads a patch of one file into lines with their numbers.
export function readPatch(patch) {
  const lines = [];
  let [left, right] = [0, 0];
  let inside = false;
  for (const text of patch.split("\n")) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (start) {
      [left, right] = [Number(start[1]), Number(start[2])];
      inside = true;
      lines.push({ kind: "hunk", text });
    } else if (!inside) {
      if (/^Binary files/.test(text)) lines.push({ kind: "hunk", text: "A binary file." });
    } else if (text.startsWith("+")) lines.push({ kind: "added", text: text.slice(1), right: right++ });
    else if (text.startsWith("-")) lines.push({ kind: "removed", text: text.slice(1), left: left++ });
    else if (text.startsWith(" ")) lines.push({ kind: "same", text: text.slice(1), left: left++, right: right++ });
    else if (text.startsWith("\\")) lines.push({ kind: "hunk", text: text.slice(2) });
  }
  return lines;
}

function CommentForm({ agent, path, line, onDone }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const number = line.right ?? line.left;
  const area = useRef(null);
  useEffect(() => area.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await post(agentPath(agent, "comments"), { path, line: number, quote: line.text, text });
      onDone(true);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<form class="comment" onSubmit=${submit}>
    <label for="comment">Comment for ${agent} on line ${number}</label>
    <textarea id="comment" rows="2" required value=${text} ref=${area} onInput=${(event) => setText(event.target.value)}></textarea>
    <div class="buttons"><button class="primary" disabled=${!mayAct()}>Send</button><button type="button" onClick=${() => onDone(false)}>Cancel</button></div>
    <p class="problem" role="alert">${problem}</p>
  </form>`;
}

function FilePatch({ agent, file }) {
  const [lines, setLines] = useState(null);
  const [cut, setCut] = useState(false);
  const [shown, setShown] = useState(FIRST_LINES);
  const [problem, setProblem] = useState("");
  const [at, setAt] = useState(null);
  const [sent, setSent] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const query = new URLSearchParams({ file: file.path, ...(file.old_path && { old: file.old_path }) });
    get(`${agentPath(agent, "diff")}?${query}`, stop.signal)
      .then((answer) => {
        setLines(readPatch(answer.patch));
        setCut(answer.cut);
      })
      .catch((error) => error.name === "AbortError" || setProblem(error.message));
    return () => stop.abort();
  }, [agent, file.path]);
  if (problem) return html`<p class="problem">${problem}</p>`;
  if (!lines) return html`<p role="status">Loading…</p>`;
  return html`<div class="patch" role="group" aria-label=${`Changes of ${file.path}`}>
    ${lines.slice(0, shown).map((line, place) => html`
      ${line.kind === "hunk"
        ? html`<div class="line hunk" key=${place}>${line.text}</div>`
        : html`<button class=${`line ${line.kind}`} key=${place} title="Comment on this line" onClick=${() => setAt(place)}>
            <span class="number">${line.right ?? line.left}</span><span class="sign">${{ added: "+", removed: "−" }[line.kind] ?? ""}</span><span class="code">${line.text || " "}</span></button>`}
      ${at === place ? html`<${CommentForm} agent=${agent} path=${file.path} line=${line} onDone=${(done) => {
        setAt(null);
        setSent(done);
      }} />` : null}`)}
    ${lines.length > shown ? html`<button onClick=${() => setShown(shown + 5000)}>Show ${plural(lines.length - shown, "more line")}</button>` : null}
    ${cut ? html`<p>The rest of this patch is too long to show.</p>` : null}
    <p role="status">${sent ? "Comment sent." : ""}</p>
  </div>`;
}

export function Diff({ agent }) {
  const [work, setWork] = useState(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    get(agentPath(agent, "diff"), stop.signal)
      .then(setWork)
      .catch((error) => error.name === "AbortError" || setProblem(error.message));
    return () => stop.abort();
  }, [agent, round]);
  if (problem) return html`<p class="problem" role="alert">${problem}</p>`;
  if (!work) return html`<p role="status">Loading the changes…</p>`;
  const old = work.snapshot
    ? html`<p class="stale" role="status">${work.snapshot.host} has been unreachable since ${clock(work.snapshot.unreachable_since)}.
        This is the snapshot of ${clock(work.snapshot.at)}.</p>`
    : null;
  if (!work.files.length) return html`${old}<p class="empty">No changes since ${shortCommit(work.base)}.</p>`;
  return html`${old}
    <p>${plural(work.files.length, "file")} changed since ${shortCommit(work.base)}${work.committed ? "" : ", with uncommitted changes"}.
      <button class="quiet" onClick=${() => setRound(round + 1)}>Reload</button></p>
    ${work.files.map((file) => html`<${FileEntry} key=${`${file.path}|${round}`} agent=${agent} file=${file} open=${work.files.length === 1} />`)}`;
}

function FileEntry({ agent, file, open }) {
  const [isOpen, setOpen] = useState(open);
  return html`<details class="file" open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
    <summary><span class="path">${file.old_path ? `${file.old_path} → ` : ""}${file.path}</span>
      <span class="numbers">${file.added === null ? "binary" : html`<span class="passed">+${file.added}</span> <span class="failed">−${file.removed}</span>`}</span></summary>
    ${isOpen ? html`<${FilePatch} agent=${agent} file=${file} />` : null}
  </details>`;
}

// Tells the person: the number in the title, and browser notifications if they are wanted.

import { needWords } from "./format.js";
import { state } from "./store.js";

const KEY = "git-paw-notify";
let known = null;

export const supported = () => "Notification" in window && window.isSecureContext;
export const wanted = () => supported() && localStorage.getItem(KEY) === "yes" && Notification.permission === "granted";

export async function setWanted(on) {
  if (!on) {
    localStorage.removeItem(KEY);
    return false;
  }
  const answer = await Notification.requestPermission();
  if (answer === "granted") localStorage.setItem(KEY, "yes");
  return answer === "granted";
}

const idOf = (need) => `${need.agent_id}|${need.kind}|${need.since ?? need.text}`;

export function tell() {
  const count = state.needs.length;
  const name = state.session.session ? `${state.session.session.replace(/^paw-/, "")} · git paw` : "git paw";
  document.title = count ? `(${count}) ${name}` : name;
  const ids = new Set(state.needs.map(idOf));
  if (known && wanted()) {
    for (const need of state.needs) {
      if (known.has(idOf(need)) || (!document.hidden && document.hasFocus())) continue;
      const shown = new Notification(`${need.agent_id} ${needWords(need.kind)}`, { body: need.text.slice(0, 200), tag: idOf(need) });
      shown.onclick = () => {
        window.focus();
        location.hash = `#/agent/${encodeURIComponent(need.agent_id)}`;
        shown.close();
      };
    }
  }
  if (state.phase === "open") known = ids;
}

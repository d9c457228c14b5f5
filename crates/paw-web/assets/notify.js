// Tells the person: the number in the title, and browser notifications if they are wanted.

import { needWords } from "./format.js";
import { state } from "./store.js";

const KEY = "git-paw-notify";
let known = null;

export const supported = () => "Notification" in window && window.isSecureContext;
export const blocked = () => supported() && Notification.permission === "denied";
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

const open = (place) => {
  window.focus();
  location.hash = place;
};

navigator.serviceWorker?.addEventListener("message", ({ data }) => data.show && open(data.show));

// Phones let only a service worker show one.
async function show(title, options, place) {
  let shown = null;
  try {
    shown = new Notification(title, options);
  } catch {
    await navigator.serviceWorker.register("/service-worker.js");
    const worker = await navigator.serviceWorker.ready;
    return worker.showNotification(title, { ...options, data: place });
  }
  shown.onclick = () => (open(place), shown.close());
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
      const options = { body: need.text.slice(0, 200), tag: idOf(need) };
      // A browser that cannot show it still has the number in the title.
      show(`${need.agent_id} ${needWords(need.kind)}`, options, `#/agent/${encodeURIComponent(need.agent_id)}`).catch(() => {});
    }
  }
  if (state.phase === "open") known = ids;
}

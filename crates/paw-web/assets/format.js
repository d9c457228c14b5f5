// Times, names and words.

import { now } from "./store.js";

export function age(timestamp) {
  if (!timestamp) return "";
  const seconds = Math.max(0, Math.round((now() - Date.parse(timestamp)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export const clock = (timestamp) => new Date(timestamp).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export const plural = (count, word, many = `${word}s`) => `${count} ${count === 1 ? word : many}`;

const NEEDS = {
  approval: "needs approval",
  answer: "asks",
  input: "needs input",
  prompt: "did not get its prompt",
  exited: "has exited",
  rate_limit: "is rate-limited",
};

export const needsYou = (count) => (count ? `${count} need${count === 1 ? "s" : ""} you` : "nothing needs you");

export const needWords = (kind) => NEEDS[kind] ?? kind.replaceAll("_", " ");

export const shortCommit = (commit) => (commit ? commit.slice(0, 8) : "");

const tokens = (count) => (count < 1000 ? `${count}` : count < 1e6 ? `${Math.floor(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`);

// What a conversation has used: the cost if it is known, and its size.
export function usageWords(usage) {
  if (!usage) return "";
  const dollars = usage.cost_usd_micros === undefined ? "" : `$${(Math.ceil(usage.cost_usd_micros / 10_000) / 100).toFixed(2)}`;
  const size = usage.context_tokens ?? usage.total_tokens;
  return [dollars, size === undefined ? "" : `${tokens(size)} tokens`].filter(Boolean).join(" · ");
}

// Lower comes first: who needs a person, then who works.
export function urgency(agent, needs) {
  if (needs.some((need) => need.agent_id === agent.agent_id)) return 0;
  return { failed: 1, blocked: 1, working: 2 }[agent.status_category] ?? 3;
}

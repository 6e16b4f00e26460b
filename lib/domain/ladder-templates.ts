/** The two ladders that ship. They are plain policy data: an organisation copies and changes them. */
import type { Action, Ladder } from "./policy";

const pass: Action = { kind: "pass" };
const downgrade: Action = { kind: "downgrade" };
const refuse: Action = { kind: "refuse" };
const staticText: Action = { kind: "static" };
const defer: Action = { kind: "defer" };

/** Monthly department budget: warn at 75 %, cheaper model at 90 %, core only at 98 %, stop at 100 %. */
export const MONTHLY_DEPARTMENT: Ladder = {
  rungs: [
    { atBasisPoints: 0, name: "normal", actions: { "*": pass } },
    { atBasisPoints: 7500, name: "warn", actions: { "*": pass } },
    { atBasisPoints: 9000, name: "downgrade", actions: { core: pass, "*": downgrade } },
    {
      atBasisPoints: 9800,
      name: "protect",
      actions: {
        core: downgrade,
        marketing: staticText,
        offline: defer,
        "*": { kind: "protect", retryAfterSeconds: 30 },
      },
    },
    { atBasisPoints: 10000, name: "exhausted", actions: { marketing: staticText, "*": refuse } },
  ],
  overflow: "all",
};

/** Daily red line: green, yellow at 80 %, red at 95 %, and beyond the limit only keys on the VIP list, from the overflow. */
export const DAILY_RED_LINE: Ladder = {
  rungs: [
    { atBasisPoints: 0, name: "green", actions: { "*": { kind: "pass", cacheThreshold: 0.95 } } },
    {
      atBasisPoints: 8000,
      name: "yellow",
      actions: {
        core: { kind: "pass", cacheThreshold: 0.9 },
        marketing: { kind: "downgrade", cacheThreshold: 0.85 },
        offline: defer,
        "*": { kind: "downgrade", cacheThreshold: 0.88 },
      },
    },
    {
      atBasisPoints: 9500,
      name: "red",
      actions: {
        core: { kind: "downgrade", cacheThreshold: 0.88 },
        marketing: staticText,
        offline: refuse,
        "*": { kind: "cache_only", cacheThreshold: 0.82 },
      },
    },
    { atBasisPoints: 10000, name: "limit", actions: { marketing: staticText, "*": refuse } },
  ],
  overflow: "vip",
};

export const LADDER_TEMPLATES: Readonly<Record<string, Ladder>> = {
  "monthly-department": MONTHLY_DEPARTMENT,
  "daily-red-line": DAILY_RED_LINE,
};

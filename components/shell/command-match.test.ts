import { describe, expect, it } from "vitest";
import { matching } from "./command-match";

const items = [
  { label: "API keys" },
  { label: "Models and prices", words: "rates" },
  { label: "ticket-triage production" },
  { label: "工单分类 ticket-triage", words: "App" },
  { label: "Requests" },
];
const found = (text: string): string[] => matching(items, text).map(({ label }) => label);

describe("commands that fit what was typed", () => {
  it("are all, in their order, while nothing is typed", () => {
    expect(matching(items, "  ")).toBe(items);
  });

  it("come with the beginning first, then the beginning of a word, then anywhere, then other words", () => {
    expect(found("ticket")).toEqual(["ticket-triage production", "工单分类 ticket-triage"]);
    expect(found("P")).toEqual(["Models and prices", "ticket-triage production", "API keys", "工单分类 ticket-triage"]);
    expect(found("rates")).toEqual(["Models and prices"]);
  });

  it("are found in Chinese, and none where none fits", () => {
    expect(found("工单")).toEqual(["工单分类 ticket-triage"]);
    expect(found("(")).toEqual([]);
  });
});

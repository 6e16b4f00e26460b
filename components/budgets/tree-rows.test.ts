import { describe, expect, it } from "vitest";
import type { BudgetNode } from "@/lib/contracts/budgets";
import { initiallyClosed, visibleRows } from "./tree-rows";

const node = (id: string, parentId: string | null, depth: number): BudgetNode => ({
  id,
  parentId,
  kind: "team",
  name: id,
  costCentre: null,
  frozen: false,
  depth,
  budgets: [],
  allocation: null,
  canWrite: false,
  canGrant: false,
  canFreeze: false,
});
const nodes = [
  node("org", null, 0),
  node("a", "org", 1),
  node("a1", "a", 2),
  node("a1x", "a1", 3),
  node("b", "org", 1),
];
const shown = (closed: string[]): string[] => visibleRows(nodes, new Set(closed)).map((row) => row.node.id);

describe("visibleRows", () => {
  it("hides everything below a closed node, however deep", () => {
    expect(shown(["a"])).toEqual(["org", "a", "b"]);
    expect(shown([])).toEqual(["org", "a", "a1", "a1x", "b"]);
    expect(shown(["org"])).toEqual(["org"]);
  });
  it("knows which rows can be opened", () => {
    expect(
      visibleRows(nodes, new Set())
        .filter((row) => row.hasChildren)
        .map((row) => row.node.id),
    ).toEqual(["org", "a", "a1"]);
  });
});

describe("initiallyClosed", () => {
  it("opens a small tree whole and a large one to its departments", () => {
    expect(initiallyClosed(nodes, 10).size).toBe(0);
    expect(visibleRows(nodes, initiallyClosed(nodes, 2)).map((row) => row.node.id)).toEqual(["org", "a", "b"]);
  });
});

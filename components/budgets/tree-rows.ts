/** Which rows of the tree show: nodes below an opened one. Pure. */
import type { BudgetNode } from "@/lib/contracts/budgets";

export interface TreeRow {
  readonly node: BudgetNode;
  readonly hasChildren: boolean;
  readonly isOpen: boolean;
}

/** `nodes` are in order, parents before children. */
export function visibleRows(nodes: readonly BudgetNode[], closed: ReadonlySet<string>): TreeRow[] {
  const parents = new Set(nodes.map((node) => node.parentId));
  const hidden = new Set<string>();
  const rows: TreeRow[] = [];
  for (const node of nodes) {
    const isHidden = node.parentId !== null && (hidden.has(node.parentId) || closed.has(node.parentId));
    if (isHidden) hidden.add(node.id);
    else rows.push({ node, hasChildren: parents.has(node.id), isOpen: !closed.has(node.id) });
  }
  return rows;
}

/** Everything below the second level starts closed where the tree is large. */
export function initiallyClosed(nodes: readonly BudgetNode[], roomy: number): ReadonlySet<string> {
  if (nodes.length <= roomy) return new Set();
  return new Set(nodes.filter((node) => node.depth >= 1).map((node) => node.id));
}

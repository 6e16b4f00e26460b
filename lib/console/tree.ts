/** The organisation's tree in memory: chains, subtrees, and which part of it a person may see. Pure. */
import { nodesWhere } from "@/lib/domain/role";
import type { Action, Principal } from "@/lib/domain/role";
import type { ConsumerRow } from "@/lib/db/console-consumers";

export interface ConsumerTree {
  readonly rootId: string;
  readonly byId: ReadonlyMap<string, ConsumerRow>;
  readonly childrenOf: ReadonlyMap<string, readonly ConsumerRow[]>;
}

/** Deeper than any real organisation: a broken parent link must not loop. */
const MAX_DEPTH = 32;

export function buildTree(rootId: string, rows: readonly ConsumerRow[]): ConsumerTree {
  const childrenOf = new Map<string, ConsumerRow[]>();
  for (const row of rows) {
    if (row.parentId === null) continue;
    const siblings = childrenOf.get(row.parentId);
    if (siblings === undefined) childrenOf.set(row.parentId, [row]);
    else siblings.push(row);
  }
  return { rootId, byId: new Map(rows.map((row) => [row.id, row])), childrenOf };
}

/** The node's chain, root first; empty for an unknown node. */
export function chainOf(tree: ConsumerTree, id: string): readonly ConsumerRow[] {
  const chain: ConsumerRow[] = [];
  let row = tree.byId.get(id);
  while (row !== undefined && chain.length < MAX_DEPTH) {
    chain.unshift(row);
    row = row.parentId === null ? undefined : tree.byId.get(row.parentId);
  }
  return chain;
}

export function pathOf(tree: ConsumerTree, id: string): readonly string[] {
  return chainOf(tree, id).map((row) => row.id);
}

/** The part of the tree in which the person may do this. */
export interface VisibleTree {
  /** Top nodes of the visible part, outermost first; a node below another one is left out. */
  readonly rootIds: readonly string[];
  readonly seesAll: boolean;
  readonly has: (id: string) => boolean;
}

export function visibleTree(tree: ConsumerTree, principal: Principal, action: Action): VisibleTree {
  const granted = new Set(nodesWhere(principal, action, tree.rootId).filter((id) => tree.byId.has(id)));
  const rootIds = [...granted].filter(
    (id) =>
      !pathOf(tree, id)
        .slice(0, -1)
        .some((above) => granted.has(above)),
  );
  return {
    rootIds,
    seesAll: granted.has(tree.rootId),
    has: (id) => pathOf(tree, id).some((above) => granted.has(above)),
  };
}

/** Ids of the apps that may be seen; null for the whole organisation, which also holds calls that name no app. */
export function visibleAppIds(tree: ConsumerTree, visible: VisibleTree): readonly string[] | null {
  if (visible.seesAll) return null;
  return [...tree.byId.values()].filter((row) => row.kind === "app" && visible.has(row.id)).map((row) => row.id);
}

/** The nodes that are not archived, parents before children, with their depth below the visible top. */
export function walkVisible(tree: ConsumerTree, visible: VisibleTree): { row: ConsumerRow; depth: number }[] {
  const walked: { row: ConsumerRow; depth: number }[] = [];
  const visit = (row: ConsumerRow, depth: number): void => {
    if (row.archived || depth > MAX_DEPTH) return;
    walked.push({ row, depth });
    for (const child of tree.childrenOf.get(row.id) ?? []) visit(child, depth + 1);
  };
  for (const id of visible.rootIds) {
    const row = tree.byId.get(id);
    if (row !== undefined) visit(row, 0);
  }
  return walked;
}

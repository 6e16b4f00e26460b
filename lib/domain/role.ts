/**
 * Who may do what: one table of roles x actions, asked by pages, admin API and use cases alike. A role is held at a node
 * of the tree and holds for that node and everything below it. What a principal may not see and what does not exist must
 * look the same, so callers answer both with `not_found`.
 */

export const ROLES = ["owner", "finance", "lead", "manager", "developer", "engineer", "auditor"] as const;
export type Role = (typeof ROLES)[number];

export const ACTIONS = [
  "organisation.create",
  "organisation.read",
  "organisation.update",
  "sample.remove",
  "consumer.read",
  "consumer.create",
  "consumer.update",
  "consumer.freeze",
  "budget.read",
  "budget.write",
  "budget.freeze",
  "grant.write",
  "approval.request",
  "approval.decide",
  "key.read",
  "key.write",
  "key.freeze",
  "policy.read",
  "policy.write",
  "policy.assign",
  "rate_limit.write",
  "model.read",
  "model.write",
  "price.read",
  "price.write",
  "usage.read",
  "request.read",
  "alert.read",
  "alert.acknowledge",
  "audit.read",
  "export.create",
  "reconciliation.read",
  "reconciliation.run",
  "user.read",
  "user.write",
] as const;
export type Action = (typeof ACTIONS)[number];

const READS = [
  "organisation.read",
  "consumer.read",
  "budget.read",
  "key.read",
  "policy.read",
  "model.read",
  "price.read",
  "usage.read",
  "alert.read",
] as const satisfies readonly Action[];

const EVERYTHING: readonly Action[] = ACTIONS.filter((action) => action !== "organisation.create");

/** The table. `organisation.create` is nobody's: it is the installation's operator's. */
export const PERMISSIONS: Readonly<Record<Role, readonly Action[]>> = {
  owner: EVERYTHING,
  finance: [
    ...READS,
    "request.read",
    "consumer.create",
    "consumer.update",
    "consumer.freeze",
    "budget.write",
    "budget.freeze",
    "grant.write",
    "approval.request",
    "approval.decide",
    "price.write",
    "alert.acknowledge",
    "audit.read",
    "export.create",
    "reconciliation.read",
    "reconciliation.run",
    "user.read",
  ],
  lead: [
    ...READS,
    "request.read",
    "consumer.create",
    "consumer.update",
    "consumer.freeze",
    "budget.write",
    "budget.freeze",
    "grant.write",
    "approval.request",
    "approval.decide",
    "key.write",
    "key.freeze",
    "policy.write",
    "policy.assign",
    "rate_limit.write",
    "alert.acknowledge",
    "audit.read",
    "export.create",
    "user.read",
  ],
  manager: [
    ...READS,
    "request.read",
    "budget.freeze",
    "grant.write",
    "approval.request",
    "approval.decide",
    "consumer.freeze",
    "key.freeze",
    "alert.acknowledge",
    "audit.read",
    "export.create",
  ],
  developer: [...READS, "request.read", "approval.request", "key.write"],
  engineer: [
    ...READS,
    "request.read",
    "organisation.update",
    "consumer.create",
    "consumer.update",
    "consumer.freeze",
    "budget.freeze",
    "key.write",
    "key.freeze",
    "policy.write",
    "policy.assign",
    "rate_limit.write",
    "model.write",
    "price.write",
    "alert.acknowledge",
    "audit.read",
    "reconciliation.read",
    "reconciliation.run",
    "user.read",
  ],
  auditor: [...READS, "request.read", "audit.read", "export.create", "reconciliation.read", "user.read"],
};

/** A role at a node: it holds for that node and all below it. The root's consumer id is the organisation's id. */
export interface PrincipalMembership {
  readonly organisationId: string;
  readonly consumerId: string;
  readonly role: Role;
}

/** Who is acting now. */
export interface Principal {
  /** null for the system itself (seed, worker, first start). */
  readonly userId: string | null;
  /** Written into the audit log beside the id: what it was called then. */
  readonly label: string;
  readonly memberships: readonly PrincipalMembership[];
  /** The installation's operator: may create organisations and act in every one. Never true for a signed-in person. */
  readonly isOperator?: boolean;
}

/** Where an action would bite: the node's chain, root (organisation id) first and the node itself last. */
export interface Scope {
  readonly organisationId: string;
  readonly path: readonly string[];
}

/** The scope of the whole organisation. */
export function organisationScope(organisationId: string): Scope {
  return { organisationId, path: [organisationId] };
}

/** The principal of code that acts by itself. `label` says which ("seed", "worker: reconcile"). */
export function systemPrincipal(label: string): Principal {
  return { userId: null, label, memberships: [], isOperator: true };
}

/** Whether the principal may do this there. */
export function may(principal: Principal, action: Action, scope: Scope): boolean {
  if (principal.isOperator === true) return true;
  return principal.memberships.some(
    (membership) =>
      membership.organisationId === scope.organisationId &&
      scope.path.includes(membership.consumerId) &&
      PERMISSIONS[membership.role].includes(action),
  );
}

/** The nodes from which on the principal may do this: the roots of what lists may show. */
export function nodesWhere(principal: Principal, action: Action, organisationId: string): readonly string[] {
  if (principal.isOperator === true) return [organisationId];
  const nodes = principal.memberships
    .filter((one) => one.organisationId === organisationId && PERMISSIONS[one.role].includes(action))
    .map((one) => one.consumerId);
  return [...new Set(nodes)];
}

/** Whether the principal belongs to the organisation at all. */
export function isMember(principal: Principal, organisationId: string): boolean {
  return principal.isOperator === true || principal.memberships.some((one) => one.organisationId === organisationId);
}

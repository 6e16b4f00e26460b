import { describe, expect, test } from "vitest";
import { ACTIONS, PERMISSIONS, ROLES, may, nodesWhere, systemPrincipal } from "./role";
import type { Action, Principal, Role } from "./role";

const principal = (role: Role, consumerId: string): Principal => ({
  userId: "usr_1",
  label: "Li Na",
  memberships: [{ organisationId: "acme", consumerId, role }],
});
const inAcme = (...path: string[]) => ({ organisationId: "acme", path: ["acme", ...path] });

/** Said once more by hand: who may change money, secrets and people. A new grant of one of these must be deliberate. */
const GRAVE: Readonly<Partial<Record<Action, readonly Role[]>>> = {
  "organisation.create": [],
  "organisation.update": ["owner", "engineer"],
  "sample.remove": ["owner"],
  "budget.write": ["owner", "finance", "lead"],
  "grant.write": ["owner", "finance", "lead", "manager"],
  "approval.decide": ["owner", "finance", "lead", "manager"],
  "key.write": ["owner", "lead", "developer", "engineer"],
  "policy.write": ["owner", "lead", "engineer"],
  "model.write": ["owner", "engineer"],
  "price.write": ["owner", "finance", "engineer"],
  "user.write": ["owner"],
};

describe("may", () => {
  test("for every role and action the answer is the table's, at the node and below, and no elsewhere", () => {
    for (const role of ROLES) {
      for (const action of ACTIONS) {
        const listed = PERMISSIONS[role].includes(action);
        const actor = principal(role, "con_dep");
        expect(may(actor, action, inAcme("con_dep"))).toBe(listed);
        expect(may(actor, action, inAcme("con_dep", "con_team", "con_app"))).toBe(listed);
        expect(may(actor, action, inAcme())).toBe(false);
        expect(may(actor, action, inAcme("con_other"))).toBe(false);
        expect(may(actor, action, { organisationId: "other", path: ["other", "con_dep"] })).toBe(false);
      }
    }
  });

  test.each(Object.entries(GRAVE))("%s belongs to the roles named here and to no other", (action, roles) => {
    expect(ROLES.filter((role) => PERMISSIONS[role].includes(action as Action))).toEqual(roles);
  });

  test("an auditor changes nothing", () => {
    const changing = PERMISSIONS.auditor.filter((action) => !action.endsWith(".read") && action !== "export.create");
    expect(changing).toEqual([]);
  });

  test("nobody without a membership may do anything, the system may do everything", () => {
    for (const action of ACTIONS) {
      expect(may({ userId: "usr_2", label: "x", memberships: [] }, action, inAcme())).toBe(false);
      expect(may(systemPrincipal("seed"), action, inAcme())).toBe(true);
    }
  });

  test("nodesWhere gives the nodes of that organisation at which the action is allowed", () => {
    const actor: Principal = {
      userId: "usr_1",
      label: "x",
      memberships: [
        { organisationId: "acme", consumerId: "con_a", role: "developer" },
        { organisationId: "acme", consumerId: "con_b", role: "auditor" },
        { organisationId: "other", consumerId: "con_c", role: "owner" },
      ],
    };
    expect(nodesWhere(actor, "key.write", "acme")).toEqual(["con_a"]);
    expect(nodesWhere(actor, "usage.read", "acme")).toEqual(["con_a", "con_b"]);
  });
});

/** People: invited with a role at a node, changed and shut out by owners. */
import { hash } from "@node-rs/argon2";
import { createUserInput } from "@/lib/contracts/users";
import type { CreateUserInput } from "@/lib/contracts/users";
import { findConsumer } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import {
  countMembers,
  deleteMembership,
  findMembership,
  findUserByEmail,
  insertMembership,
  insertUser,
} from "@/lib/db/users";
import type { Membership, User } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, found } from "./change";
import type { ControlDeps } from "./deps";
import { parseInput } from "./validate";

/**
 * Gives a person a role at a node. An e-mail address known already keeps its user, name and password: an invitation from
 * one organisation must not take over an account. `conflict` when the person has this role there.
 */
export async function createUser(
  deps: ControlDeps,
  principal: Principal,
  input: CreateUserInput & { readonly organisationId: string },
): Promise<{
  readonly user: User;
  readonly membership: Membership;
  readonly isNew: boolean;
  readonly auditId: string;
}> {
  const { organisationId, ...rest } = input;
  const { password, role, consumerId, ...person } = parseInput(createUserInput, rest);
  // Hashing takes tens of milliseconds and must not hold the organisation's lock.
  const passwordHash = password === null ? null : await hash(password);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("user.write", consumerId);
    found(await findConsumer(change.tx, organisationId, consumerId));
    const known = await findUserByEmail(change.tx, person.email);
    const draft = { ...person, id: newId("usr", change.nowMs), passwordHash };
    const user = known ?? (await orConflict(insertUser(change.tx, draft), "The address was just taken", "email"));
    const row = { id: newId("mem", change.nowMs), organisationId, userId: user.id, consumerId, role };
    const membership = await orConflict(insertMembership(change.tx, row), "The person has this role here", "role");
    const auditId = await change.audit({
      action: "member.add",
      objectType: "user",
      objectId: user.id,
      after: { email: user.email, name: user.name, consumerId, role },
    });
    return { user, membership, isNew: known === null, auditId };
  });
}

/** Takes a role away; it holds no longer from the next request on. The last owner of an organisation stays. */
export async function removeMembership(
  deps: ControlDeps,
  principal: Principal,
  input: { readonly organisationId: string; readonly membershipId: string },
): Promise<{ readonly auditId: string }> {
  return changeOrganisation(deps, principal, input.organisationId, async (change) => {
    const before = found(await findMembership(change.tx, input.organisationId, input.membershipId));
    await change.require("user.write", before.consumerId);
    const isRootOwner = before.role === "owner" && before.consumerId === input.organisationId;
    if (isRootOwner && (await countMembers(change.tx, before.consumerId, "owner")) <= 1) {
      throw new AppError("conflict", "The last owner cannot be removed");
    }
    await deleteMembership(change.tx, before.id);
    const auditId = await change.audit({
      action: "member.remove",
      objectType: "user",
      objectId: before.userId,
      before: { consumerId: before.consumerId, role: before.role },
    });
    return { auditId };
  });
}

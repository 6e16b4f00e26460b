/** The tree: departments, teams, apps and users below the organisation. */
import { createConsumerInput, updateConsumerInput } from "@/lib/contracts/organisations";
import type { CreateConsumerInput, UpdateConsumerInput } from "@/lib/contracts/organisations";
import { listApiKeyIdsOfApps } from "@/lib/db/api-keys";
import { findConsumer, insertConsumer, listConsumers, updateConsumer as updateRow } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import type { Consumer } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import type { ConsumerKind } from "@/lib/domain/snapshot";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { definedOnly, invalidFields, parseInput } from "./validate";

export interface ConsumerRef {
  readonly organisationId: string;
  readonly consumerId: string;
}

export interface ConsumerResult {
  readonly consumer: Consumer;
  readonly auditId: string;
}

/** What may stand below what. Apps hold keys; users below an app are for attribution and personal budgets. */
const PARENTS: Readonly<Record<Exclude<ConsumerKind, "organization">, readonly ConsumerKind[]>> = {
  department: ["organization", "department"],
  team: ["organization", "department", "team"],
  app: ["organization", "department", "team"],
  user: ["app"],
};

/** Adds a node. `conflict` when the parent has a node of this name. */
export async function createConsumer(
  deps: ControlDeps,
  principal: Principal,
  input: CreateConsumerInput & { readonly organisationId: string },
): Promise<ConsumerResult> {
  const { organisationId, ...rest } = input;
  const values = parseInput(createConsumerInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("consumer.create", values.parentId);
    const parent = found(await findConsumer(change.tx, organisationId, values.parentId));
    if (parent.archivedAt !== null) throw invalidFields({ parentId: "archived" });
    if (!PARENTS[values.kind].includes(parent.kind)) throw invalidFields({ kind: "not_below_this_parent" });
    const row = { ...values, id: newId("con", change.nowMs), organisationId };
    const consumer = await orConflict(insertConsumer(change.tx, row), "The parent has a node of this name", "name");
    change.touch("consumer", consumer.id);
    const auditId = await change.audit({ ...about("create", consumer), after: consumer });
    return { consumer, auditId };
  });
}

/** Changes name, cost centre or owner. Moving a node is not a change: its spend would move with it. */
export async function updateConsumer(
  deps: ControlDeps,
  principal: Principal,
  input: UpdateConsumerInput & ConsumerRef,
): Promise<ConsumerResult> {
  const { organisationId: _organisationId, consumerId: _consumerId, ...rest } = input;
  const values = definedOnly(parseInput(updateConsumerInput, rest));
  return changeConsumer(deps, principal, input, "consumer.update", async (change, before) => {
    const write = updateRow(change.tx, before.id, values);
    const consumer = await orConflict(write, "The parent has a node of this name", "name");
    return { consumer, verb: "update" };
  });
}

/** Stops every call of the node and all below it, at once. Freezing what is frozen changes nothing but the log. */
export async function freezeConsumer(
  deps: ControlDeps,
  principal: Principal,
  input: ConsumerRef,
): Promise<ConsumerResult> {
  return changeConsumer(deps, principal, input, "consumer.freeze", async (change, before) => ({
    consumer: await updateRow(change.tx, before.id, { frozenAt: before.frozenAt ?? change.now }),
    verb: "freeze",
  }));
}

export async function unfreezeConsumer(
  deps: ControlDeps,
  principal: Principal,
  input: ConsumerRef,
): Promise<ConsumerResult> {
  return changeConsumer(deps, principal, input, "consumer.freeze", async (change, before) => ({
    consumer: await updateRow(change.tx, before.id, { frozenAt: null }),
    verb: "unfreeze",
  }));
}

/** Takes a node out of use; its keys stop working, its history stays. `conflict` while nodes in use stand below it. */
export async function archiveConsumer(
  deps: ControlDeps,
  principal: Principal,
  input: ConsumerRef,
): Promise<ConsumerResult> {
  return changeConsumer(deps, principal, input, "consumer.update", async (change, before) => {
    if (before.parentId === null) throw new AppError("conflict", "The organisation itself cannot be archived");
    const below = (await listConsumers(change.tx, before.organisationId)).filter((one) => one.parentId === before.id);
    if (below.some((one) => one.archivedAt === null))
      throw new AppError("conflict", "Nodes in use stand below this one");
    const consumer = await updateRow(change.tx, before.id, { archivedAt: before.archivedAt ?? change.now });
    const keyIds = await listApiKeyIdsOfApps(change.tx, before.organisationId, [before.id]);
    for (const keyId of keyIds) change.touch("key", keyId);
    return { consumer, verb: "archive" };
  });
}

type ConsumerAction = "consumer.update" | "consumer.freeze";

async function changeConsumer(
  deps: ControlDeps,
  principal: Principal,
  { organisationId, consumerId }: ConsumerRef,
  action: ConsumerAction,
  work: (change: Change, before: Consumer) => Promise<{ consumer: Consumer; verb: string }>,
): Promise<ConsumerResult> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require(action, consumerId);
    const before = found(await findConsumer(change.tx, organisationId, consumerId));
    const { consumer, verb } = await work(change, before);
    change.touch("consumer", consumerId);
    const auditId = await change.audit({ ...about(verb, consumer), before, after: consumer });
    return { consumer, auditId };
  });
}

function about(verb: string, consumer: Consumer) {
  return { action: `consumer.${verb}`, objectType: "consumer", objectId: consumer.id };
}

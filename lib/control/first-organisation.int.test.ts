/** Founding the first organisation: who may, what stands afterwards, and that two founders never make two. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeDb } from "@/lib/db/client";
import { countOrganisations } from "@/lib/db/organisations";
import { findUser, insertUser, listMembershipsOfUser } from "@/lib/db/users";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { systemPrincipal } from "@/lib/domain/role";
import { keysOf } from "@/lib/redis/keys";
import { isUnfenced } from "@/lib/redis/standing";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createFirstOrganisation } from "./first-organisation";
import { ensureGeneration } from "./recovery";
import { removeSampleData } from "./sample-data";
import { publishAll } from "./snapshots";
import { createUser } from "./users";
import { createLogger } from "@/lib/telemetry/logger";

let deps: TestControl;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = await testDatabaseUrl();
  deps = createTestControl(databaseUrl, testRedisUrl());
});
afterAll(async () => {
  await deps.close();
  await closeDb(databaseUrl);
});

const input = {
  name: "Harbour Tools",
  currency: "USD",
  timeZone: "Europe/Lisbon",
  fiscalYearStartMonth: 4,
  locale: "en" as const,
  appName: "First app",
  withSandbox: true,
};
const founding = { sandboxUrl: "http://127.0.0.1:4010" };

async function person(): Promise<Principal & { readonly userId: string }> {
  const id = newId("usr", deps.clock.nowMs());
  await insertUser(deps.db.prisma, { id, email: `${id}@example.com`, name: "Ana", locale: null, passwordHash: null });
  return { userId: id, label: "Ana", memberships: [] };
}

/** One story, in order: the installation of this file is empty only once. */
describe("an installation without an organisation", () => {
  it("keeps the person who removes the sample, and nobody else of it", async () => {
    const { organisationId } = await createTestOrganisation(deps, { isSample: true });
    const invite = async (name: string) =>
      createUser(deps, testPrincipal, {
        organisationId,
        consumerId: organisationId,
        role: "owner",
        name,
        email: `${name}-${organisationId}@example.com`,
        locale: null,
      });
    const [remover, other] = [await invite("remover"), await invite("other")];
    const membership = { organisationId, consumerId: organisationId, role: "owner" as const };
    await removeSampleData(deps, { userId: remover.user.id, label: "remover", memberships: [membership] });
    expect(await findUser(deps.db.prisma, other.user.id)).toBeNull();
    expect(await findUser(deps.db.prisma, remover.user.id)).not.toBeNull();
    expect(await listMembershipsOfUser(deps.db.prisma, remover.user.id)).toEqual([]);
  });

  it("keeps the owners where no person removes it, so that somebody can still sign in", async () => {
    const { organisationId } = await createTestOrganisation(deps, { isSample: true });
    const common = { organisationId, consumerId: organisationId, locale: null };
    const email = (name: string) => `${name}-${organisationId}@example.com`;
    const owner = await createUser(deps, testPrincipal, { ...common, role: "owner", name: "O", email: email("o") });
    const lead = await createUser(deps, testPrincipal, { ...common, role: "lead", name: "L", email: email("l") });
    await removeSampleData(deps, systemPrincipal("test"), { keepsOwners: true });
    expect(await findUser(deps.db.prisma, owner.user.id)).not.toBeNull();
    expect(await findUser(deps.db.prisma, lead.user.id)).toBeNull();
  });

  it("refuses a sandbox that is not there or bills in another currency, and keeps nothing", async () => {
    const ana = await person();
    const there = createFirstOrganisation(deps, ana, { ...input, currency: "EUR" }, founding);
    await expect(there).rejects.toMatchObject({ code: "invalid_request" });
    const none = createFirstOrganisation(deps, ana, input, { sandboxUrl: undefined });
    await expect(none).rejects.toMatchObject({ code: "invalid_request" });
    expect(await countOrganisations(deps.db.prisma)).toBe(0);
  });

  it("lets one of two founders win; that one owns a published, audited organisation with a first app and models", async () => {
    const founders = [await person(), await person()];
    const tries = await Promise.allSettled(founders.map((who) => createFirstOrganisation(deps, who, input, founding)));
    const made = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value.organisation] : []));
    expect(made).toHaveLength(1);
    expect(tries.find((one) => one.status === "rejected")?.reason).toMatchObject({ code: "conflict" });
    const id = made[0]?.id ?? "";
    const memberships = (
      await Promise.all(founders.map((one) => listMembershipsOfUser(deps.db.prisma, one.userId)))
    ).flat();
    expect(memberships).toMatchObject([{ organisationId: id, consumerId: id, role: "owner" }]);
    const where = { where: { organisationId: id } };
    expect(await deps.db.prisma.consumer.count(where)).toBe(2);
    expect(await deps.db.prisma.price.count(where)).toBe(4);
    const audit = await deps.db.prisma.auditLog.findMany(where);
    expect(audit.map((row) => row.action)).toEqual(expect.arrayContaining(["organisation.create", "member.add"]));
    expect(audit.every((row) => row.actorId === memberships[0]?.userId)).toBe(true);
    expect(await deps.redis.exists(keysOf(id).epoch)).toBe(1);
    const log = createLogger({ name: "test", level: "silent" });
    const publish = async (one: string, how: { readonly force: boolean }) => void (await publishAll(deps, one, how));
    expect(await isUnfenced(deps.store.redis, id)).toBe(false);
    await ensureGeneration({ ...deps, log, publish, graceMs: 0 }, id);
    expect(await isUnfenced(deps.store.redis, id)).toBe(true);
  });

  it("is one no longer: whoever comes later must ask", async () => {
    const late = createFirstOrganisation(deps, await person(), { ...input, withSandbox: false }, founding);
    await expect(late).rejects.toMatchObject({ code: "conflict" });
  });
});

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frozenClock } from "@/lib/domain/clock";
import { uniqueOrganisationId } from "@/lib/testing/factories";
import { ready } from "@/lib/testing/running-gateway";
import { testRedisUrl } from "@/lib/testing/services";
import type { HotConnection } from "./client";
import { connectHot } from "./client";
import { IssuerDirectory } from "./issuer-directory";
import { keysOf } from "./keys";
import { beginPublication, endPublication } from "./publication";
import { pushSnapshot, removeOrganisationKeys } from "./snapshot-publisher";

let store: HotConnection;
beforeAll(async () => {
  store = connectHot(testRedisUrl(), { name: "spillway-test-issuers" });
  await ready(store);
  await endPublication(store.redis, await beginPublication(store.redis, randomUUID()));
});
afterAll(() => store.close());

interface Issuer {
  readonly issuer: string;
  readonly tokenPrefix?: string;
}

function organisation() {
  const organisationId = uniqueOrganisationId();
  let epoch = 0n;
  return {
    organisationId,
    /** Issuer id to what it is; null removes it. */
    publish: async (mode: "whole" | "part", issuers: Record<string, Issuer | null>) => {
      const before = epoch;
      epoch += 1n;
      const documents = Object.entries(issuers).map(([id, issuer]) => {
        const common = {
          ...{
            id: `${organisationId}${id}`,
            organisationId,
            audiences: ["a"],
            clockToleranceSeconds: 0,
            secretBox: null,
          },
          ...{ claims: { consumer: ["azp"], user: null, scopes: null }, consumers: null, environment: "production" },
          ...{ trafficClass: "general", entitledClasses: [] },
        };
        const kind = issuer?.tokenPrefix === undefined ? "jwks" : "introspection";
        const json = issuer === null ? null : JSON.stringify({ ...common, kind, ...issuer });
        return [`t:${organisationId}${id}`, json] as const;
      });
      const empty = { apiKeys: new Map(), limits: new Map(), openings: [] };
      const push = { organisationId, epoch, publishedEpoch: before, mode, documents: new Map(documents), ...empty };
      return pushSnapshot(store.redis, push);
    },
  };
}

describe("the index of issuers", () => {
  it("follows the snapshot: added, changed, removed, and gone with a whole that no longer has it", async () => {
    const { organisationId, publish } = organisation();
    const clock = frozenClock(0);
    const directory = new IssuerDirectory(store, clock);
    const [one, two] = [`https://${organisationId}/1`, `https://${organisationId}/2`];
    const heard = async () => {
      clock.advance(500);
      const [first] = await directory.ofIssuer(one);
      const [second] = await directory.ofIssuer(two);
      return [first, second];
    };
    await publish("whole", { a: { issuer: one } });
    expect(await heard()).toEqual([organisationId, undefined]);
    await publish("part", { b: { issuer: two } });
    expect(await heard()).toEqual([organisationId, organisationId]);
    await publish("part", { a: null });
    // A find is answered from what is known and looked after behind it.
    await heard();
    await expect.poll(heard).toEqual([undefined, organisationId]);
    await publish("whole", {});
    await heard();
    await expect.poll(heard).toEqual([undefined, undefined]);
  });

  it("an opaque token belongs to the longest prefix, whoever has it", async () => {
    const [short, long] = [organisation(), organisation()];
    const prefix = `p${short.organisationId}_`;
    await short.publish("whole", { a: { issuer: `https://${short.organisationId}`, tokenPrefix: prefix } });
    await long.publish("whole", { a: { issuer: `https://${long.organisationId}`, tokenPrefix: `${prefix}x` } });
    const directory = new IssuerDirectory(store);
    expect(await directory.ofOpaqueToken(`${prefix}abc`)).toEqual([short.organisationId]);
    expect(await directory.ofOpaqueToken(`${prefix}xyz`)).toEqual([long.organisationId]);
    expect(await directory.ofOpaqueToken("p")).toEqual([]);
  });

  it("forgets an organisation that is removed, and only that", async () => {
    const [gone, other] = [organisation(), organisation()];
    for (const { organisationId, publish } of [gone, other]) await publish("whole", { a: { issuer: organisationId } });
    await removeOrganisationKeys(store.redis, gone.organisationId);
    const directory = new IssuerDirectory(store);
    expect(await directory.ofIssuer(gone.organisationId)).toEqual([]);
    expect(await directory.ofIssuer(other.organisationId)).toEqual([other.organisationId]);
  });

  it("a push that is repeated writes nothing anew, and one that was lost half-way is healed by the next", async () => {
    const { organisationId, publish } = organisation();
    await publish("whole", { a: { issuer: organisationId } });
    const { redis } = store;
    await redis.hdel("sw:issuers", `${organisationId}a`);
    await publish("part", { a: { issuer: organisationId } });
    const directory = new IssuerDirectory(store);
    expect(await directory.ofIssuer(organisationId)).toEqual([organisationId]);
    expect(await redis.hexists(keysOf(organisationId).snapshot, `t:${organisationId}a`)).toBe(1);
  });
});

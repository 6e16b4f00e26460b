/** Whose the answers are that a provider keeps, for a day: a conversation that rests for longer is sent whole again. */
import { createHash } from "node:crypto";
import type { AnswerOwners, KeptAnswerOwner } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";

const KEPT_SECONDS = 86_400;

/** Ids of ours have no spaces. */
function ownerText({ appId, environment, providerId }: KeptAnswerOwner): string {
  return `${appId} ${environment} ${providerId}`;
}

function readOwner(text: string | null): KeptAnswerOwner | undefined {
  const [appId, environment, providerId] = text?.split(" ") ?? [];
  if (appId === undefined || providerId === undefined) return undefined;
  return { appId, environment: environment === "test" ? "test" : "production", providerId };
}

export function createAnswerOwners({ redis }: HotConnection): AnswerOwners {
  const keyOf = (organisationId: string, id: string): string =>
    keysOf(organisationId).answerOwner(createHash("sha256").update(id).digest("hex").slice(0, 32));
  return {
    note: async (organisationId, ids, owner) => {
      const text = ownerText(owner);
      // What is somebody's already stays his, whatever a provider answers.
      const writes = ids.map((id) => redis.set(keyOf(organisationId, id), text, "EX", KEPT_SECONDS, "NX"));
      await Promise.allSettled(writes);
    },
    find: async (organisationId, ids) => {
      try {
        const texts = await redis.mget(ids.map((id) => keyOf(organisationId, id)));
        return texts.map(readOwner);
      } catch (error) {
        throw new StoreUnavailable("whose a kept answer is cannot be read", undefined, error);
      }
    },
  };
}

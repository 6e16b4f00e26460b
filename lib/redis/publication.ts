/**
 * Whether every organisation stands in this Redis, so that what is not found there does not exist. A worker says so after a
 * round through all of them. Its word holds for the data it was given of, which has an id of its own (gone where the data is
 * gone), and for the server that had it then (one that restarted or took over may have lost the latest).
 */
import type { Redis } from "ioredis";
import type { HotConnection } from "./client";
import { runIdOf } from "./client";
import { PUBLICATION } from "./keys";

const [DATA_ID, WORD] = ["data", "published"] as const;

export interface PublicationRound {
  readonly word: string;
  /** It was said already. */
  readonly isSaid: boolean;
}

function wordOf(dataId: string, runId: string): string {
  return `${dataId} ${runId}`;
}

/** Before a round. `newDataId` names the data where nobody has yet. Throws what the connection throws. */
export async function beginPublication(redis: Redis, newDataId: string): Promise<PublicationRound> {
  await redis.hsetnx(PUBLICATION, DATA_ID, newDataId);
  const [[dataId, said], info] = await Promise.all([redis.hmget(PUBLICATION, DATA_ID, WORD), redis.info("server")]);
  const word = wordOf(dataId ?? "", runIdOf(info) ?? "");
  return { word, isSaid: word === said };
}

/** After a round in which every organisation was found or brought there. Of data lost meanwhile it says nothing. */
export async function endPublication(redis: Redis, { word, isSaid }: PublicationRound): Promise<void> {
  if (!isSaid) await redis.hset(PUBLICATION, WORD, word);
}

/** As `isPublished`, on a connection that does not know its server. Throws what the connection throws. */
export async function isPublishedOn(redis: Redis): Promise<boolean> {
  const [[dataId, said], info] = await Promise.all([redis.hmget(PUBLICATION, DATA_ID, WORD), redis.info("server")]);
  const runId = runIdOf(info);
  return typeof dataId === "string" && runId !== undefined && said === wordOf(dataId, runId);
}

/** Whether what is not found does not exist. Throws what the connection throws. */
export async function isPublished(connection: HotConnection): Promise<boolean> {
  const [dataId, said] = await connection.redis.hmget(PUBLICATION, DATA_ID, WORD);
  const server = connection.runId();
  return typeof dataId === "string" && server !== undefined && said === wordOf(dataId, server);
}

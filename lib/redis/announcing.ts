/** What one gateway process tells a server that may lack its latest writes: every call, and every end that may not be booked. */
import type { Concluded } from "./conclude-command";
import type { BookedLater, OpenCall, OrganisationCalls } from "./open-reservations";
import { laterOf, streamPosition } from "./open-reservations";
import type { ScriptReply } from "./scripts";
import { numberAt, textAt } from "./scripts";

const ANNOUNCE_BATCH = 200;
/** Result code of announce-4.lua. */
const NOT_FENCED = 3;

export interface Announcer {
  /** Announces one call. */
  readonly say: (call: OpenCall) => Promise<ScriptReply>;
  /** Ends one call. */
  readonly concludeOne: (call: OpenCall) => Promise<Concluded>;
}

/** Idempotent. Throws what Redis throws, and where the organisation is fenced again meanwhile. */
export async function announceCalls(calls: OrganisationCalls, announcer: Announcer): Promise<void> {
  await inBatches([...calls.open.values()], announcer.say);
  for (const ended of [...calls.unbooked]) await announceEnded(ended, announcer);
}

async function announceEnded(ended: BookedLater, { say, concludeOne }: Announcer): Promise<void> {
  await inBatches(ended.calls, async (call) => {
    const reply = await say(call);
    let streamId = textAt(reply, 1);
    if (numberAt(reply, 0) === NOT_FENCED) {
      // The fence fell without us: whatever this server has of the call ends now, and what it has not is a late event.
      const concluded = await concludeOne(call);
      if (concluded.outcome === "fenced") throw new Error("fenced again while announcing");
      streamId = concluded.streamId;
    }
    if (streamId !== "") ended.position = laterOf(ended.position, streamPosition(streamId));
  });
}

/** Some at a time, so that a long list is neither one round trip an item nor one burst. */
async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < items.length; from += ANNOUNCE_BATCH) {
    await Promise.all(items.slice(from, from + ANNOUNCE_BATCH).map(work));
  }
}

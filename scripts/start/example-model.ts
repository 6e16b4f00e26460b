// The command that `npm start` prints has to work as it stands, so its model is one that this key may really call.

/** Models that do not chat, by the words their makers put into such names. */
const otherKinds = /embed|rerank|image|audio|tts|whisper|moderation/i;

export function chooseModel(ids: readonly string[]): string | undefined {
  const chat = ids.filter((id) => !otherKinds.test(id));
  // A small model first: the first call of somebody curious should cost next to nothing.
  return chat.find((id) => /mini|small|flash|lite|nano|haiku|turbo/i.test(id)) ?? chat[0];
}

/**
 * Asks the gateway itself. Undefined if it has no answer: then the caller names something well known. null where the key is
 * good no longer, as after the sample company was removed.
 */
export async function exampleModel(url: string, apiKey: string): Promise<string | null | undefined> {
  try {
    const response = await fetch(`${url}/api/v1/models`, {
      // A connection that is not kept: see answersOk.
      headers: { authorization: `Bearer ${apiKey}`, connection: "close" },
      signal: AbortSignal.timeout(10_000),
    });
    if (response.status === 401) return null;
    if (!response.ok) return undefined;
    const body = (await response.json()) as { data?: { id?: unknown }[] };
    return chooseModel((body.data ?? []).flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
  } catch {
    return undefined;
  }
}

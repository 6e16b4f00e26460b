/** Thousands of keys of one app: rows as `createApiKey` writes them, in bulk, since one by one they take minutes. */
import { randomBytes } from "node:crypto";
import { hashApiKey } from "@/lib/config/key-hash";
import { publishAll } from "@/lib/control/snapshots";
import { apiKeyHints, composeApiKey, secretFromBytes } from "@/lib/domain/api-key";
import { newId } from "@/lib/domain/ids";
import type { Company } from "./company";
import type { BenchStack } from "./stack";

const ROWS_A_STATEMENT = 2_000;

function newSecret(organisationId: string): string {
  for (;;) {
    const secret = secretFromBytes(randomBytes(64));
    if (secret !== undefined) return composeApiKey("production", organisationId, secret);
  }
}

/** Makes and publishes the keys; resolves to their full texts. */
export async function addManyKeys(stack: BenchStack, company: Company, app: string, count: number): Promise<string[]> {
  const appId = company.nodes.get(app);
  if (appId === undefined) throw new Error(`the company has no ${app}`);
  const { organisationId } = company;
  const { prisma } = stack.control.db;
  const texts: string[] = [];
  while (texts.length < count) {
    const some = Array.from({ length: Math.min(ROWS_A_STATEMENT, count - texts.length) }, () =>
      newSecret(organisationId),
    );
    const rows = some.map((text) => ({ id: newId("key", Date.now()), text }));
    await prisma.apiKey.createMany({
      data: rows.map(({ id }) => ({
        id,
        organisationId,
        appId,
        name: "one of many",
        environment: "production" as const,
      })),
    });
    await prisma.apiKeySecret.createMany({
      data: rows.map(({ id, text }) => ({
        apiKeyId: id,
        organisationId,
        hash: hashApiKey(stack.control.pepper, text),
        ...apiKeyHints(text),
      })),
    });
    texts.push(...some);
  }
  await publishAll(stack.control, organisationId, { force: true });
  return texts;
}

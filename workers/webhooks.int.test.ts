/** Webhooks through the real queue: what a dead worker left is posted by the next, and what nobody takes is a dead letter. */
import { expect, it } from "vitest";
import { parseWorkerEnv } from "@/lib/config/env";
import { replaceSecretOfWebhooks } from "@/lib/control/webhook-secrets";
import { publishPolicyVersion } from "@/lib/control/policies";
import { freePort } from "@/lib/services/free-port";
import { LATER, startDeferralRig, WAITS } from "@/lib/testing/deferral-rig";
import { TEST_MASTER_KEY, TEST_PEPPER, testPrincipal } from "@/lib/testing/factories";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import { isSignedBy, startWebhookReceiver } from "@/lib/testing/webhook-receiver";
import { startWorker } from "./worker";

it("posts what a worker left that died after the call's end, tries again with a pause, and keeps what nobody takes", async () => {
  const server = await startPrivateRedis();
  const rig = await startDeferralRig(server.url);
  const receiver = await startWebhookReceiver();
  const made = await rig.bench.organisation({ policy: {} });
  const { organisationId } = made;
  const { secret } = await replaceSecretOfWebhooks(rig.bench.control, testPrincipal, { organisationId });
  await publishPolicyVersion(rig.bench.control, testPrincipal, {
    organisationId,
    policyId: made.policyId ?? "",
    document: { deferral: { ...WAITS.deferral, webhook: { hosts: ["127.0.0.1"] } } },
  });
  const take = (path: string) =>
    rig.take(made, { headers: { ...LATER.headers, "x-spillway-webhook": `${receiver.url}${path}` } });
  const id = await take("/again");
  // This worker ends the call, and dies before it has told anybody.
  await rig.work(made);
  receiver.answers.push(500);
  const worker = await startWorker(
    parseWorkerEnv({
      DATABASE_URL: await testDatabaseUrl(),
      REDIS_URL: server.url,
      SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
      SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
      LOG_LEVEL: "silent",
      WORKER_PORT: String(await freePort()),
    }),
    "next",
  );
  try {
    await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(2);
    expect(receiver.received.map((webhook) => webhook.headers["webhook-id"])).toEqual(
      Array.from({ length: 2 }, () => id.replace("dfr_", "whk_")),
    );
    expect(receiver.received.every((webhook) => isSignedBy(secret, webhook))).toBe(true);
    receiver.answers.push(410);
    const gone = await take("/gone");
    const dead = () => worker.context.producer.listDead(10);
    await expect.poll(async () => (await dead()).length, { timeout: 30_000 }).toBe(1);
    expect(await dead()).toMatchObject([
      { queue: "webhooks", id: gone.replace("dfr_", "whk_"), reason: "the receiver answered 410", attempts: 1 },
    ]);
    // Somebody mended the receiver and says so.
    expect(await worker.context.producer.retryDead(10)).toBe(1);
    await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(4);
    await expect.poll(async () => (await dead()).length).toBe(0);
  } finally {
    await worker.stop();
    await receiver.close();
    await rig.close();
    await server.stop();
  }
}, 120_000);

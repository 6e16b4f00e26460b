/** The end of a deferred call is told by webhook: signed, to whom the policy allows, and not forgotten when a worker dies. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPolicy, publishPolicyVersion } from "@/lib/control/policies";
import type { WebhookDeps } from "@/lib/control/webhook-deliveries";
import { deliverWebhook, pruneWebhooks, queueWebhooks, retryWebhook } from "@/lib/control/webhook-deliveries";
import { replaceSecretOfWebhooks, revokeSecretOfWebhooks } from "@/lib/control/webhook-secrets";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { DeferralRig } from "@/lib/testing/deferral-rig";
import { LATER, PROMPT, startDeferralRig } from "@/lib/testing/deferral-rig";
import type { TestOrganisation } from "@/lib/testing/factories";
import { TEST_MASTER_KEY, testPrincipal } from "@/lib/testing/factories";
import type { WebhookReceiver } from "@/lib/testing/webhook-receiver";
import { isSignedBy, startWebhookReceiver } from "@/lib/testing/webhook-receiver";
import type { WebhookPost } from "./webhook-post";
import { createWebhookPost } from "./webhook-post";

const MAX_ATTEMPTS = 3;

let rig: DeferralRig;
let receiver: WebhookReceiver;
let posting: WebhookPost;
let deps: WebhookDeps;
beforeAll(async () => {
  rig = await startDeferralRig();
  receiver = await startWebhookReceiver();
  posting = createWebhookPost(["127.0.0.1"]);
  deps = { db: rig.deps.db, clock: rig.deps.clock, masterKey: TEST_MASTER_KEY, post: posting.post };
});
afterAll(async () => {
  await posting.close();
  await receiver.close();
  await rig.close();
});

interface Made extends TestOrganisation {
  readonly secret: string;
}

/** An organisation with a webhook secret and this policy. */
async function organisation(webhook: NonNullable<PolicyDocument["deferral"]>["webhook"]): Promise<Made> {
  const made = await rig.bench.organisation({ policy: {} });
  const { organisationId } = made;
  const { secret } = await replaceSecretOfWebhooks(rig.bench.control, testPrincipal, { organisationId });
  const document = { deferral: { deadlineSeconds: 60, keepSeconds: 600, ...(webhook ? { webhook } : {}) } };
  const policy = { organisationId, policyId: made.policyId ?? "" };
  await publishPolicyVersion(rig.bench.control, testPrincipal, { ...policy, document });
  return { ...made, secret };
}

const named = (path = "/hook", more: object = {}) => ({
  headers: { ...LATER.headers, "x-spillway-webhook": `${receiver.url}${path}` },
  ...more,
});

/** Posts what is due, once each; how that went. */
async function deliver(using: WebhookDeps = deps): Promise<string[]> {
  const ids: string[] = [];
  await queueWebhooks(using, (id) => Promise.resolve(void ids.push(id)));
  const outcomes: string[] = [];
  for (const id of ids) outcomes.push((await deliverWebhook(using, id, MAX_ATTEMPTS)).kind);
  return outcomes;
}

const told = (path: string) => receiver.received.filter((webhook) => webhook.path === path);
const typeOf = (path: string) => told(path).map(({ body }) => (JSON.parse(body) as { type: string }).type);

describe("the end of a deferred call", () => {
  it("is posted to whom the caller named, signed so that the secret's holder can tell, with no text of the call", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    const id = await rig.take(made, named("/done?token=for-posting"));
    await rig.work(made);
    expect(await deliver()).toEqual(["delivered"]);
    expect(await deliver()).toEqual([]);
    const [webhook, ...others] = told("/done?token=for-posting");
    if (!webhook) throw new Error("nothing came");
    expect(others).toEqual([]);
    expect(isSignedBy(made.secret, webhook)).toBe(true);
    expect(isSignedBy("whsec_c2VjcmV0LW9mLWEtcm90YXRlZC1lbmRwb2ludA==", webhook)).toBe(false);
    expect(isSignedBy(made.secret, { ...webhook, body: webhook.body.replace("done", "fail") })).toBe(false);
    expect(webhook.headers["webhook-id"]).toBe(id.replace("dfr_", "whk_"));
    const view = await rig.view(made, id);
    expect(JSON.parse(webhook.body)).toMatchObject({
      type: "deferred_call.done",
      data: { id, status: "done", code: null, answer_status: 200, request_id: view.answer?.request_id },
    });
    expect(webhook.body).not.toContain(PROMPT);
    expect(webhook.body).not.toContain("chat.completion");
    const stored = await rig.deps.db.pool.query("SELECT * FROM webhook_deliveries WHERE organisation_id = $1", [
      made.organisationId,
    ]);
    expect(JSON.stringify(stored.rows)).not.toContain("for-posting");
  });

  it("is told whatever it is: failed, cancelled, expired", async () => {
    const made = await organisation({ url: `${receiver.url}/policy`, hosts: ["127.0.0.1"] });
    const control = { status: 400, errorCode: "context_length_exceeded" };
    await rig.take(made, named("/failed", { control }));
    await rig.work(made);
    const cancelled = await rig.take(made, named("/cancelled"));
    await rig.call(made, { method: "DELETE", path: `deferred/${cancelled}` });
    await rig.work(made);
    const expired = await rig.take(made);
    rig.later(61_000);
    await rig.work(made);
    expect(await rig.view(made, expired)).toMatchObject({ status: "expired" });
    expect(await deliver()).toEqual(["delivered", "delivered", "delivered"]);
    expect(typeOf("/failed")).toEqual(["deferred_call.failed"]);
    expect(typeOf("/cancelled")).toEqual(["deferred_call.cancelled"]);
    // Nobody was named for this one: the policy says where.
    expect(typeOf("/policy")).toEqual(["deferred_call.expired"]);
  });

  it("is not told where neither caller nor policy asks for it", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    await rig.take(made);
    await rig.work(made);
    expect(await deliver()).toEqual([]);
  });
});

describe("where a webhook may go", () => {
  it.each([
    ["a host that the policy does not name", "http://127.0.0.1:4/hook", { hosts: ["hooks.example.com"] }],
    ["any host where the policy names none", "http://127.0.0.1:4/hook", undefined],
    ["an address inside, though the policy names it", "http://169.254.169.254/latest", { hosts: ["169.254.169.254"] }],
    ["what is no address", "hook", { hosts: ["*.example.com"] }],
    ["another scheme", "file:///etc/passwd", { hosts: ["*.example.com"] }],
    ["a user name in it", "http://hooks.example.com@127.0.0.1:4/", { hosts: ["127.0.0.1"] }],
  ])("is not the caller's to say: %s is refused, and nothing is taken", async (_what, url, webhook) => {
    const made = await organisation(webhook);
    const refused = await rig.call(made, { headers: { ...LATER.headers, "x-spillway-webhook": url } });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "invalid_request", param: "x-spillway-webhook" } });
    await rig.work(made);
    expect(await rig.upstreamCalls(made)).toBe(0);
  });

  it("is judged again where it is posted: an installation that closed a place posts nothing there", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    await rig.take(made, named("/closed"));
    await rig.work(made);
    const closed = createWebhookPost([]);
    expect(await deliver({ ...deps, post: closed.post })).toEqual(["failed"]);
    await closed.close();
    expect(told("/closed")).toEqual([]);
    // Given up at once: it is not tried again by itself.
    expect(await deliver()).toEqual([]);
  });

  it("is refused in a policy, where it leads inside or nothing could be signed", async () => {
    const made = await rig.bench.organisation();
    const { organisationId } = made;
    const { policy } = await createPolicy(rig.bench.control, testPrincipal, { organisationId, name: "hooks" });
    const publish = (webhook: { url?: string; hosts?: string[] }) =>
      publishPolicyVersion(rig.bench.control, testPrincipal, {
        organisationId,
        policyId: policy.id,
        document: { deferral: { webhook } },
      });
    await expect(publish({ hosts: ["hooks.example.com"] })).rejects.toMatchObject({
      fields: { "document.deferral.webhook": "webhook_secret_missing" },
    });
    await replaceSecretOfWebhooks(rig.bench.control, testPrincipal, { organisationId });
    await publish({ hosts: ["hooks.example.com"] });
    await expect(publish({ url: "http://169.254.169.254/" })).rejects.toMatchObject({ code: "invalid_request" });
    await expect(publish({ hosts: ["*"] })).rejects.toMatchObject({ code: "invalid_request" });
  });
});

describe("a webhook secret", () => {
  it("is never stored or told but when it is made, and signs beside its successor for a day", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    const ref = { organisationId: made.organisationId };
    const { secret } = await replaceSecretOfWebhooks(rig.bench.control, testPrincipal, ref);
    await rig.take(made, named("/both"));
    await rig.work(made);
    await deliver();
    expect(told("/both").map((webhook) => [made.secret, secret].map((one) => isSignedBy(one, webhook)))).toEqual([
      [true, true],
    ]);
    rig.later(25 * 3_600_000);
    await rig.take(made, named("/one"));
    await rig.work(made);
    await deliver();
    expect(told("/one").map((webhook) => [made.secret, secret].map((one) => isSignedBy(one, webhook)))).toEqual([
      [false, true],
    ]);
    const { rows } = await rig.deps.db.pool.query<{ text: string }>(
      `SELECT row_to_json(webhook_secrets)::text AS text FROM webhook_secrets WHERE organisation_id = $1
       UNION ALL SELECT row_to_json(audit_log)::text FROM audit_log WHERE organisation_id = $1`,
      [made.organisationId],
    );
    expect(rows.length).toBeGreaterThan(2);
    const raw = Buffer.from(secret.slice(6), "base64").toString("hex");
    for (const { text } of rows) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(raw);
    }
  });
});

describe("a webhook secret that is taken back", () => {
  it("signs no more at once, whether the one before or all; what was given up for want of one is posted anew", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    const ref = { organisationId: made.organisationId };
    const { control } = rig.bench;
    const second = await replaceSecretOfWebhooks(control, testPrincipal, { ...ref, graceSeconds: 3600 });
    expect(second.previousUntilMs).toBeGreaterThan(0);
    await revokeSecretOfWebhooks(control, testPrincipal, { ...ref, which: "previous" });
    const twice = revokeSecretOfWebhooks(control, testPrincipal, { ...ref, which: "previous" });
    await expect(twice).rejects.toMatchObject({ code: "conflict" });
    await rig.take(made, named("/ended"));
    await rig.work(made);
    await deliver();
    const signers = (path: string, secrets: string[]) =>
      told(path).map((webhook) => secrets.map((one) => isSignedBy(one, webhook)));
    expect(signers("/ended", [made.secret, second.secret])).toEqual([[false, true]]);

    await revokeSecretOfWebhooks(control, testPrincipal, { ...ref, which: "all" });
    const delivery = (await rig.take(made, named("/later"))).replace("dfr_", "whk_");
    await rig.work(made);
    expect(await deliver()).toEqual(["failed"]);
    expect(told("/later")).toEqual([]);
    const third = await replaceSecretOfWebhooks(control, testPrincipal, { ...ref, graceSeconds: 0 });
    expect(third.previousUntilMs).toBeNull();
    const again = { ...ref, deliveryId: delivery };
    await retryWebhook(control, testPrincipal, again);
    await expect(retryWebhook(control, testPrincipal, again)).rejects.toMatchObject({ code: "conflict" });
    const jobs: string[] = [];
    await queueWebhooks(deps, (_, jobId) => Promise.resolve(void jobs.push(jobId)));
    expect(jobs).toEqual([`${delivery}-1`]);
    expect(await deliverWebhook(deps, delivery, MAX_ATTEMPTS)).toEqual({ kind: "delivered" });
    expect(signers("/later", [second.secret, third.secret])).toEqual([[false, true]]);
  });
});

describe("a receiver that is not well", () => {
  it("is tried again under the same id, with a signature of the moment, until it takes it", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    const id = await rig.take(made, named("/again"));
    await rig.work(made);
    receiver.answers.push(500, 302);
    const delivery = id.replace("dfr_", "whk_");
    expect(await deliver()).toEqual(["failed"]);
    rig.later(5_000);
    expect(await deliverWebhook(deps, delivery, MAX_ATTEMPTS)).toMatchObject({ kind: "failed", isFinal: false });
    rig.later(10_000);
    expect(await deliverWebhook(deps, delivery, MAX_ATTEMPTS)).toEqual({ kind: "delivered" });
    expect(await deliverWebhook(deps, delivery, MAX_ATTEMPTS)).toEqual({ kind: "nothing" });
    const all = told("/again");
    expect(all.map((webhook) => webhook.headers["webhook-id"])).toEqual([delivery, delivery, delivery]);
    expect(new Set(all.map((webhook) => webhook.headers["webhook-timestamp"])).size).toBe(3);
    expect(all.every((webhook) => isSignedBy(made.secret, webhook))).toBe(true);
    expect(told("/elsewhere")).toEqual([]);
  });

  it("is given up after so many attempts, and at once where it says that it is gone", async () => {
    const made = await organisation({ hosts: ["127.0.0.1"] });
    const lasting = (await rig.take(made, named("/broken"))).replace("dfr_", "whk_");
    await rig.work(made);
    receiver.answers.push(500, 500, 500);
    await deliver();
    await deliverWebhook(deps, lasting, MAX_ATTEMPTS);
    await deliverWebhook(deps, lasting, MAX_ATTEMPTS);
    const gone = (await rig.take(made, named("/gone"))).replace("dfr_", "whk_");
    await rig.work(made);
    receiver.answers.push(410);
    await deliver();
    const read = async () =>
      (
        await rig.deps.db.pool.query<{ id: string; last_failure: string; given_up: boolean }>(
          "SELECT id, last_failure, failed_at IS NOT NULL AS given_up FROM webhook_deliveries WHERE id = ANY($1) ORDER BY id",
          [[lasting, gone]],
        )
      ).rows;
    expect(await read()).toEqual([
      { id: lasting, last_failure: "status_500", given_up: true },
      { id: gone, last_failure: "status_410", given_up: true },
    ]);
    // A dead letter that somebody has tried again.
    expect(await deliverWebhook(deps, lasting, MAX_ATTEMPTS)).toEqual({ kind: "delivered" });
    rig.later(31 * 86_400_000);
    expect(await pruneWebhooks(deps)).toBeGreaterThanOrEqual(2);
    expect(await read()).toEqual([]);
  });
});

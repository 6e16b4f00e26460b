import { expect, it } from "vitest";
import { newWebhookSecret, webhookHeaders } from "./webhook-signature";

const MESSAGE = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

it("signs as the specification's own example says, so that its libraries verify it", () => {
  expect(webhookHeaders(MESSAGE, [SECRET])).toEqual({
    "webhook-id": MESSAGE.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": SIGNATURE,
  });
});

it("gives a signature for each secret, so that a receiver may change over when it likes", () => {
  const signatures = webhookHeaders(MESSAGE, [newWebhookSecret(), SECRET])["webhook-signature"]?.split(" ");
  expect(signatures).toHaveLength(2);
  expect(signatures?.[1]).toBe(SIGNATURE);
});

it("makes secrets of 32 bytes that are never the same", () => {
  const [one = "", other = ""] = [newWebhookSecret(), newWebhookSecret()];
  expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/u);
  expect(one).not.toBe(other);
});

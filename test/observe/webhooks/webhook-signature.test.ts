// Signatures as receivers see them, verified by the library that the documentation recommends.
import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { newWebhookSecret, webhookSecret } from "../../../src/observe/webhooks/webhook-settings.ts";
import { webhookHeaders } from "../../../src/observe/webhooks/webhook-signature.ts";

const body = JSON.stringify({ type: "token.expired", data: { name: "naïve ☂" } });
const message = { id: "evt_1", atMs: Date.now(), body };

describe("a signature", () => {
  test("[d11.4] is what the Standard Webhooks library expects, with any secret that the gateway generates", () => {
    for (let n = 0; n < 50; n++) {
      const secret = newWebhookSecret();
      expect(new Webhook(secret).verify(body, webhookHeaders(message, [secret]))).toEqual(JSON.parse(body));
      expect(webhookHeaders(message, [secret])["webhook-signature"]).toBe(
        new Webhook(secret).sign("evt_1", new Date(message.atMs), body),
      );
    }
  });

  test("[d11.4] is made with a secret of 24 to 64 bytes", () => {
    const lengths = Array.from({ length: 80 }, (_, length) => length);
    const isSecret = (length: number): boolean =>
      webhookSecret.safeParse(`whsec_${Buffer.alloc(length, 7).toString("base64")}`).success;
    expect(lengths.filter(isSecret)).toEqual(lengths.slice(24, 65));
  });

  test("[d11.4] with two secrets is verified with either of them, so that receivers can change over", () => {
    const [old, next, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const headers = webhookHeaders(message, [next, old]);
    for (const secret of [old, next]) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
    expect(() => new Webhook(other).verify(body, headers)).toThrow();
  });

  test("[d11.4] does not hold for another body, id or time", () => {
    const secret = newWebhookSecret();
    const headers = webhookHeaders(message, [secret]);
    const verify = (text: string, changed: Readonly<Record<string, string>>): unknown =>
      new Webhook(secret).verify(text, { ...headers, ...changed });
    expect(() => verify(`${body} `, {})).toThrow();
    expect(() => verify(body, { "webhook-id": "evt_2" })).toThrow();
    expect(() => verify(body, { "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) })).toThrow();
    expect(() => verify(body, {})).not.toThrow();
  });
});

// Events for tokens near their expiry, and at it.
import { describe, expect, test } from "bun:test";
import { eventIdOf } from "../../../src/core/record/event-id.ts";
import { type NewEvent, NO_WEBHOOKS, type WebhookSet } from "../../../src/core/record/event.ts";
import type { AccessToken } from "../../../src/core/identity.ts";
import { watchTokenExpiry } from "../../../src/observe/webhooks/token-expiry.ts";
import { sampleToken } from "../../harness/sample-tokens.ts";

const DAY = 86_400_000;
const NOW = 1_800_000_000_000;
const token = (id: string, own: Partial<AccessToken> = {}): AccessToken =>
  sampleToken({
    id,
    name: "ci",
    secrets: [{ sha256: new Uint8Array(32), retiresAtMs: null }],
    createdAtMs: NOW,
    expiresAtMs: NOW + 365 * DAY,
    ...own,
  });
const SOMEBODY: WebhookSet = { ...NO_WEBHOOKS, size: 1 };

function watched(tokens: readonly AccessToken[], webhooks = SOMEBODY) {
  const told: NewEvent[] = [];
  const snapshot = { tokens: new Map(tokens.map((one) => [one.id, one])), webhooks };
  const clock = { nowMs: NOW, now: () => clock.nowMs };
  const watch = watchTokenExpiry({ emit: (event) => told.push(event) }, () => snapshot, clock);
  return {
    told,
    snapshot,
    look: (ms: number) => {
      clock.nowMs = NOW + ms;
      watch.check();
    },
    close: () => watch.close(),
  };
}
const words = (told: readonly NewEvent[]): readonly string[] =>
  told.map(({ type, data }) => `${type} ${data["token_id"] as string}`);

describe("the expiry of tokens", () => {
  test("[d11.4] is reported a week before, and when it has come, once each, and for short-lived ones in the last quarter of their life", () => {
    const { told, look, close } = watched([token("long"), token("short", { expiresAtMs: NOW + 4 * DAY })]);
    for (let hour = 0; hour < 24 * 366; hour++) look(hour * 3_600_000);
    close();
    expect(words(told)).toEqual([
      "token.expiring short",
      "token.expired short",
      "token.expiring long",
      "token.expired long",
    ]);
    expect(told[0]).toMatchObject({
      tenantId: "acme",
      projectId: "site",
      data: { name: "ci", expires_at: new Date(NOW + 4 * DAY).toISOString() },
    });
    expect(JSON.stringify(told)).not.toContain("sha256");
  });

  test("[d11.4] is one event, however many gateways check, and however often they start", () => {
    const all = [watched([token("a")]), watched([token("a")]), watched([token("a")])];
    for (const one of all) {
      one.look(360 * DAY);
      one.close();
    }
    const keys = all.flatMap(({ told }) => told.map(({ onceKey }) => eventIdOf(onceKey!)));
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  });

  test("[d11.4] changes with a rotation, is not reported after a revocation, and not reported long afterwards", () => {
    const { told, snapshot, look, close } = watched([
      token("a"),
      token("revoked", { revokedAtMs: NOW }),
      token("ancient", { createdAtMs: NOW - 400 * DAY, expiresAtMs: NOW - 35 * DAY }),
    ]);
    look(360 * DAY);
    snapshot.tokens = new Map([["a", token("a", { expiresAtMs: NOW + 725 * DAY })]]);
    look(361 * DAY);
    look(720 * DAY);
    close();
    expect(words(told)).toEqual(["token.expiring a", "token.expiring a"]);
    expect(told[0]!.onceKey).not.toBe(told[1]!.onceKey);
  });

  test("is reported late to a webhook that is created late", () => {
    const { told, snapshot, look, close } = watched([token("a")], NO_WEBHOOKS);
    look(360 * DAY);
    expect(told).toEqual([]);
    snapshot.webhooks = SOMEBODY;
    look(360 * DAY + 1);
    close();
    expect(words(told)).toEqual(["token.expiring a"]);
  });
});

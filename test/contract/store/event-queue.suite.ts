// What every queue of events does, over each database: an event is stored once, each webhook's delivery is leased to
// one process at a time, and nothing grows without bound.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventIdOf, newEventId } from "../../../src/core/record/event-id.ts";
import type { GatewayEvent } from "../../../src/core/record/event.ts";
import type { ClaimedDelivery, DeliveryAttempt, EventQueue, Recipient } from "../../../src/store/events/events.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";

export interface QueuePlace {
  readonly store: Store;
  /** As of another process each time. */
  open(options?: { readonly mostWaiting?: number }): EventQueue;
  dispose(): Promise<void>;
}

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

export function someEvent(own: Partial<GatewayEvent> = {}): GatewayEvent {
  return {
    id: newEventId(),
    type: "token.created",
    atMs: NOW,
    tenantId: "default",
    projectId: null,
    data: { token_id: "AAAAAAAAAAAA", name: "naïve ☂" },
    ...own,
  };
}
const hook = (webhookId: string, own: Partial<Recipient> = {}): Recipient => ({
  webhookId,
  webhookName: webhookId,
  tenantId: "default",
  projectId: null,
  ...own,
});
const attempt = (own: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  atMs: NOW,
  durationMs: 12,
  status: 500,
  error: "answered 500",
  answer: "no",
  ...own,
});
const delivered = (): {
  readonly state: "delivered";
  readonly nextAtMs: number;
  readonly attempt: DeliveryAttempt;
} => ({ state: "delivered", nextAtMs: NOW, attempt: attempt({ status: 200, error: null }) });

export function eventQueueSuite(name: string, create: () => Promise<QueuePlace>): void {
  describe(`the queue of events in ${name}`, () => {
    let place: QueuePlace;
    let queue: EventQueue;
    let others: EventQueue[];
    const another = (options?: { readonly mostWaiting?: number }): EventQueue => {
      const one = place.open(options);
      others.push(one);
      return one;
    };
    beforeEach(async () => {
      others = [];
      place = await create();
      queue = another();
    });
    afterEach(async () => {
      for (const one of others) await one.close();
      await place.dispose();
    });
    const put = async (events: readonly GatewayEvent[], ...hooks: readonly string[]): Promise<void> => {
      await queue.append(events);
      await queue.fanOut(
        events.map((event) => ({ event, recipients: hooks.map((id) => hook(id)) })),
        NOW,
      );
    };

    test("[d4.6] an event that several gateways see is stored once", async () => {
      const event = someEvent({ id: eventIdOf("budget x 80 2026-11") });
      const three = [queue, another(), another()];
      const added = await Promise.all(three.map((one) => one.append([event, someEvent()])));
      expect(added.reduce((sum, count) => sum + count)).toBe(4);
      expect((await queue.awaitingFanOut(10)).filter(({ id }) => id === event.id)).toEqual([event]);
      // and once more much later, after it was delivered
      await queue.fanOut(
        (await queue.awaitingFanOut(10)).map((one) => ({ event: one, recipients: [] })),
        NOW,
      );
      expect(await queue.append([event])).toBe(0);
      expect(await queue.awaitingFanOut(10)).toEqual([]);
    });

    test("[d11.4] each webhook gets one delivery of an event, whichever gateways fan it out", async () => {
      const events = Array.from({ length: 20 }, () => someEvent());
      await queue.append(events);
      const addressed = events.map((event) => ({ event, recipients: [hook("a"), hook("b")] }));
      const done = await Promise.all([queue, another(), another()].map((one) => one.fanOut(addressed, NOW)));
      expect(done.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(40);
      expect((await place.store.listDeliveries({ limit: 100 })).data).toHaveLength(40);
    });

    test("[d11.4] a storm to very many webhooks blocks no other writer", async () => {
      const events = Array.from({ length: 60 }, () => someEvent());
      await queue.append(events);
      const recipients = Array.from({ length: 500 }, (_, index) => hook(`many${index}`));
      let isDone = false;
      const spreading = queue
        .fanOut(
          events.map((event) => ({ event, recipients })),
          NOW,
        )
        .finally(() => (isDone = true));
      let written = 0;
      for (; !isDone && written < 5; written++)
        await place.store.change(LOCAL_ACTOR, (writer) =>
          writer.createTenant({ id: `storm${written}`, name: "storm" }),
        );
      expect([written, isDone]).toEqual([5, false]);
      expect(await spreading).toEqual({ deliveries: 30_000, shed: 0 });
    });
    test("[d11.4] a delivery is leased to one gateway at a time, and free again when its lease has ended", async () => {
      await put(
        Array.from({ length: 30 }, () => someEvent()),
        "a",
      );
      expect(await queue.due(NOW)).toEqual([{ webhookId: "a", sinceMs: NOW }]);
      const claims = (
        await Promise.all([queue, another(), another(), another()].map((one) => one.claim("a", 20, NOW, 1000)))
      ).flat();
      const left = await queue.claim("a", 100, NOW, 1000);
      expect(new Set([...claims, ...left].map(({ id }) => id)).size).toBe(claims.length + left.length);
      expect(claims.length + left.length).toBe(30);
      expect(await queue.due(NOW + 999)).toEqual([]);
      // the process that had them was killed: they are tried again, and count as tried
      const again = await queue.claim("a", 100, NOW + 1000, 1000);
      expect(again).toHaveLength(30);
      expect(again.every(({ attempts }) => attempts === 2)).toBe(true);
      // and what the dead one might still say of them says nothing
      expect(await queue.settle(claims[0]!, delivered())).toBe(false);
      expect(await queue.settle(again[0]!, delivered())).toBe(true);
      expect(await queue.settle(again[0]!, delivered())).toBe(false);
    });

    test("[d11.4] a failed attempt is retried when due, with all that is known of it, until it is given up", async () => {
      const event = someEvent({ projectId: "site", data: { nested: { a: [1, null, "x"] } } });
      await put([event], "a");
      const [first] = (await queue.claim("a", 1, NOW, 1000)) as [ClaimedDelivery];
      expect(first).toMatchObject({ attempts: 1, event, history: [] });
      await queue.settle(first, { state: "pending", nextAtMs: NOW + 5000, attempt: attempt() });
      expect(await queue.due(NOW + 4999)).toEqual([]);
      const [second] = (await queue.claim("a", 1, NOW + 5000, 1000)) as [ClaimedDelivery];
      expect(second).toMatchObject({ attempts: 2, history: [attempt()] });
      await queue.settle(second, {
        state: "dead",
        nextAtMs: NOW,
        attempt: attempt({ atMs: NOW + 5000, status: null, error: "no answer within 1 s", answer: null }),
      });
      expect(await queue.due(NOW + HOUR)).toEqual([]);
      const shown = await place.store.findDelivery(first.id);
      expect(shown).toMatchObject({
        state: "dead",
        attempts: 2,
        event,
        lastStatus: null,
        lastError: "no answer within 1 s",
        nextAtMs: null,
        endedAtMs: NOW + 5012,
        history: [attempt(), { status: null }],
      });
      expect(await queue.status()).toEqual({ pending: 0, dead: 1, oldestPendingMs: null });
    });

    test("[d11.4] a dead letter is queued again by hand, and delivered from the first attempt", async () => {
      await put([someEvent()], "a");
      const [claimed] = (await queue.claim("a", 1, NOW, 1000)) as [ClaimedDelivery];
      await queue.settle(claimed, { state: "dead", nextAtMs: NOW, attempt: attempt() });
      await place.store.change(LOCAL_ACTOR, (writer) => writer.redeliver(claimed.id));
      const [again] = (await queue.claim("a", 1, Date.now() + HOUR, 1000)) as [ClaimedDelivery];
      expect(again).toMatchObject({ id: claimed.id, attempts: 1, history: [attempt()] });
      expect((await place.store.listAudit({ limit: 1 })).data[0]).toMatchObject({
        action: "change",
        kind: "webhook_delivery",
        targetId: claimed.id,
        before: { state: "dead" },
        after: { state: "pending" },
      });
    });

    test("[d11.4] a webhook's full queue drops its own oldest deliveries, and counts them", async () => {
      const small = another({ mostWaiting: 5 });
      const events = Array.from({ length: 8 }, (_, index) => someEvent({ data: { index } }));
      await small.append(events);
      await small.fanOut([{ event: events[0]!, recipients: [hook("other")] }], NOW);
      let shed = 0;
      for (const [index, event] of events.slice(1).entries())
        shed += (await small.fanOut([{ event, recipients: [hook("full")] }], NOW + index)).shed;
      expect(shed).toBe(2);
      const left = await small.claim("full", 100, NOW + HOUR, 1000);
      expect(left.map(({ event }) => event.data["index"])).toEqual([3, 4, 5, 6, 7]);
      expect(await small.claim("other", 100, NOW + HOUR, 1000)).toHaveLength(1);
    });

    test("deliveries to a removed webhook are given up with the reason", async () => {
      await put([someEvent(), someEvent()], "a", "b");
      expect(await queue.abandon("a", "it is gone", NOW)).toBe(2);
      expect(
        (await place.store.listDeliveries({ limit: 10 }, { webhookId: "a" })).data.map(({ state, lastError }) => [
          state,
          lastError,
        ]),
      ).toEqual([
        ["dead", "it is gone"],
        ["dead", "it is gone"],
      ]);
      expect(await queue.status()).toEqual({ pending: 2, dead: 2, oldestPendingMs: NOW });
    });

    test("old events are removed with their deliveries, except those with a waiting delivery", async () => {
      const [done, waiting, young] = [someEvent({ atMs: NOW - HOUR }), someEvent({ atMs: NOW - HOUR }), someEvent()];
      await queue.append([done, waiting, young]);
      await queue.fanOut(
        [
          { event: done, recipients: [hook("a")] },
          { event: waiting, recipients: [hook("b")] },
          { event: young, recipients: [hook("a")] },
        ],
        NOW,
      );
      for (const claimed of await queue.claim("a", 10, NOW, 1000)) await queue.settle(claimed, delivered());
      expect(await queue.prune(NOW - 1)).toBe(1);
      expect((await place.store.listDeliveries({ limit: 10 })).data.map(({ event }) => event.id)).toEqual(
        expect.arrayContaining([waiting.id, young.id]),
      );
      expect(await queue.prune(NOW - 1)).toBe(0);
    });

    test("deliveries are listed in pages, the newest first, and by every filter", async () => {
      const event = someEvent({ type: "call.refused" });
      await put([event], "a", "b");
      await queue.append([someEvent()]);
      await queue.fanOut(
        [
          {
            event: (await queue.awaitingFanOut(1))[0]!,
            recipients: [hook("a", { tenantId: "acme", projectId: "site" })],
          },
        ],
        NOW + 1,
      );
      const all = (await place.store.listDeliveries({ limit: 10 })).data;
      expect(all).toHaveLength(3);
      expect(all[0]).toMatchObject({ tenantId: "acme", projectId: "site", createdAtMs: NOW + 1 });
      const first = await place.store.listDeliveries({ limit: 2 });
      expect([
        ...first.data,
        ...(await place.store.listDeliveries({ limit: 2, cursor: first.nextCursor })).data,
      ]).toEqual([...all]);
      const count = async (filter: Parameters<Store["listDeliveries"]>[1]): Promise<number> =>
        (await place.store.listDeliveries({ limit: 10 }, filter)).data.length;
      expect([
        await count({ tenantId: "acme" }),
        await count({ projectId: "site" }),
        await count({ webhookId: "a" }),
        await count({ eventId: event.id }),
        await count({ type: "call.refused" }),
        await count({ state: "pending" }),
        await count({ state: "dead" }),
        await count({ fromMs: NOW + 1 }),
        await count({ toMs: NOW + 1 }),
      ]).toEqual([1, 1, 2, 2, 2, 3, 0, 1, 2]);
    });

    test("[d11.4] a change of tokens writes its event in the same transaction: none where it is rolled back, and none with a secret", async () => {
      const token = (id: string) => ({
        id,
        kind: "project" as const,
        name: "ci",
        tenantId: "default",
        projectId: "default",
        userId: null,
        role: "developer" as const,
        permissions: [],
        models: [],
        routes: [],
        tools: [],
        ipRanges: [],
        secrets: [{ sha256: new Uint8Array(32).fill(7), retiresAtMs: null }],
        createdAtMs: NOW,
        lifetimeMs: HOUR,
        expiresAtMs: NOW + HOUR,
        revokedAtMs: null,
      });
      const types = async (): Promise<readonly string[]> => (await queue.awaitingFanOut(100)).map(({ type }) => type);
      await place.store.change(LOCAL_ACTOR, async (writer) => {
        await writer.createTenant({ id: "default", name: "Default" });
        await writer.createProject({ id: "default", tenantId: "default", name: "Default" });
      });
      await place.store.change(LOCAL_ACTOR, (writer) => writer.createToken(token("AAAAAAAAAAAA")), { dryRun: true });
      await place.store
        .change(LOCAL_ACTOR, async (writer) => {
          await writer.createToken(token("AAAAAAAAAAAA"));
          throw new Error("no");
        })
        .catch(() => {});
      expect(await types()).toEqual([]);
      await place.store.change(LOCAL_ACTOR, (writer) => writer.createToken(token("AAAAAAAAAAAA")));
      await place.store.change(LOCAL_ACTOR, (writer) =>
        writer.changeToken("AAAAAAAAAAAA", (now) => ({ ...now, name: "renamed" })),
      );
      await place.store.change(LOCAL_ACTOR, (writer) =>
        writer.changeToken("AAAAAAAAAAAA", (now) => ({
          ...now,
          secrets: [...now.secrets, { sha256: new Uint8Array(32).fill(8), retiresAtMs: null }],
          expiresAtMs: NOW + 2 * HOUR,
        })),
      );
      await place.store.change(LOCAL_ACTOR, (writer) =>
        writer.changeToken("AAAAAAAAAAAA", (now) => ({ ...now, revokedAtMs: NOW })),
      );
      await place.store.change(LOCAL_ACTOR, (writer) => writer.createToken(token("BBBBBBBBBBBB")));
      await place.store.change(LOCAL_ACTOR, (writer) => writer.removeToken("BBBBBBBBBBBB"));
      await place.store.change(LOCAL_ACTOR, (writer) => writer.removeToken("AAAAAAAAAAAA"));
      // the end is that of its maker, and an earlier secret has retired
      const secret = (byte: number, retiresAtMs: number | null) => ({
        sha256: new Uint8Array(32).fill(byte),
        retiresAtMs,
      });
      await place.store.change(LOCAL_ACTOR, (writer) =>
        writer.createToken({ ...token("CCCCCCCCCCCC"), secrets: [secret(7, 1), secret(8, null)] }),
      );
      await place.store.change(LOCAL_ACTOR, (writer) =>
        writer.changeToken("CCCCCCCCCCCC", (now) => ({
          ...now,
          secrets: [secret(8, Number.MAX_SAFE_INTEGER), secret(9, null)],
        })),
      );
      const told = (await queue.awaitingFanOut(100)).toSorted((a, b) => a.atMs - b.atMs);
      expect(
        told.map(({ type, data }) => `${type} ${data["token_id"] as string}`).toSorted((a, b) => (a < b ? -1 : 1)),
      ).toEqual([
        "token.created AAAAAAAAAAAA",
        "token.created BBBBBBBBBBBB",
        "token.created CCCCCCCCCCCC",
        "token.revoked AAAAAAAAAAAA",
        "token.revoked BBBBBBBBBBBB",
        "token.rotated AAAAAAAAAAAA",
        "token.rotated CCCCCCCCCCCC",
      ]);
      expect(told.every(({ tenantId, projectId }) => tenantId === "default" && projectId === "default")).toBe(true);
      // the bytes as hexadecimal digits, in base64 or as numbers; two digits alone would stand in an id now and then
      expect(/(?:0[78]){8}|BwcHBwcH|CAgICAgI|"0":[78]|sha256|secret/.test(JSON.stringify(told))).toBe(false);
    });

    test("the deliveries of a tenant's webhooks are removed with the tenant, so that a later tenant of the same name sees none of them", async () => {
      await place.store.change(LOCAL_ACTOR, async (writer) => {
        await writer.createTenant({ id: "default", name: "Default" });
        await writer.createTenant({ id: "acme", name: "Acme" });
      });
      await queue.append([someEvent()]);
      await queue.fanOut(
        [
          {
            event: (await queue.awaitingFanOut(1))[0]!,
            recipients: [hook("a", { tenantId: "acme" }), hook("b", { tenantId: null })],
          },
        ],
        NOW,
      );
      await place.store.change(LOCAL_ACTOR, (writer) => writer.removeTenant("acme"));
      expect((await place.store.listDeliveries({ limit: 10 })).data.map(({ webhookId }) => webhookId)).toEqual(["b"]);
    });
  });
}

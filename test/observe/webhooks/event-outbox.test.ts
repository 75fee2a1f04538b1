// Events are handed over in memory and never wait; those that the database does not take are kept in bounded room.
import { describe, expect, test } from "bun:test";
import type { GatewayEvent, NewEvent, WebhookSet } from "../../../src/core/record/event.ts";
import { newEventFigures } from "../../../src/observe/webhooks/event-figures.ts";
import { openEventOutbox, type OutboxOptions } from "../../../src/observe/webhooks/event-outbox.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";
import { until } from "../../harness/time/until.ts";

const EVERYBODY = { size: 1, recipients: () => [{}], find: () => null } as unknown as WebhookSet;
const event = (n: number) => ({ type: "call.refused", tenantId: "t", projectId: "p", data: { n } }) as const;

function opened(
  own: Partial<OutboxOptions> & { readonly append: (events: readonly GatewayEvent[]) => Promise<number> },
) {
  const figures = newEventFigures();
  const states: string[] = [];
  let written = 0;
  const outbox = openEventOutbox({
    queue: { append: own.append },
    clock: { now: () => 1000 },
    webhooks: () => EVERYBODY,
    figures,
    onWritten: () => void written++,
    onState: (state) => states.push(state),
    ...own,
  });
  return { outbox, figures, states, writtenTimes: () => written };
}

describe("events on the way to the database", () => {
  test("[d11.4] an unavailable database delays no caller: events wait in bounded memory, the oldest are dropped and counted, and the rest is written when it is back", async () => {
    let isAway = true;
    const kept: GatewayEvent[] = [];
    const { outbox, figures, states } = opened({
      mostHeld: 100,
      append: async (events) => {
        if (isAway) throw new Error("away");
        kept.push(...events);
        return events.length;
      },
    });
    for (let n = 0; n < 10_000; n++) outbox.emit(event(n));
    await until(() => states.length > 0);
    expect([figures.held, figures.shedEvents, states]).toEqual([100, 9900, ["away"]]);
    isAway = false;
    await until(() => kept.length >= 100 && states.length > 1);
    expect(kept.map(({ data }) => data["n"])).toEqual(Array.from({ length: 100 }, (_, index) => 9900 + index));
    expect(new Set(kept.map(({ id }) => id)).size).toBe(100);
    expect(states).toEqual(["away", "back"]);
    expect(figures.emitted.get("call.refused")).toBe(10_000);
    await outbox.close(100);
  });

  test("[d11.4] an event that is emitted while the database is unavailable costs the same, however many came before it", async () => {
    const { outbox } = opened({ mostHeld: 1000, append: () => Promise.reject(new Error("away")) });
    const emitAll = (events: readonly NewEvent[]): void => {
      for (const each of events) outbox.emit(each);
    };
    const made = (size: number): readonly NewEvent[] => Array.from({ length: size }, (_, index) => event(index));
    expect(await growth(made, emitAll, 2500)).toBeLessThan(MOST_GROWTH);
  });

  test("[d11.4] waiting events are written before the process ends, and the end does not wait for an unavailable database", async () => {
    const kept: GatewayEvent[] = [];
    const { outbox } = opened({ append: async (events) => kept.push(...events) });
    for (let n = 0; n < 500; n++) outbox.emit(event(n));
    await outbox.close(2000);
    expect(kept).toHaveLength(500);
    const away = opened({ append: () => new Promise(() => {}) });
    away.outbox.emit(event(1));
    // one that waited for it would never come back
    await away.outbox.close(150);
    expect(away.figures.shedEvents).toBe(1);
  });

  test("[d11.4] an event that is emitted at the end of a write is written too, without waiting for another event", async () => {
    const kept: GatewayEvent[] = [];
    const { outbox } = opened({
      append: async (events) => kept.push(...events),
      onWritten: () => {
        if (kept.length === 1) queueMicrotask(() => outbox.emit(event(2)));
      },
    });
    outbox.emit(event(1));
    await until(() => kept.length === 2);
    expect(kept.map(({ data }) => data["n"])).toEqual([1, 2]);
    await outbox.close(100);
  });

  test("[d11.4] nothing is written without webhooks, and it is counted all the same", async () => {
    let asked = 0;
    const { outbox, figures } = opened({
      append: async () => ++asked,
      webhooks: () => ({ size: 0, recipients: () => [], find: () => null }),
    });
    outbox.emit(event(1));
    await Bun.sleep(50);
    await outbox.close(100);
    expect([asked, figures.emitted.get("call.refused")]).toEqual([0, 1]);
  });

  test("[d4.6] an event to be reported once has the same id on every gateway, and every other event an id of its own", async () => {
    const kept: GatewayEvent[] = [];
    const two = [
      opened({ append: async (events) => kept.push(...events) }),
      opened({ append: async (events) => kept.push(...events) }),
    ];
    for (const { outbox } of two) {
      outbox.emit({ ...event(1), onceKey: "budget 80" });
      outbox.emit(event(2));
    }
    for (const { outbox } of two) await outbox.close(1000);
    expect(new Set(kept.map(({ id }) => id)).size).toBe(3);
    expect(kept.every(({ id }) => /^evt_[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(JSON.stringify(kept)).not.toContain("onceKey");
  });
});

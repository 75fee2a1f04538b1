// The queue in front of every sink: bounded, in batches, within time, retried with growing waits; dropped calls are
// counted.
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import type { IntegrationDelivery } from "../../../src/observe/integrations/integration-fields.ts";
import { type RefusedFor, type Sink, SinkFault } from "../../../src/observe/integrations/sink.ts";
import { type Shed, SinkQueue } from "../../../src/observe/integrations/sink-queue.ts";
import { until } from "../../harness/time/until.ts";

const DELIVERY: IntegrationDelivery = {
  batchCalls: 3,
  batchWaitMs: 20,
  timeoutMs: 200,
  giveUpMs: 60_000,
  queueCalls: 10,
  queueBytes: 1_000_000,
};
const again = (retryAfterMs: number | null = null): SinkFault =>
  new SinkFault("the receiver answers 500", { isRetryable: true, retryAfterMs });
const never = (refusedFor: RefusedFor = null): SinkFault =>
  new SinkFault("the receiver answers 400", { isRetryable: false, refusedFor });

type Answer = "take" | "hang" | SinkFault | Error | { readonly rejected: number; readonly why: string };

function setUp(
  delivery: Partial<IntegrationDelivery>,
  answer: (batch: readonly number[], delivery: number) => Answer,
  times: { readonly firstWaitMs?: number; readonly longestWaitMs?: number } = {},
) {
  const batches: (readonly number[])[] = [];
  const atMs: number[] = [];
  const shed: Partial<Record<Shed, number>> = {};
  const told: string[] = [];
  const seen = { delivered: 0, failed: 0, retried: 0, mostQueued: 0, closed: 0, opened: 0 };
  const receiver: Sink<number> = {
    async deliver(batch) {
      batches.push(batch);
      atMs.push(performance.now());
      const said = answer(batch, batches.length);
      if (said instanceof Error) throw said;
      if (said === "hang") await new Promise(() => {});
      return said === "take" || said === "hang" ? undefined : said;
    },
    close: async () => void (seen.closed += 1),
  };
  let added = 0;
  /** Calls that were neither delivered nor dropped. No call may be both. */
  const queued = (): number => {
    const waiting = Object.values(shed).reduce((rest, calls) => rest - calls, added - seen.delivered);
    if (waiting < 0) throw new Error(`of ${added} calls ${added - waiting} are accounted for`);
    return waiting;
  };
  const queue = new SinkQueue<number>({
    open: async () => {
      seen.opened += 1;
      return receiver;
    },
    delivery: { ...DELIVERY, ...delivery },
    clock: systemClock,
    random: () => 0.999,
    firstWaitMs: 5,
    longestWaitMs: 40,
    ...times,
    watch: {
      delivered: (calls) => {
        seen.delivered += calls;
        queued();
      },
      shed: (reason, calls) => {
        shed[reason] = (shed[reason] ?? 0) + calls;
        queued();
      },
      failed: () => void (seen.failed += 1),
      retried: () => void (seen.retried += 1),
      failing: (words) => void told.push(`failing: ${words}`),
      back: () => void told.push("back"),
    },
  });
  const add = (from: number, count: number, units = 10): void => {
    for (let value = from; value < from + count; value++) {
      added += 1;
      queue.add({ units, value: () => value });
      seen.mostQueued = Math.max(seen.mostQueued, queued());
    }
  };
  return { queue, add, queued, batches, atMs, shed, seen, told };
}

describe("waiting records", () => {
  test("are delivered when a batch is full, and at the latest after its wait", async () => {
    const { queue, add, batches } = setUp({ batchWaitMs: 60 }, () => "take");
    add(0, 4);
    await until(() => batches.length === 1);
    expect(batches).toEqual([[0, 1, 2]]);
    await until(() => batches.length === 2);
    expect(batches[1]).toEqual([3]);
    await queue.end(100);
  });
  test("[d11.4] are bounded by number: the oldest are dropped, and counted", async () => {
    const { queue, add, batches, shed, seen } = setUp({ timeoutMs: 60_000 }, (_, delivery) =>
      delivery === 1 ? again(300) : "take",
    );
    add(0, 3);
    await until(() => seen.failed === 1);
    add(3, 25);
    expect(shed).toEqual({ queue_full: 15 });
    expect(seen.mostQueued).toBe(13);
    await until(() => seen.delivered === 13);
    expect(batches.slice(1).flat()).toEqual([0, 1, 2, ...Array.from({ length: 10 }, (_, index) => 18 + index)]);
    await queue.end(100);
  });
  test("[d11.4] are bounded by size, and one that is larger than the whole bound is dropped at once", async () => {
    const { queue, add, shed, seen } = setUp({ queueBytes: 100, queueCalls: 1000 }, (_, delivery) =>
      delivery === 1 ? again(300) : "take",
    );
    add(0, 3);
    await until(() => seen.failed === 1);
    add(3, 20, 30);
    expect(shed).toEqual({ queue_full: 17 });
    add(100, 1, 101);
    expect(shed).toEqual({ queue_full: 21 });
    await queue.end(100);
  });
});

describe("a delivery that fails", () => {
  test("[d11.4] is retried with the same calls until it is accepted, and later calls come after it; failure and recovery are reported once", async () => {
    const { queue, add, queued, batches, seen, shed, told } = setUp({}, (_, delivery) =>
      delivery < 5 ? again() : "take",
    );
    add(0, 5);
    await until(() => seen.delivered === 5);
    expect(batches).toEqual([
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
      [3, 4],
    ]);
    expect([seen.failed, seen.retried, shed, told]).toEqual([4, 4, {}, ["failing: the receiver answers 500", "back"]]);
    await queue.end(100);
    expect({ ...seen, queued: queued() }).toMatchObject({ opened: 1, closed: 1, queued: 0 });
  });
  test("[d11.4] is retried after growing waits up to the longest: a dead receiver is not flooded", async () => {
    const { queue, add, atMs } = setUp({ queueCalls: 100 }, () => again(), {
      firstWaitMs: 20,
      longestWaitMs: 160,
    });
    add(0, 60);
    await until(() => atMs.length > 7);
    const waits = atMs.slice(1).map((at, index) => at - atMs[index]!);
    for (const [index, wait] of waits.entries())
      expect(wait).toBeGreaterThanOrEqual(Math.min(160, 20 * 2 ** index) * 0.95);
    await queue.end(10);
  });
  test("[d11.4] waits as long as the receiver asks, within bounds", async () => {
    const { queue, add, atMs, seen } = setUp({}, (_, delivery) => (delivery === 1 ? again(250) : "take"));
    add(0, 3);
    await until(() => seen.delivered === 3);
    expect(atMs[1]! - atMs[0]!).toBeGreaterThanOrEqual(245);
    await queue.end(10);
  });
  test("[d11.4] permanently is not repeated, is counted, and is followed by a wait as well", async () => {
    const { queue, add, queued, batches, shed, seen, atMs } = setUp({}, ([first]) => (first === 0 ? never() : "take"), {
      firstWaitMs: 80,
      longestWaitMs: 80,
    });
    add(0, 6);
    await until(() => seen.failed === 1);
    // counted once: as shed, and no longer as waiting
    expect([shed, queued()]).toEqual([{ refused: 3 }, 3]);
    await until(() => seen.delivered === 3);
    expect(batches).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect([shed, seen.retried]).toEqual([{ refused: 3 }, 0]);
    expect(atMs[1]! - atMs[0]!).toBeGreaterThanOrEqual(75);
    await queue.end(10);
  });
  test("[d11.4] for a call that the receiver never takes loses that call alone, and is followed by no wait", async () => {
    const poison = new Set([3, 21]);
    const { queue, add, shed, seen, batches, told } = setUp(
      { batchCalls: 32, queueCalls: 1000 },
      (batch) => (batch.some((call) => poison.has(call)) ? never("call") : "take"),
      { firstWaitMs: 60_000, longestWaitMs: 60_000 },
    );
    add(0, 64);
    await until(() => seen.delivered === 62);
    expect(shed).toEqual({ refused: 2 });
    expect(batches.length).toBeLessThan(24);
    expect([seen.retried, told]).toEqual([0, []]);
    await queue.end(100);
  });
  test("[d11.4] for the size of the batch is delivered in smaller ones, and a call that is too large alone is lost", async () => {
    const { queue, add, shed, seen, batches } = setUp({ batchCalls: 32, queueCalls: 1000 }, (batch) =>
      batch.length > 3 || batch.includes(9) ? never("size") : "take",
    );
    add(0, 32);
    await until(() => seen.delivered === 31);
    expect(shed).toEqual({ refused: 1 });
    expect(batches.filter((batch) => batch.length <= 3 && !batch.includes(9)).flat()).toHaveLength(31);
    await queue.end(100);
  });
  test("[d11.4] of every part of a batch is divided a few times only", async () => {
    const { queue, add, shed, batches, told } = setUp({ batchCalls: 256, queueCalls: 1000 }, () => never("call"));
    add(0, 256);
    await until(() => shed.refused === 256);
    expect(batches.length).toBeLessThan(16);
    expect(told).toEqual(["failing: the receiver answers 400"]);
    await queue.end(100);
  });
  test("[d11.4] for the size of the batch is divided within the time that the end leaves, and the rest is counted", async () => {
    const { queue, add, queued, shed, seen } = setUp({ batchCalls: 8, batchWaitMs: 60_000 }, (batch) =>
      batch.length > 1 ? never("size") : batch[0] === 1 ? "hang" : "take",
    );
    add(0, 7);
    await queue.end(400);
    expect([seen.delivered + (shed.shutdown ?? 0), queued()]).toEqual([7, 0]);
    expect(seen.delivered).toBeGreaterThanOrEqual(1);
  });
  test("[d11.4] is given up after its time, and the next batch is tried", async () => {
    const { queue, add, shed, seen } = setUp({ giveUpMs: 60 }, ([first]) => (first === 0 ? again() : "take"));
    add(0, 6);
    await until(() => seen.delivered === 3);
    expect(shed).toEqual({ given_up: 3 });
    await queue.end(10);
  });
  test("[d11.4] by never settling is abandoned after its time, also where the sink ignores its signal", async () => {
    const { queue, add, seen, told } = setUp({ timeoutMs: 100 }, (_, delivery) => (delivery === 1 ? "hang" : "take"));
    add(0, 3);
    await until(() => seen.delivered === 3);
    expect([seen.failed, told]).toEqual([1, ["failing: no answer within 100 ms", "back"]]);
    await queue.end(10);
  });
  test("with any error may be retried; a part that is refused is lost without a wait", async () => {
    const { queue, add, seen, shed } = setUp({}, (_, delivery) =>
      delivery === 1 ? new TypeError("a fault of the sink") : delivery === 2 ? { rejected: 2, why: "too old" } : "take",
    );
    add(0, 6);
    await until(() => seen.delivered === 4);
    expect(shed).toEqual({ refused: 2 });
    await queue.end(10);
  });
  test("because the sink cannot be opened opens it at the next try", async () => {
    let tries = 0;
    const delivered: number[] = [];
    const queue = new SinkQueue<number>({
      open: async () => {
        tries += 1;
        if (tries < 3) throw new Error("no such folder");
        return { deliver: async (batch) => void delivered.push(...batch), close: async () => {} };
      },
      delivery: { ...DELIVERY, batchWaitMs: 1 },
      clock: systemClock,
      random: Math.random,
      firstWaitMs: 2,
      longestWaitMs: 2,
      watch: {
        delivered: () => {},
        shed: () => {},
        failed: () => {},
        retried: () => {},
        failing: () => {},
        back: () => {},
      },
    });
    queue.add({ units: 1, value: () => 7 });
    await until(() => delivered.length > 0);
    expect([tries, delivered]).toEqual([3, [7]]);
    await queue.end(10);
  });
  test("because the sink was opened too late delivers each call once, by one receiver, and closes the other", async () => {
    const openings: PromiseWithResolvers<Sink<number>>[] = [];
    const delivered: string[] = [];
    const closed: string[] = [];
    const named = (name: string): Sink<number> => ({
      deliver: async (batch) => void delivered.push(...batch.map((call) => `${name} ${call}`)),
      close: async () => void closed.push(name),
    });
    const queue = new SinkQueue<number>({
      open: async () => {
        openings.push(Promise.withResolvers<Sink<number>>());
        return openings.at(-1)!.promise;
      },
      delivery: { ...DELIVERY, batchWaitMs: 1, timeoutMs: 10 },
      clock: systemClock,
      random: Math.random,
      firstWaitMs: 2,
      longestWaitMs: 2,
      watch: {
        delivered: () => {},
        shed: () => {},
        failed: () => {},
        retried: () => {},
        failing: () => {},
        back: () => {},
      },
    });
    queue.add({ units: 1, value: () => 7 });
    await until(() => openings.length === 2);
    openings[1]!.resolve(named("second"));
    await until(() => delivered.length > 0);
    openings[0]!.resolve(named("first"));
    await until(() => closed.length > 0);
    expect([delivered, closed]).toEqual([["second 7"], ["first"]]);
    await queue.end(10);
    expect(closed).toEqual(["first", "second"]);
  });
});

describe("the end", () => {
  test("sends the waiting records without waiting for more", async () => {
    const { queue, add, queued, seen, batches } = setUp({ batchWaitMs: 60_000 }, () => "take");
    add(0, 8);
    await queue.end(1000);
    expect([batches.length, seen.delivered, seen.closed, queued()]).toEqual([3, 8, 1, 0]);
  });
  test("[d11.4] is not delayed by a dead receiver: each batch is tried once more, and the rest is counted", async () => {
    const { queue, add, queued, seen, shed } = setUp({}, () => again(60_000));
    add(0, 8);
    await until(() => seen.failed === 1);
    const startedMs = performance.now();
    await queue.end(30_000);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    expect([seen.delivered, shed, queued()]).toEqual([0, { shutdown: 8 }, 0]);
  });
  test("[d11.4] abandons a receiver that never answers when its time is over", async () => {
    const { queue, add, shed, batches } = setUp({ timeoutMs: 60_000 }, () => "hang");
    add(0, 8);
    await until(() => batches.length === 1);
    await queue.end(300);
    expect(shed).toEqual({ shutdown: 8 });
  });
});

// What a worker sends to the supervisor, and when.
import { expect, test } from "bun:test";
import { openMemoryLimits } from "../../../src/admission/memory.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { RemoteLimits } from "../../../src/process/workers/remote-limits.ts";
import type { ReserveWire } from "../../../src/process/workers/limit-messages.ts";
import { WorkerReservations } from "../../../src/process/workers/worker-reservations.ts";
import { accountOf, needOf, reserved } from "../../contract/limit-store.suite.ts";
import { openChannels } from "../../harness/channels.ts";

const TOKENS = accountOf({ id: "tokens", unit: "tokens", limit: 1000 });

test("[d13.2] a rule is sent before any other call names its number, also where its call waits for settlements to leave", async () => {
  const { worker, supervisor } = openChannels();
  const limits = new RemoteLimits(worker, "worker", () => {});
  void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
    holder: "worker",
    clock: systemClock,
    settledFile: null,
  });
  (await reserved(limits, needOf(TOKENS, 100))).settle([30]);
  const other = accountOf({ id: "other", unit: "tokens", limit: 1000 });
  const first = reserved(limits, needOf(other, 100));
  const second = Promise.resolve().then(() => reserved(limits, needOf(other, 100)));
  limits.sendSettled();
  const used = (await Promise.all([first, second])).map(({ after }) => after[0]!.used);
  expect(used.toSorted((one, another) => one - another)).toEqual([100, 200]);
});

test("[d13.2] a reservation that is lost in the same message in which it is granted ends its call", async () => {
  const { worker, supervisor } = openChannels();
  const limits = new RemoteLimits(worker, "worker", () => {});
  supervisor.handle("reserve", ({ id }) => {
    // the reply leaves in the same turn
    queueMicrotask(() => supervisor.notify("limit_lost", { id }));
    return { accounts: [[1000, 100, 900, null, 100]], stamp: 1, run: "run" } as never;
  });
  const reservation = await reserved(limits, needOf(TOKENS, 100));
  const lost = Promise.withResolvers<string>();
  reservation.whenLost!(() => lost.resolve("lost"));
  expect(await lost.promise).toBe("lost");
});

/** What makes a settlement leave. */
const OCCASIONS: Readonly<Record<string, (limits: RemoteLimits) => void>> = {
  "at the end of the turn": () => {},
  "because another call has ended": (limits) => limits.sendSettled(),
};

for (const [occasion, arise] of Object.entries(OCCASIONS))
  test(`[d13.2] a settlement that leaves ${occasion} leaves after the closing entry of its call was written`, async () => {
    const { worker, supervisor } = openChannels();
    let added = 0;
    let written = 0;
    const limits = new RemoteLimits(worker, "worker", () => (written = added));
    void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
      holder: "worker",
      clock: systemClock,
      settledFile: null,
    });
    const arrived = Promise.withResolvers<number>();
    supervisor.handle("settle", () => arrived.resolve(written));
    const reservation = await reserved(limits, needOf(TOKENS, 100));
    reservation.settle([30]);
    added += 1;
    arise(limits);
    expect(await arrived.promise).toBe(1);
  });

test("[d13.1] limits that are changed all the time take a bounded number of numbers, and calls count against their own", async () => {
  const { worker, supervisor } = openChannels();
  const limits = new RemoteLimits(worker, "worker", () => {});
  const reservations = new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
    holder: "worker",
    clock: systemClock,
    settledFile: null,
  });
  const numbers = new Set<number>();
  const request = worker.request.bind(worker);
  worker.request = async (kind, body, bytes) => {
    for (const [number] of (body as Partial<ReserveWire>).rules ?? []) numbers.add(number);
    return await request(kind, body, bytes);
  };
  const kept = accountOf({ id: "kept", unit: "tokens", limit: 1_000_000 });
  for (let change = 0; change < 11_000; change++) {
    const changed = accountOf({ id: "changed", unit: "tokens", limit: 1_000_000 + change });
    const { after } = await reserved(limits, needOf(kept, 1), needOf(changed, 2));
    if (change % 1_000 === 999) expect(after.map(({ used }) => used)).toEqual([change + 1, 2 * (change + 1)]);
  }
  expect(numbers.size).toBe(10_000);
  reservations.end(() => null);
});

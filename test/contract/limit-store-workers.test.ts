// The limit store of a worker, which asks the supervisor over a channel, through the one suite of all drivers.
import { expect, test } from "bun:test";
import { isShortage } from "../../src/admission/limit-store.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { systemClock } from "../../src/core/clock.ts";
import { noLedger } from "../../src/store/journal/ledger.ts";
import { RemoteLimits } from "../../src/process/workers/remote-limits.ts";
import { WorkerReservations } from "../../src/process/workers/worker-reservations.ts";
import { openChannels } from "../harness/channels.ts";
import { accountOf, limitStoreSuite } from "./limit-store.suite.ts";

test("what is reserved is told apart by the supervisor", async () => {
  const { worker, supervisor } = openChannels();
  void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
    holder: "worker",
    clock: systemClock,
    settledFile: null,
  });
  const limits = new RemoteLimits(worker, "worker", (calls) => noLedger.writeStateOf(calls));
  const account = accountOf({ kind: "budget", unit: "tokens", window: "day", limit: 100 });
  expect(isShortage(await limits.reserve([{ account, units: 30, force: false }]))).toBe(false);
  expect(await limits.status(account)).toMatchObject({ used: 30, reserved: 30, remaining: 70 });
});

limitStoreSuite("a worker", () => {
  const { worker, supervisor } = openChannels();
  void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
    holder: "worker",
    clock: systemClock,
    settledFile: null,
  });
  return new RemoteLimits(worker, "worker", (calls) => noLedger.writeStateOf(calls));
});

// The limit store of a worker, which asks the supervisor over a channel, through the one suite of all drivers.
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { systemClock } from "../../src/core/clock.ts";
import { noLedger } from "../../src/store/ledger.ts";
import { openRemoteLimits } from "../../src/workers/remote-limits.ts";
import { WorkerReservations } from "../../src/workers/worker-reservations.ts";
import { openChannels } from "../harness/channels.ts";
import { limitStoreSuite } from "./limit-store.suite.ts";

limitStoreSuite("a worker", () => {
  const { worker, supervisor } = openChannels();
  void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor, {
    holder: "worker",
    clock: systemClock,
    settledFile: null,
  });
  return openRemoteLimits(worker, "worker", () => noLedger.flush());
});

// The limit store of a worker, which asks the supervisor over a channel, through the one suite of all drivers.
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { systemClock } from "../../src/core/clock.ts";
import { Channel } from "../../src/workers/channel.ts";
import type { SupervisorChannel, ToSupervisor, ToWorker, WorkerChannel } from "../../src/workers/messages.ts";
import { openRemoteLimits } from "../../src/workers/remote-limits.ts";
import { WorkerReservations } from "../../src/workers/worker-reservations.ts";
import { limitStoreSuite } from "./limit-store.suite.ts";

/** Both ends of a channel; what one writes the other reads in a later turn. */
function openChannels(): { readonly worker: SupervisorChannel; readonly supervisor: WorkerChannel } {
  const onFault = (fault: unknown): never => {
    throw fault;
  };
  const handOver = (reader: () => { read(bytes: Uint8Array): void }) => (bytes: Uint8Array) => {
    setImmediate(() => reader().read(bytes));
    return bytes.length;
  };
  const worker: SupervisorChannel = new Channel<ToSupervisor, ToWorker>({
    write: handOver(() => supervisor),
    end: () => {},
    onFault,
  });
  const supervisor: WorkerChannel = new Channel<ToWorker, ToSupervisor>({
    write: handOver(() => worker),
    end: () => {},
    onFault,
  });
  return { worker, supervisor };
}

limitStoreSuite("a worker", () => {
  const { worker, supervisor } = openChannels();
  void new WorkerReservations(openMemoryLimits({ clock: systemClock }), supervisor);
  return openRemoteLimits(worker);
});

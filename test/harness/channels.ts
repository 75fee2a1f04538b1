// A channel between a worker and its supervisor within one process.
import { Channel } from "../../src/process/workers/channel.ts";
import type { SupervisorChannel, ToSupervisor, ToWorker, WorkerChannel } from "../../src/process/workers/messages.ts";

/** Both ends of a channel; what one writes the other reads in a later turn. */
export function openChannels(): { readonly worker: SupervisorChannel; readonly supervisor: WorkerChannel } {
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
    maxUnwrittenBytes: Number.POSITIVE_INFINITY,
    onFault,
  });
  const supervisor: WorkerChannel = new Channel<ToWorker, ToSupervisor>({
    write: handOver(() => worker),
    end: () => {},
    maxUnwrittenBytes: Number.POSITIVE_INFINITY,
    onFault,
  });
  return { worker, supervisor };
}

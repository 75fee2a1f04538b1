// How much went over the channels of all workers since the supervisor started.
import type { ChannelFigures } from "../../observe/metrics/worker-gauges.ts";
import type { WorkerChannel } from "./messages.ts";

export class ChannelTraffic {
  readonly #open = new Set<WorkerChannel>();
  /** Of channels that are closed. */
  #past: ChannelFigures = { toSupervisor: { messages: 0, bytes: 0 }, toWorkers: { messages: 0, bytes: 0 } };

  join(channel: WorkerChannel): void {
    this.#open.add(channel);
    channel.whenClosed(() => {
      this.#open.delete(channel);
      this.#past = withChannel(this.#past, channel);
    });
  }

  figures(): ChannelFigures {
    return [...this.#open].reduce(withChannel, this.#past);
  }
}

function withChannel({ toSupervisor, toWorkers }: ChannelFigures, { received, sent }: WorkerChannel): ChannelFigures {
  return {
    toSupervisor: {
      messages: toSupervisor.messages + received.messages,
      bytes: toSupervisor.bytes + received.bytes,
    },
    toWorkers: { messages: toWorkers.messages + sent.messages, bytes: toWorkers.bytes + sent.bytes },
  };
}

// The figures of all processes of a gateway, for the worker that is asked for them: how each process stands, and what it
// has counted. The supervisor asks the workers; of one that does not answer in time, and of those that have ended, it has
// what they had counted before.
import { retryLater } from "../../core/errors.ts";
import { machineStanding, type ProcessStanding, type Standing } from "../../http/standing.ts";
import { countsOf, type MetricSamples } from "../../observe/metrics/machine-metrics.ts";
import type { MachineMetrics, Metrics } from "../../observe/metrics/metrics.ts";
import type { WithBytes } from "./channel.ts";
import type { MachineFiguresWire, SupervisorChannel, WorkerChannel } from "./messages.ts";

/** How long a worker has for its answer. */
const ANSWER_MS = 1000;
/** For the supervisor, which waits for the workers. */
const MACHINE_MS = 2 * ANSWER_MS;
/** Of a worker that is killed, nothing is lost that it had counted so long before. */
const KEPT_EVERY_MS = 10_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a process says of itself. */
export interface OwnFigures {
  standing(): ProcessStanding;
  readonly metrics: Pick<Metrics, "samples">;
}

/** In the supervisor. */
export function openMachineFigures(own: OwnFigures, onFault: (fault: unknown) => void) {
  /** The last samples of each worker, as text. */
  const samples = new Map<WorkerChannel, string>();
  /** What workers had counted that have ended, as text. */
  let past: Promise<string> = Promise.resolve("[]");

  const ended = (channel: WorkerChannel): void => {
    const last = samples.get(channel) ?? "[]";
    samples.delete(channel);
    past = past.then(async (earlier) => {
      try {
        return await joinedCounts(earlier, last);
      } catch (fault) {
        onFault(fault);
        return earlier;
      }
    });
  };
  /** `null` when the worker does not answer in time. */
  const ask = async (channel: WorkerChannel, withMetrics: boolean): Promise<ProcessStanding | null> => {
    const answer = await channel.requestWithin(ANSWER_MS, "figures", { withMetrics });
    if (answer === null) return null;
    if (withMetrics && samples.has(channel)) samples.set(channel, decoder.decode(answer.bytes));
    return answer.body;
  };
  const machine = async (asking: WorkerChannel, withMetrics: boolean): Promise<WithBytes<MachineFiguresWire>> => {
    const others = [...samples.keys()].filter((channel) => channel !== asking);
    const answers = await Promise.all(others.map((channel) => ask(channel, withMetrics)));
    const standings = answers.filter((answer) => answer !== null);
    // Both are read at the same moment: a worker that ends meanwhile is in one of them.
    const earlier = past;
    const running = others.map((channel) => samples.get(channel)).filter((text) => text !== undefined);
    const texts = withMetrics ? [JSON.stringify(await own.metrics.samples()), await earlier, ...running] : [];
    return {
      body: {
        workers: { count: samples.size, answered: standings.length + 1 },
        supervisor: own.standing(),
        others: standings,
      },
      bytes: encoder.encode(`[${texts.join(",")}]`),
    };
  };
  const timer = setInterval(() => {
    for (const channel of samples.keys()) void ask(channel, true);
  }, KEPT_EVERY_MS).unref();

  return {
    join(channel: WorkerChannel): void {
      channel.handle("machine_figures", ({ withMetrics }) => machine(channel, withMetrics));
      channel.handle("last_metrics", (_, bytes) => void samples.set(channel, decoder.decode(bytes)));
      channel.handle("serves_figures", () => void samples.set(channel, "[]"));
      channel.whenClosed(() => ended(channel));
    },
    close: () => clearInterval(timer),
  };
}

async function joinedCounts(earlier: string, last: string): Promise<string> {
  return JSON.stringify(await countsOf([JSON.parse(earlier) as MetricSamples, JSON.parse(last) as MetricSamples]));
}

/** In a worker: the way to the figures of the machine. */
export type WorkerFiguresView = ReturnType<typeof openWorkerFigures>;

export function openWorkerFigures(channel: SupervisorChannel, own: OwnFigures) {
  channel.handle("figures", async ({ withMetrics }) => {
    const body = own.standing();
    return withMetrics ? { body, bytes: encoder.encode(JSON.stringify(await own.metrics.samples())) } : body;
  });
  channel.notify("serves_figures", null);
  const machine = async (withMetrics: boolean): Promise<WithBytes<MachineFiguresWire>> => {
    const answer = await channel.requestWithin(MACHINE_MS, "machine_figures", { withMetrics });
    if (answer !== null) return answer;
    throw retryLater("gateway_overloaded", "The supervisor of the workers does not answer.", 1);
  };
  const standingOf = ({ supervisor, others, workers }: MachineFiguresWire): Standing =>
    machineStanding(supervisor, [own.standing(), ...others], workers);
  return {
    async standing(): Promise<Standing> {
      return standingOf((await machine(false)).body);
    },
    /** Throws `gateway_overloaded`: figures of this worker alone would look like a restart of the gateway. */
    async metrics(): Promise<MachineMetrics> {
      const { body, bytes } = await machine(true);
      const others = JSON.parse(decoder.decode(bytes)) as readonly MetricSamples[];
      return { others, targets: standingOf(body).targets, workers: body.workers };
    },
    /** Leaves what this worker has counted with the supervisor. */
    async end(): Promise<void> {
      const samples = encoder.encode(JSON.stringify(await own.metrics.samples()));
      await channel.request("last_metrics", null, samples).catch(() => {});
    },
  };
}

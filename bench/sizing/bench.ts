// What every measurement of `npm run bench:sizing` uses: gateways in folders of their own, and calls to them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chatBody } from "../load/answers.ts";
import { type OwnSetup, startGateway } from "../subjects/gateway.ts";
import { httpRequest, runLoad } from "../load/load.ts";
import type { Cores } from "../subjects/process-stats.ts";
import type { SeededData } from "../load/seeded-data.ts";
import type { Subject } from "../subjects/subject.ts";
import type { WorkerBench } from "../worker-costs.ts";

export interface SizingPace {
  readonly warmUpMs: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly openStreams: readonly number[];
  readonly settleMs: number;
  /** Calls over which disk use and the work of stores is measured. */
  readonly calls: number;
  readonly largest: Required<SeededData>;
}

export const CONNECTIONS = 32;

export class SizingBench {
  readonly folder: string;
  readonly mockPort: number;
  readonly cores: Cores;
  readonly pace: SizingPace;
  /** What was started is stopped in reverse at the end, however that comes. */
  readonly stops: (() => Promise<unknown>)[] = [];
  #paths = 0;

  constructor({ folder, mockPort, cores, pace }: Pick<SizingBench, "folder" | "mockPort" | "cores" | "pace">) {
    this.folder = folder;
    this.mockPort = mockPort;
    this.cores = cores;
    this.pace = pace;
  }

  /** A path that no other call has returned, where nothing is yet. */
  newPath(): string {
    return join(this.folder, String(++this.#paths));
  }

  #newFolder(): string {
    const folder = this.newPath();
    mkdirSync(folder);
    return folder;
  }

  /** What gateways with workers are measured with. */
  workers(isBound: boolean): WorkerBench {
    const { mockPort, cores, pace } = this;
    return { folder: this.#newFolder(), mockPort, cores, pace, isBound };
  }

  /** Starts a gateway on the core of what is measured. */
  async gateway(own: OwnSetup = {}, folder = this.newPath()): Promise<Subject> {
    const subject = await startGateway(folder, this.mockPort, this.cores.subject, own);
    this.stops.push(subject.stop);
    return subject;
  }

  /** Makes at least so many plain calls, and returns how many. */
  async makeCalls(subject: Subject, atLeast: number): Promise<number> {
    const { path, model, token } = subject.target("openai-plain");
    const request = httpRequest(subject.port, path, chatBody(model, false), token);
    const options = { connections: CONNECTIONS, durationMs: 100 };
    let calls = 0;
    while (calls < atLeast) calls += (await runLoad({ port: subject.port, request }, options)).requests;
    return calls;
  }
}

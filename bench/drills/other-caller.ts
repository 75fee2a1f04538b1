// The other caller of drills that measure for how long requests hold up others, in a thread of its own
// (other-caller-thread.ts), so that the work of the drill is no part of its waits.
import { Worker } from "node:worker_threads";
import { counted } from "../../src/core/text/counted.ts";

/** Promise 5.8. */
export const PROMISED_MS = 50;
/** How long the gateway is still observed after the work, because something follows an answer. */
const BEHIND_MS = 150;
/** How often a shape above the bound is measured in all. */
const MAX_SERIES = 3;

/** The longest wait: by the clock, and in CPU time of the serving thread, which on a quiet machine are equal. */
export interface Waits {
  readonly clockMs: number;
  readonly processorMs: number;
}

export interface OtherCallerSetup {
  readonly port: number;
  readonly pid: number;
  /** What it sends, as it is on the wire. The answer has a length. */
  readonly request: string;
}

export class OtherCaller {
  readonly #thread: Worker;

  constructor(gateway: { readonly url: string; readonly pid: number }, request: (host: string) => string) {
    const { host, port } = new URL(gateway.url);
    this.#thread = new Worker(new URL("./other-caller-thread.ts", import.meta.url), {
      workerData: { port: Number(port), pid: gateway.pid, request: request(host) } satisfies OtherCallerSetup,
    });
  }

  async waitsDuring(work: () => Promise<unknown>): Promise<Waits> {
    this.#thread.postMessage("begin", []);
    await work();
    await Bun.sleep(BEHIND_MS);
    return await new Promise((resolve) => {
      this.#thread.once("message", resolve);
      this.#thread.postMessage("end", []);
    });
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

export const isLate = ({ processorMs }: Waits): boolean => processorMs > PROMISED_MS;

/** What came of one shape. */
export interface Measured {
  readonly waits: Waits;
  /** Whether it was answered as it has to be: a shape that is refused too early measures nothing. */
  readonly isAnswered: boolean;
}

/**
 * Measures each shape, and those above the bound again (bench/README.md says why). Prints and returns how many were
 * above it each time, or were answered in another way than they have to be.
 */
export async function failedShapes<T>(shapes: Iterable<T>, measure: (shape: T) => Promise<Measured>): Promise<number> {
  let late = [...shapes];
  let otherwise = 0;
  for (let series = 0; series < MAX_SERIES && late.length > 0; series++) {
    if (series > 0) process.stdout.write(`\n${counted(late.length, "shape")} above ${PROMISED_MS} ms. Again:\n`);
    const measured = late;
    late = [];
    for (const shape of measured) {
      const { waits, isAnswered } = await measure(shape);
      if (!isAnswered) otherwise++;
      else if (isLate(waits)) late.push(shape);
    }
  }
  process.stdout.write(
    `\n${counted(late.length, "shape")} above ${PROMISED_MS} ms each time, ${counted(otherwise, "shape")} answered otherwise\n`,
  );
  return late.length + otherwise;
}

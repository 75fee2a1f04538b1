// What every part of a process is opened with.
import { hostname } from "node:os";
import { type Closing, openClosing } from "../closing.ts";
import type { Environment } from "../../config/environment.ts";
import type { ServerOptions } from "../../snapshot/server-options.ts";
import type { LineOutput } from "../../observe/line-sink.ts";
import { type Log, openLog } from "../../observe/log.ts";
import type { LoadedConfiguration } from "../../snapshot/configuration.ts";

export interface Base {
  readonly options: ServerOptions;
  readonly loaded: LoadedConfiguration;
  readonly environment: Environment;
  readonly log: Log;
  readonly closing: Closing;
  readonly onFault: (fault: unknown) => void;
}

/** Operators can find a process by it. */
export const processName = (): string => `${hostname()}:${process.pid}`;

/**
 * Time for events, prompts and answers to be written, and for deliveries in flight. Deliveries that are cut off are
 * made after the next start.
 */
export const LAST_WRITES_MS = 2000;

/** What a process is started with, and how it speaks of itself in the log. */
interface Start extends Pick<Base, "options" | "loaded" | "environment"> {
  readonly logOutput: number | LineOutput;
  /** Of a fault that no call and no part has handled. */
  readonly faultMessage: string;
}

/** Opens the log and then everything else; when that throws, parts that were open already are closed again. */
export async function openFromBase<Opened>(
  { logOutput, faultMessage, ...start }: Start,
  openAll: (base: Base) => Promise<Opened>,
): Promise<Opened> {
  const log = openLog({ level: start.options.logLevel, output: logOutput });
  const onFault = (fault: unknown): void =>
    log.error({ error_detail: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) }, faultMessage);
  const closing = openClosing(onFault);
  closing.add(() => log.close());
  try {
    return await openAll({ ...start, log, closing, onFault });
  } catch (thrown) {
    await closing.close();
    throw thrown;
  }
}

// The subject of a measurement, between the load generator and the mock: a server on a loopback port, bound to the
// subject's core, with the processes whose CPU time counts.
import { isolation, packageFolder } from "../../bin/runtime.mjs";
import { MODEL } from "../load/protocols.ts";
import { onCore } from "./process-stats.ts";

export interface Subject {
  readonly port: number;
  readonly pids: readonly number[];
  /** Returns the path, the model and the token of a call for this answer of the mock. */
  readonly target: (answer: string) => Call;
  /** Called between rows. */
  readonly tidy: () => void;
  readonly stop: () => Promise<void>;
}

export interface Call {
  readonly path: string;
  readonly model: string;
  readonly token: string | null;
}

/** Returns the call for a proxy that changes nothing: the mock's own path. */
export function sameCall(answer: string): Call {
  return { path: `/${answer}/v1/chat/completions`, model: MODEL, token: null };
}

const START_MS = 20_000;

/** Returns the command line that runs a script of the project under the same Bun, as the launcher does. */
export function underBun(script: string, ...args: readonly string[]): readonly string[] {
  return [process.execPath, ...isolation(packageFolder), script, ...args];
}

/**
 * Starts one of the benchmark's own servers in a process of its own on `core`. The first line of its output names the
 * port.
 */
export async function startServer(
  command: readonly string[],
  core: number,
): Promise<{ readonly port: number; readonly pid: number; readonly stop: () => Promise<void> }> {
  const child = Bun.spawn(onCore(core, command), { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const first = await within(
    reader.read().then(({ value }) => new TextDecoder().decode(value)),
    `${command.at(-1)} did not say its port`,
  );
  const port = Number(/^port (\d+)/.exec(first)?.[1]);
  if (!Number.isInteger(port)) throw new Error(`${command.join(" ")} did not start: ${first}`);
  return { port, pid: child.pid, stop: () => ended(child) };
}

/** Sends SIGTERM, and SIGKILL to a process that does not exit. */
export async function ended(child: Bun.Subprocess<"ignore", "pipe" | number, "inherit" | number>): Promise<void> {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
  await child.exited;
  clearTimeout(timer);
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(what)), START_MS)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// A gateway with several workers as a test sees it: the processes of its workers, and calls that each open a connection.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sourceCommand } from "./gateway-program.ts";
import { type GatewayProcess, startGateway } from "./gateway-process.ts";

/** The ids of the processes that this one has started and that run. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      const [state, parent] = statOf(candidate);
      return parent === String(pid) && state !== "Z";
    });
}

export const isRunning = (pid: number): boolean => !["", "Z"].includes(statOf(pid)[0] ?? "");

function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** A worker of it computes without end when it gets SIGUSR1: spin-on-signal.ts is loaded before the gateway. */
export function startWorkers(
  workers: number,
  { config, dataFolder }: { readonly config: string; readonly dataFolder?: string },
): Promise<GatewayProcess> {
  const [bun, ...rest] = sourceCommand;
  return startGateway({
    config,
    ...(dataFolder !== undefined && { dataFolder }),
    flags: ["--workers", String(workers)],
    command: [bun!, "--preload", join(import.meta.dir, "spin-on-signal.ts"), ...rest],
  });
}

/** One call on a connection of its own. */
export function callAlone(
  gateway: GatewayProcess,
  body: object,
  { token = gateway.firstToken ?? "", signal }: { readonly token?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  return gateway.chat(body, { token, headers: { connection: "close" }, ...(signal !== undefined && { signal }) });
}

// A gateway with several workers, and calls that each open a connection.
import { join } from "node:path";
import { sourceCommand } from "./processes/gateway-program.ts";
import { type GatewayOptions, type GatewayProcess, startGateway } from "./processes/gateway-process.ts";

/** A worker of it computes without end when it gets SIGUSR1: spin-on-signal.ts is loaded before the gateway. */
export function startWorkers(
  workers: number,
  {
    config,
    dataFolder,
    port = "0",
    environment = {},
  }: Pick<GatewayOptions, "dataFolder" | "environment"> & { readonly config: string; readonly port?: string },
): Promise<GatewayProcess> {
  const [bun, ...rest] = sourceCommand;
  return startGateway({
    config,
    environment,
    ...(dataFolder !== undefined && { dataFolder }),
    flags: ["--workers", String(workers), "--port", port],
    command: [bun!, "--preload", join(import.meta.dir, "processes", "spin-on-signal.ts"), ...rest],
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

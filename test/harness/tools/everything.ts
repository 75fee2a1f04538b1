// @modelcontextprotocol/server-everything as two tool servers: one program that the gateway starts (stdio), one behind an address (Streamable HTTP).
import { fileURLToPath } from "node:url";
import { freePort } from "../processes/free-port.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
const STARTS_WITHIN_MS = 100_000;

export interface EverythingServers {
  /** `tool_servers` of a configuration file: `local` over stdio, `remote` over HTTP. */
  readonly config: string;
  stop(): Promise<void>;
}

export async function startEverything(): Promise<EverythingServers> {
  const port = freePort();
  const child = Bun.spawn([process.execPath, PROGRAM, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  for (const started = Date.now(); !(await answers(url)); await Bun.sleep(50))
    if (child.exitCode !== null || Date.now() - started > STARTS_WITHIN_MS)
      throw new Error("server-everything did not start");
  return {
    config: [
      "tool_servers:",
      `  local: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(PROGRAM)}, stdio], require_approval: never }`,
      `  remote: { url: ${JSON.stringify(url)}, require_approval: never }`,
      "",
    ].join("\n"),
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

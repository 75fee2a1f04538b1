// The protocol's own reference server, `@modelcontextprotocol/server-everything`, as a process behind an address, or as the program that a gateway starts.
import { dirname, join } from "node:path";
import type { ToolTransport } from "../../../src/core/configured/tool.ts";
import { freePort } from "../processes/free-port.ts";

const PROGRAM = join(
  dirname(Bun.resolveSync("@modelcontextprotocol/server-everything/package.json", import.meta.dir)),
  "dist/index.js",
);
const START_MS = 15_000;

export const EVERYTHING_PROGRAM: ToolTransport = {
  kind: "stdio",
  command: process.execPath,
  args: [PROGRAM, "stdio"],
  environment: { COLOUR: "blue" },
  folder: null,
};

export interface EverythingServer {
  readonly url: string;
  /** Another process in its place, which knows no session. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function openEverything(form: "streamableHttp" | "sse"): Promise<EverythingServer> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}/${form === "sse" ? "sse" : "mcp"}`;
  const start = async (): Promise<Bun.Subprocess> => {
    const child = Bun.spawn([process.execPath, PROGRAM, form], {
      env: { ...process.env, PORT: String(port) },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    const endsMs = performance.now() + START_MS;
    while (!(await answers(port))) {
      if (performance.now() > endsMs || child.exitCode !== null) {
        child.kill("SIGKILL");
        throw new Error(`the reference server did not start as ${form}`);
      }
      await Bun.sleep(20);
    }
    return child;
  };
  let child = await start();
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    url,
    stop,
    async restart() {
      await stop();
      child = await start();
    },
  };
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/nothing`);
    return true;
  } catch {
    return false;
  }
}

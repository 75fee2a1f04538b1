// The real process on real sockets: started on a free port with a data folder of its own, stopped by its id.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gatewayCommand } from "./gateway-program.ts";
import { childrenOf, isRunning, type Run, runToEnd } from "./processes.ts";
import { until } from "../time/until.ts";

export interface GatewayProcess {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly pid: number;
  /** Where it was started. */
  readonly folder: string;
  readonly dataFolder: string;
  /** The token of the first start, without special permissions; null on a later start. */
  readonly firstToken: string | null;
  /** Everything on standard output so far. */
  output(): string;
  /** Everything on standard error so far. */
  errors(): string;
  /** Log lines that are JSON. */
  lines(): readonly Record<string, unknown>[];
  /** Makes a token with the command line and waits until the server knows it. */
  createToken(...flags: readonly string[]): Promise<string>;
  chat(
    body: unknown,
    options?: {
      readonly token?: string;
      readonly headers?: Record<string, string>;
      readonly signal?: AbortSignal;
      readonly path?: string;
    },
  ): Promise<Response>;
  rssMb(): number;
  /** Sends the signal, SIGKILL to its workers too, and gives the exit code. Removes the data folder unless it was handed in. */
  stop(signal?: "SIGTERM" | "SIGKILL" | "SIGINT"): Promise<number>;
}

export interface GatewayOptions {
  /** Text of a configuration file. */
  readonly config?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly dataFolder?: string;
  readonly flags?: readonly string[];
  /** What starts the gateway's command line, in place of the executable that the run may have built. */
  readonly command?: readonly string[];
}

const LAST_WORDS_MS = 2000;
/** `DRAGOMAN_TEST_WORKERS=2 npm test -- e2e` runs the tests against gateways with so many workers. */
export const WORKERS = process.env["DRAGOMAN_TEST_WORKERS"];

export async function startGateway(options: GatewayOptions = {}): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-test-"));
  const dataFolder = options.dataFolder ?? join(folder, "data");
  const config = join(folder, "dragoman.yaml");
  writeFileSync(config, withoutRepeats(options.config ?? ""));
  const environment = cleanEnvironment({
    ...(WORKERS !== undefined && { DRAGOMAN_WORKERS: WORKERS }),
    ...options.environment,
  });
  const child = Bun.spawn(
    [
      ...(options.command ?? gatewayCommand),
      "serve",
      "--port",
      "0",
      "--data",
      dataFolder,
      "--config",
      config,
      ...(options.flags ?? []),
    ],
    { env: environment, cwd: folder, stdout: "pipe", stderr: "pipe" },
  );
  let output = "";
  let errors = "";
  const collected = Promise.all([
    collect(child.stdout, (text) => (output += text)),
    collect(child.stderr, (text) => (errors += text)),
  ]);
  const started = Date.now();
  while (
    !output.includes("listens on") ||
    (!output.includes("Another access token") && !output.includes("curl http"))
  ) {
    if (child.exitCode !== null || Date.now() - started > 100_000)
      throw new Error(`the gateway did not start: ${errors}${output}`);
    await Bun.sleep(10);
  }
  const url = /listens on (\S+)/.exec(output)![1]!;
  const firstToken = /dgm_pt_\w+/.exec(output)?.[0] ?? null;
  const gateway: GatewayProcess = {
    url,
    pid: child.pid,
    folder,
    dataFolder,
    firstToken,
    output: () => output,
    errors: () => errors,
    lines: () =>
      output
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async createToken(...flags) {
      const made = await runCli(
        ["token", "create", "--data", dataFolder, "--json", "--name", "test", ...flags],
        environment,
      );
      if (made.code !== 0) throw new Error(made.stderr);
      const { token } = JSON.parse(made.stdout) as { token: string };
      await until(async () => {
        const known = await fetch(`${url}/api/v1/models`, { headers: { authorization: `Bearer ${token}` } });
        await known.body?.cancel();
        return known.status !== 401;
      }, "the server knows the new token");
      return token;
    },
    chat: (body, { token = firstToken ?? "", headers = {}, signal, path = "/api/v1/chat/completions" } = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...(signal && { signal }),
      }),
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    async stop(signal = "SIGTERM") {
      const workers = signal === "SIGKILL" ? childrenOf(child.pid) : [];
      child.kill(signal);
      for (const worker of workers) process.kill(worker, signal);
      const code = await child.exited;
      await until(() => !workers.some(isRunning), "the workers have ended");
      // its last words; a program that it has left behind may hold the pipes open
      await Promise.race([collected, Bun.sleep(LAST_WORDS_MS)]);
      if (options.dataFolder === undefined) rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
  return gateway;
}

/** A failure is reported at once: tests of retries configure them. */
function withoutRepeats(config: string): string {
  return /^route_defaults:/m.test(config) ? config : `route_defaults: { retries: 0 }\n${config}`;
}

/** Runs the command line to its end. */
export async function runCli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = cleanEnvironment(),
  cwd: string = tmpdir(),
): Promise<Run> {
  return await runToEnd([...gatewayCommand, ...args], { env: environment, cwd });
}

/** The environment of this process without keys of providers and without settings of a gateway: a test says itself what it wants. */
export function cleanEnvironment(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/(_API_KEY|_TOKEN)$|^DRAGOMAN_|^PORT$|^DATABASE_URL$|^(AWS|AZURE|GOOGLE)_|_PROXY$|_proxy$/.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...own };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) take(decoder.decode(bytes, { stream: true }));
}

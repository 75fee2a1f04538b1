// Load by wrk, which takes a tenth of what the gateway takes for a call, so that the core of the load is not what
// limits the rate (https://github.com/wg/wrk).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onCore } from "../subjects/process-stats.ts";

export interface WrkCall {
  readonly port: number;
  readonly path: string;
  readonly body: string;
  readonly token: string | null;
}

export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

export function wrkProgram(): string | null {
  return Bun.which("wrk");
}

/** `folder` is for the script that says what is sent. Rejects when a call failed, because that is no measurement. */
export async function runWrk(
  program: string,
  folder: string,
  { port, path, body, token }: WrkCall,
  options: { readonly connections: number; readonly seconds: number; readonly core: number },
): Promise<WrkResult> {
  const script = join(folder, "wrk.lua");
  writeFileSync(
    script,
    [
      `wrk.method = "POST"`,
      `wrk.body = [==[${body}]==]`,
      `wrk.headers["content-type"] = "application/json"`,
      ...(token === null ? [] : [`wrk.headers["authorization"] = "Bearer ${token}"`]),
    ].join("\n"),
  );
  const { connections, seconds, core } = options;
  const child = Bun.spawn(
    onCore(core, [
      program,
      "--threads=1",
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      "--latency",
      `--script=${script}`,
      `http://127.0.0.1:${port}${path}`,
    ]),
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  const said = await new Response(child.stdout).text();
  return readWrk(said);
}

/** What wrk prints. Throws when calls failed. */
export function readWrk(said: string): WrkResult {
  const failed = /Non-2xx or 3xx responses: .*|Socket errors: .*/.exec(said)?.[0];
  if (failed !== undefined) throw new Error(`wrk: ${failed}`);
  const ran = /(\d+) requests in ([\d.]+\w+)/.exec(said);
  if (ran === null) throw new Error(`wrk did not say how many requests it sent: ${said}`);
  const quantile = (percent: number): number =>
    microsOf(new RegExp(`^\\s+${percent}%\\s+([\\d.]+\\w+)`, "m").exec(said)?.[1] ?? "");
  return {
    requests: Number(ran[1]),
    seconds: microsOf(ran[2]!) / 1e6,
    p50Micros: quantile(50),
    p99Micros: quantile(99),
  };
}

const UNITS: Readonly<Record<string, number>> = { us: 1, ms: 1000, s: 1e6, m: 60e6 };

function microsOf(words: string): number {
  const [, figure, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(words) ?? [];
  if (unit === undefined) throw new Error(`wrk gave ${JSON.stringify(words)} where a time was expected`);
  return Number(figure) * UNITS[unit]!;
}

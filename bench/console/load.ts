// What consoles that are open cost the callers of the gateway: calls at a steady rate, alone and beside consoles that read without a pause.
import type { ConsolePage } from "../../test/harness/console/chromium.ts";
import { CONSOLE_SCREENS } from "../../test/harness/console/screens.ts";
import type { GatewayProcess } from "../../test/harness/processes/gateway-process.ts";
import { quantile } from "../load/load.ts";

export interface LoadFigures {
  readonly aloneMs: Latency;
  readonly besideMs: Latency;
  /** Requests of the consoles in a second. */
  readonly consoleRate: number;
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

const CALLS_PER_SECOND = 100;
const ROUNDS = 4;
const CONSOLES = 5;
/** People read what they have opened. */
const PAUSE_MS = 250;
const BODY = JSON.stringify({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] });

async function calls(gateway: GatewayProcess, token: string, seconds: number): Promise<readonly number[]> {
  const took: number[] = [];
  const one = async (): Promise<void> => {
    const startedMs = performance.now();
    const answer = await fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: BODY,
    });
    await answer.text();
    took.push(performance.now() - startedMs);
  };
  const running: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let sent = 0; sent < seconds * CALLS_PER_SECOND; sent++) {
    const dueMs = startedMs + (sent * 1000) / CALLS_PER_SECOND;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    running.push(one());
  }
  await Promise.all(running);
  return took;
}

/** What the pages of the console ask for. */
async function asked(made: ConsolePage, scope: string): Promise<readonly string[]> {
  const paths: string[] = [];
  const note = (request: { method(): string; url(): string }): void => {
    if (
      request.method() === "GET" &&
      /\/console\/api\/v1\//.test(request.url()) &&
      !/\/events(\?|$)/.test(request.url())
    )
      paths.push(request.url());
  };
  made.page.on("request", note);
  for (const { path } of CONSOLE_SCREENS) {
    await made.go(scope + path);
    await made.settled();
  }
  made.page.off("request", note);
  return paths;
}

/** Both are measured in turns, because the machine changes meanwhile. */
export async function loadFigures(
  gateway: GatewayProcess,
  made: ConsolePage,
  { token, scope, seconds }: { readonly token: string; readonly scope: string; readonly seconds: number },
): Promise<LoadFigures> {
  const paths = await asked(made, scope);
  const { name, value } = (await made.page.context().cookies())[0]!;
  await made.page.goto("about:blank");
  const alone: number[] = [];
  const beside: number[] = [];
  let requests = 0;
  let isBusy = false;
  const console_ = async (first: number): Promise<void> => {
    for (let at = first; isBusy; at++) {
      const answer = await fetch(paths[at % paths.length]!, {
        headers: { cookie: `${name}=${value}`, "sec-fetch-site": "same-origin" },
      });
      await answer.arrayBuffer();
      requests++;
      await Bun.sleep(PAUSE_MS / 4);
    }
  };
  await calls(gateway, token, 2);
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(...(await calls(gateway, token, seconds)));
    isBusy = true;
    const consoles = Array.from({ length: CONSOLES }, (_, index) => console_(index * 7));
    beside.push(...(await calls(gateway, token, seconds)));
    isBusy = false;
    await Promise.all(consoles);
  }
  const latency = (values: readonly number[]): Latency => {
    const sorted = Float64Array.from(values).toSorted();
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
  };
  return { aloneMs: latency(alone), besideMs: latency(beside), consoleRate: requests / (ROUNDS * seconds) };
}

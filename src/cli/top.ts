// `dragoman top`: shows live how a running gateway performs. It reads /metrics and /readyz?verbose: on the gateway's
// machine without a token, from elsewhere with an operator's token, or one with the permission `ops`.

// Decides (records and configuration): Which gateway does `dragoman top` show? By: `readGateway`. Also:
// `diagnostics/top/figures.ts` (`figuresOf`). Rule: The one that answers at the address, with all of its workers.
// Behind a load balancer each reading may be of another one, so name a gateway itself.
import type { Environment } from "../config/environment.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { isObject, type Json, type JsonObject, jsonIn } from "../core/json.ts";
import { messageOf } from "../core/thrown.ts";
import type { GatewayFlags } from "./admin/client.ts";
import { hasReader, printError, printLine } from "./output.ts";
import { parseExposition } from "../diagnostics/top/exposition.ts";
import { type Figures, figuresOf, type Reading } from "../diagnostics/top/figures.ts";
import { plainText, screenOf, type View } from "../diagnostics/top/screen.ts";
import { openTerminal } from "../diagnostics/top/terminal.ts";
import { gatewayUrl } from "./gateway-url.ts";

export interface TopFlags extends GatewayFlags {
  /** Seconds. */
  readonly interval?: number;
  readonly once?: true;
}

const READ_MS = 5000;
/** Rates are those of the last ten seconds, because rates of a single second fluctuate too much. */
const WINDOW_MS = 10_000;

/** Returns the exit code. Throws Error when the gateway cannot be read at the start. */
export async function top(flags: TopFlags, environment: Environment): Promise<number> {
  const url = gatewayUrl(flags, environment);
  const token = flags.token ?? environment.get("DRAGOMAN_TOKEN") ?? null;
  const intervalMs = (flags.interval ?? 1) * 1000;
  const read = (): Promise<Reading> => readGateway(url, token, systemClock);
  const first = await read();
  if (flags.once === true || (flags.json !== true && !process.stdout.isTTY)) {
    await Bun.sleep(intervalMs);
    const figures = figuresOf(first, await read());
    printLine(
      flags.json === true
        ? linesOf(url, figures)
        : plainText(screenOf({ url, figures, offline: null }, { columns: 100, rows: 1000 })),
    );
    return 0;
  }
  return flags.json === true
    ? await printed(url, read, first, intervalMs)
    : await shown(
        url,
        read,
        first,
        intervalMs,
        environment.get("NO_COLOR") === undefined && environment.get("TERM") !== "dumb",
      );
}

function linesOf(url: string, figures: Figures): string {
  return JSON.stringify({ url, ...figures });
}

/**
 * Prints a line of JSON for each reading until its reader ends. A reading that fails is reported on standard error.
 */
async function printed(url: string, read: () => Promise<Reading>, first: Reading, intervalMs: number): Promise<number> {
  let before: Reading | null = first;
  while (hasReader()) {
    await Bun.sleep(intervalMs);
    try {
      const now = await read();
      if (before !== null) printLine(linesOf(url, figuresOf(before, now)));
      before = now;
    } catch (thrown) {
      before = null;
      printError(messageOf(thrown));
    }
  }
  return 0;
}

/** Runs until q or Ctrl-C. A gateway that becomes unreachable is awaited. */
async function shown(
  url: string,
  read: () => Promise<Reading>,
  first: Reading,
  intervalMs: number,
  hasColour: boolean,
): Promise<number> {
  let view: View = { url, figures: null, offline: null };
  let end = (): void => {};
  const ended = new Promise<true>((resolve) => (end = () => resolve(true)));
  const terminal = openTerminal({ onEnd: () => end(), onResize: () => draw() }, hasColour);
  const draw = (): void => terminal.show(screenOf(view, terminal.size()));
  try {
    let readings: readonly Reading[] = [first];
    let awaySinceMs: number | null = null;
    draw();
    while ((await Promise.race([ended, Bun.sleep(intervalMs)])) !== true) {
      try {
        const now = await Promise.race([read(), ended]);
        if (now === true) break;
        readings = [...recent(readings, now), now];
        awaySinceMs = null;
        view = { url, figures: readings.length > 1 ? figuresOf(readings[0]!, now) : view.figures, offline: null };
      } catch (thrown) {
        awaySinceMs ??= systemClock.monotonic();
        readings = [];
        view = {
          ...view,
          offline: {
            message: messageOf(thrown).replace(`The gateway at ${url} `, ""),
            forMs: systemClock.monotonic() - awaySinceMs,
          },
        };
      }
      draw();
    }
  } finally {
    terminal.close();
  }
  return 0;
}

/** The readings of the window, including one just outside of it, because rates cover a whole window. */
export function recent(readings: readonly Reading[], now: Reading): readonly Reading[] {
  const from = readings.findLastIndex(({ atMs }) => now.atMs - atMs >= WINDOW_MS);
  return readings.slice(Math.max(0, from));
}

/** Throws an Error with a message for the user. */
async function readGateway(url: string, token: string | null, clock: Clock): Promise<Reading> {
  const [metrics, standing] = await Promise.all([
    readPath(url, "/metrics", token),
    readPath(url, "/readyz?verbose", token),
  ]);
  const body = jsonIn(standing);
  if (!isObject(body) || !("status" in body) || !metrics.includes("dragoman_"))
    throw new Error(
      `The server at ${url} is not a Dragoman gateway. Set the gateway's address with --url or DRAGOMAN_URL.`,
    );
  return { atMs: clock.monotonic(), metrics: parseExposition(metrics), standing: body };
}

async function readPath(url: string, path: string, token: string | null): Promise<string> {
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${url}${path}`, {
      redirect: "manual",
      signal: AbortSignal.timeout(READ_MS),
      ...(token !== null && { headers: { authorization: `Bearer ${token}` } }),
    });
    ({ status } = response);
    text = await response.text();
  } catch (thrown) {
    throw new Error(`The gateway at ${url} cannot be reached: ${messageOf(thrown)}`, { cause: thrown });
  }
  // A gateway that is not ready still returns its state.
  if (status === 200 || (status === 503 && path !== "/metrics")) return text;
  throw new Error(refusalText(jsonIn(text), status, url));
}

function refusalText(body: Json | undefined, status: number, url: string): string {
  const error: JsonObject | null = isObject(body) && isObject(body["error"]) ? body["error"] : null;
  const message = typeof error?.["message"] === "string" ? error["message"] : `HTTP status ${status}`;
  return `The gateway at ${url} cannot be read: ${message}${status === 401 || status === 403 ? " From another machine `dragoman top` needs a token with the permission ops, or a personal token of an operator (DRAGOMAN_TOKEN or --token)." : ""}`;
}

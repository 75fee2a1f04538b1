// `dragoman health`: asks a running gateway whether it accepts calls, for health checks of containers and supervisors
// that have no HTTP client of their own.
import { get as getPlain } from "node:http";
import { get as getSecure } from "node:https";
import { text } from "node:stream/consumers";
import type { Environment } from "../config/environment.ts";
import { calledLocally } from "../config/loopback.ts";
import { messageOf } from "../core/thrown.ts";
import { gatewayUrl } from "./gateway-url.ts";
import { printError, printLine } from "./output.ts";

export interface HealthFlags {
  readonly url?: string;
  /** Whether the process runs, in place of whether it accepts calls. */
  readonly live?: true;
}

/** Shorter than the time for which container engines wait by default. */
const LIMIT_MS = 5000;

/** Returns the exit code: 0 when the gateway is well, 1 when it is not or does not answer within five seconds. */
export async function health(flags: HealthFlags, environment: Environment): Promise<number> {
  const url = `${flags.url !== undefined ? gatewayUrl(flags, environment) : ownUrl(environment)}${flags.live === true ? "/healthz" : "/readyz"}`;
  try {
    const { status, body } = await asked(url);
    if (status === 200) {
      printLine(flags.live === true ? "live" : "ready");
      return 0;
    }
    printError(`${url} answered ${status}: ${body.slice(0, 500).trim()}`);
  } catch (thrown) {
    printError(`${url} cannot be read: ${messageOf(thrown)}`);
  }
  return 1;
}

/** Asks directly, whatever proxy the environment names: the gateway is on this machine as a rule. */
async function asked(url: string): Promise<{ readonly status: number; readonly body: string }> {
  const get = url.startsWith("https:") ? getSecure : getPlain;
  return await new Promise((resolve, reject) => {
    const request = get(url, { signal: AbortSignal.timeout(LIMIT_MS) }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    });
    request.on("error", reject);
  });
}

/** Of DRAGOMAN_URL, or where a gateway of the same environment listens. */
function ownUrl(environment: Environment): string {
  const { host, port } = environment;
  if (environment.get("DRAGOMAN_URL") !== undefined || (host === null && port === null))
    return gatewayUrl({}, environment);
  const address = calledLocally(host ?? "127.0.0.1");
  return `http://${/^[^[].*:/.test(address) ? `[${address}]` : address}:${port ?? 4100}`;
}

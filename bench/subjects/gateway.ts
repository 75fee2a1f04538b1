// The gateway as it is delivered: `dragoman serve` in a process of its own, with all defaults, its log written to a
// file at the default level.
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment } from "../../test/harness/processes/gateway-process.ts";
import { ANSWERS, CACHED_ANSWER, CACHED_STREAM, ROUTED_ANSWER } from "../load/answers.ts";
import { NATIVE } from "./fronts.ts";
import { MODEL, PROTOCOLS } from "../load/protocols.ts";
import { onAnyCore, onCore } from "./process-stats.ts";
import { ended, type Subject } from "./subject.ts";
import { gatewayCommand, sourceCommandOf } from "../../test/harness/processes/gateway-program.ts";
import { untilFound } from "../../test/harness/time/until.ts";
import { OPERATORS_KEY } from "./operators-key.ts";

/** What differs from the gateway as delivered. */
export interface OwnSetup {
  /** Added to the configuration file. */
  readonly configuration?: string;
  /** A data folder with a token to call with, in place of an empty one. */
  readonly data?: { readonly folder: string; readonly token: string };
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder of another checkout, whose gateway is started in place of this one. */
  readonly checkout?: string;
}

/** `folder` is an empty one for the gateway's data, log and configuration. With `core` null it may use every core. */
export async function startGateway(
  folder: string,
  mockPort: number,
  core: number | null,
  own: OwnSetup = {},
): Promise<Subject> {
  mkdirSync(folder);
  const config = join(folder, "dragoman.yaml");
  const logFile = join(folder, "log");
  writeFileSync(config, `${configuration(mockPort)}${own.configuration ?? ""}`);
  // the log is a file, because a pipe that is not emptied in time would block the gateway; it is opened for appending,
  // so that it can be truncated between rows
  const log = openSync(logFile, "a");
  const data = own.data?.folder ?? join(folder, "data");
  const program = own.checkout === undefined ? gatewayCommand : sourceCommandOf(own.checkout);
  const command = [...program, "serve", "--port", "0", "--data", data, "--config", config];
  const child = Bun.spawn(core === null ? onAnyCore(command) : onCore(core, command), {
    cwd: folder,
    env: cleanEnvironment(own.environment),
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  try {
    const started = await untilFound(() => {
      const said = readFileSync(logFile, "utf8");
      if (child.exitCode !== null) throw new Error(`the gateway did not start: ${said}`);
      const port = /listens on http:\/\/\S+:(\d+)/.exec(said)?.[1];
      const token = own.data?.token ?? /^ *(dgm_pt_\w+)$/m.exec(said)?.[1];
      return port === undefined || token === undefined || (own.data === undefined && !said.includes("curl http"))
        ? null
        : { port: Number(port), token };
    }, "the gateway says where it listens");
    return {
      port: started.port,
      pids: [child.pid],
      target: (answer) => ({
        path: "/api/v1/chat/completions",
        model: ROUTES.get(answer) ?? `${answer}:${MODEL}`,
        token: started.token,
      }),
      tidy: () => truncateSync(logFile),
      stop: () => ended(child),
    };
  } catch (thrown) {
    await ended(child);
    throw thrown;
  }
}

/** A route of three targets with breakers, retries and a fallback, none of which is needed. */
const ROUTE = "bench";
/** By the answer that is requested by the name of a route. */
const ROUTES: ReadonlyMap<string, string> = new Map([
  [ROUTED_ANSWER, ROUTE],
  [CACHED_ANSWER, "cached"],
  [CACHED_STREAM, "cached-stream"],
]);

/** Has one provider for each answer of the mock; they differ only in their family. */
function configuration(mockPort: number): string {
  const providers = [...ANSWERS.keys()].map((answer) => {
    const address = `http://127.0.0.1:${mockPort}/${answer}`;
    const protocol = [...PROTOCOLS, ...NATIVE].find(({ id }) => answer.startsWith(`${id}-`));
    return `  ${answer}: ${protocol === undefined ? `{ type: custom, base_url: "${address}/v1", api_key: ${OPERATORS_KEY} }` : protocol.entry(address)}`;
  });
  const targets = ["", "-2", "-3"].map((suffix) => `${ROUTED_ANSWER}:${MODEL}${suffix}`);
  const route = `  ${ROUTE}: { strategy: priority, targets: [${targets.map((target) => `"${target}"`).join(", ")}], retries: 2, fallbacks: ["openai-plain:${MODEL}"] }`;
  const cached = [CACHED_ANSWER, CACHED_STREAM].map(
    (answer) => `  ${ROUTES.get(answer)!}: { targets: ["${answer}:${MODEL}"], cache: { ttl_s: 86400 } }`,
  );
  const tenant = "tenants: { default: { settings: { cache_allowed: true } } }";
  return `providers:\n${providers.join("\n")}\nroutes:\n${route}\n${cached.join("\n")}\n${tenant}\n`;
}

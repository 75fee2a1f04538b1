// The gateway as it is delivered: `dragoman serve` in a process of its own, every default left alone, its log at the default level written to a file.
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageFolder } from "../bin/runtime.mjs";
import { cleanEnvironment } from "../test/harness/gateway-process.ts";
import { ANSWERS, ROUTED_ANSWER } from "./answers.ts";
import { MODEL, PROTOCOLS } from "./protocols.ts";
import { onCore } from "./process-stats.ts";
import { ended, type Subject, underBun, until } from "./subject.ts";

/** What is not as it is delivered: more of the configuration, and data that is there already with a token to call with. */
export interface OwnSetup {
  readonly configuration: string;
  readonly data: string;
  readonly token: string;
}

/** `folder` is a new one, for its data, its log and its configuration. */
export async function startGateway(
  folder: string,
  mockPort: number,
  core: number,
  own: OwnSetup | null = null,
): Promise<Subject> {
  mkdirSync(folder);
  const config = join(folder, "dragoman.yaml");
  const logFile = join(folder, "log");
  writeFileSync(config, `${configuration(mockPort)}${own?.configuration ?? ""}`);
  // a file and no pipe, because a pipe that nobody empties in time would hold the gateway up; appending, so that it can be emptied between rows
  const log = openSync(logFile, "a");
  const command = underBun(
    join(packageFolder, "src", "main.ts"),
    "serve",
    "--port",
    "0",
    "--data",
    own?.data ?? join(folder, "data"),
    "--config",
    config,
  );
  const child = Bun.spawn(onCore(core, command), {
    cwd: folder,
    env: cleanEnvironment(),
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  try {
    const started = await until(() => {
      const said = readFileSync(logFile, "utf8");
      if (child.exitCode !== null) throw new Error(`the gateway did not start: ${said}`);
      const port = /listens on http:\/\/\S+:(\d+)/.exec(said)?.[1];
      const token = own?.token ?? /^ *(dgm_pt_\w+)$/m.exec(said)?.[1];
      return port === undefined || token === undefined || (own === null && !said.includes("curl http"))
        ? null
        : { port: Number(port), token };
    }, "the gateway did not say where it listens");
    return {
      port: started.port,
      pids: [child.pid],
      target: (answer) => ({
        path: "/api/v1/chat/completions",
        model: answer === ROUTED_ANSWER ? ROUTE : `${answer}:${MODEL}`,
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

/** Three targets with breakers, repeats and a fallback armed, none of which is needed. */
const ROUTE = "bench";

/** One provider for each answer of the mock, all alike but for the family. */
function configuration(mockPort: number): string {
  const providers = [...ANSWERS.keys()].map((answer) => {
    const address = `http://127.0.0.1:${mockPort}/${answer}`;
    const protocol = PROTOCOLS.find(({ id }) => answer.startsWith(`${id}-`));
    return `  ${answer}: ${protocol === undefined ? `{ type: custom, base_url: "${address}/v1" }` : protocol.entry(address)}`;
  });
  const targets = ["", "-2", "-3"].map((suffix) => `${ROUTED_ANSWER}:${MODEL}${suffix}`);
  const route = `  ${ROUTE}: { strategy: priority, targets: [${targets.map((target) => `"${target}"`).join(", ")}], retries: 2, fallbacks: ["openai-plain:${MODEL}"] }`;
  return `providers:\n${providers.join("\n")}\nroutes:\n${route}\n`;
}

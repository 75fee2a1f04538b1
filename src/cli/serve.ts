// `dragoman serve`: starts the gateway, prints its address, and shuts it down on a signal.
import { realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { type Environment, workerIdentity } from "../config/environment.ts";
import { resolveServerOptions, type ServerFlags, type ServerOptions } from "../snapshot/server-options.ts";
import { calledUrl } from "../config/loopback.ts";
import { MASTER_KEY_VARIABLES } from "../config/master-key.ts";
import { FIRST_USER } from "../auth/first-identities.ts";
import { loginLinkAddress, makeLoginLink } from "../auth/logins/login-links.ts";
import { systemClock } from "../core/clock.ts";
import { isEmbedded } from "../core/concurrency/thread-file.ts";
import { VERSION } from "../core/version.ts";
import { isConsoleBuilt } from "../process/parts/built-console.ts";
import { type Gateway, openGateway } from "../process/gateway.ts";
import { openSupervisor } from "../process/supervisor.ts";
import { runWorker } from "../process/worker.ts";
import { isTerminal, localAddress } from "./database/console-link.ts";
import { withOpenDatabase } from "./database/database.ts";
import type { Launcher } from "./launcher.ts";
import { namedConfiguration } from "./named-configuration.ts";
import { printError, printLine } from "./output.ts";

/** Runs until a signal ends it. Returns the exit code. */
export async function serve(flags: ServerFlags, environment: Environment, launcher: Launcher): Promise<number> {
  const worker = workerIdentity();
  if (worker !== null) return process.exit(await runWorker(worker, flags, environment));
  const opened = Promise.withResolvers<Gateway>();
  // By default these signals end the process, also one that is starting, which may wait for its database.
  process.on("SIGHUP", () => void opened.promise.then((gateway) => gateway.reload()));
  process.on("SIGUSR2", () => void opened.promise.then(restarted));
  const loaded = namedConfiguration(flags, environment);
  const options = resolveServerOptions({ flags, environment, file: loaded.configuration });
  let gateway: Gateway;
  try {
    gateway = await (options.workers === 1 ? openGateway : openSupervisor)(options, loaded, environment);
  } catch (thrown) {
    const message = startFailure(thrown, options);
    if (message === null) throw thrown;
    printError(message);
    // The log's timer and the store would keep the process alive although it serves nothing.
    process.exit(1);
  }
  opened.resolve(gateway);
  const end = ended(gateway, launcher);
  // Log lines of the start about the data come before the line that says that it is complete.
  await gateway.logged();
  greet(gateway, options, loaded.file, environment);
  if (options.hasConsole && isConsoleBuilt()) await greetWithConsole(gateway, options, loaded.file, environment);
  return await end;
}

async function restarted(gateway: Gateway): Promise<void> {
  if (gateway.restart === undefined) printError("no workers to restart: server.workers is 1");
  else await gateway.restart();
}

function startFailure(
  thrown: unknown,
  { host, port }: { readonly host: string; readonly port: number },
): string | null {
  const { code, syscall } = (thrown ?? {}) as { readonly code?: unknown; readonly syscall?: unknown };
  // the same codes come from files
  if (syscall !== "listen") return null;
  if (code === "EADDRINUSE")
    return `port ${port} on ${host} is in use; stop what listens there, or start with --port <another> (PORT=<another>)`;
  if (code === "EACCES")
    return `port ${port} on ${host} may not be opened by this user; start with --port <another> above 1023`;
  if (code === "EADDRNOTAVAIL")
    return `the address ${host} is not one of this machine; start with --host <another> (DRAGOMAN_HOST=<another>)`;
  return null;
}

function greet(gateway: Gateway, options: ServerOptions, configFile: string | null, environment: Environment): void {
  printLine(`Dragoman ${VERSION} listens on ${gateway.url} (data in ${options.dataFolder})`);
  if (gateway.firstToken === null) {
    const { variables, flags } = wayToDatabase(options, configFile, environment);
    const where = variables.length === 0 ? "" : ` (with this gateway's ${variables.join(", ")} in the environment)`;
    printLine(`Another access token${where}: ${[commandHere(), "token create", ...flags].join(" ")} --name <name>`);
    return;
  }
  printLine(`\nAccess token, shown this once:\n\n  ${gateway.firstToken}\n\nTry it:\n`);
  printLine(
    `curl ${calledUrl(gateway.url)}/api/v1/chat/completions -H "Authorization: Bearer ${gateway.firstToken}" -H "Content-Type: application/json" -d '{"model": "sandbox:echo", "messages": [{"role": "user", "content": "Hello, Dragoman!"}]}'\n`,
  );
}

/** Addresses are written without it. */
const HTTP_PORT = 80;

/** The first start in a terminal gives a link that logs in; at any other, the person has a token or makes a link. */
async function greetWithConsole(
  gateway: Gateway,
  options: ServerOptions,
  configFile: string | null,
  environment: Environment,
): Promise<void> {
  const port = Number(new URL(gateway.url).port || HTTP_PORT);
  const base = localAddress(port);
  if (gateway.firstToken === null || !isTerminal()) {
    const { variables, flags } = wayToDatabase(options, configFile, environment);
    const where = variables.length === 0 ? "" : `, with this gateway's ${variables.join(", ")} in the environment,`;
    const command = [commandHere(), "console link", ...flags, `--port ${port}`].join(" ");
    printLine(`Console: ${base}/console/ (log in with a personal token, or${where} with: ${command})`);
    return;
  }
  const { code, user } = await withOpenDatabase({ ...options, environment }, ({ store }) =>
    makeLoginLink(store, { userId: FIRST_USER, permissions: [] }, systemClock.now()),
  );
  printLine(`Console, logged in as ${user.id} by this link, once, within ten minutes:\n`);
  printLine(`  ${loginLinkAddress(base, code)}\n`);
}

/**
 * What leads a command to this gateway's database and its master key. PostgreSQL is found by `DATABASE_URL`, or else by
 * the configuration file that names it; the data folder then matters only when it holds the key. The variables are
 * given by name, because their values are secrets.
 */
function wayToDatabase(
  { databaseUrl, dataFolder }: ServerOptions,
  configFile: string | null,
  environment: Environment,
): { readonly variables: readonly string[]; readonly flags: readonly string[] } {
  const key = MASTER_KEY_VARIABLES.find((name) => environment.get(name) !== undefined);
  const isUrlInFile = databaseUrl !== null && environment.databaseUrl === null;
  return {
    variables: [...(environment.databaseUrl === null ? [] : ["DATABASE_URL"]), ...(key === undefined ? [] : [key])],
    flags: [
      ...(isUrlInFile && configFile !== null ? [`--config ${quoted(configFile)}`] : []),
      ...(databaseUrl === null || key === undefined ? [`--data ${quoted(dataFolder)}`] : []),
    ],
  };
}

/**
 * The command that runs the command line in this folder, ready to be pasted. It has a name only where that is on the PATH
 * of every shell: `npx` puts it there for its own run alone, and would ask the registry for it at the next one.
 */
function commandHere(): string {
  if (isEmbedded(import.meta.url)) return quoted(process.execPath);
  const launcher = join(import.meta.dir, "../../bin/dragoman.mjs");
  const named = Bun.which("dragoman");
  const isInstalled = named !== null && !named.split(sep).includes("node_modules") && realpathSync(named) === launcher;
  return isInstalled ? "dragoman" : `node ${quoted(relative(process.cwd(), launcher))}`;
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** A signal to the whole process group arrives twice: once directly and once through npm or the launcher. */
const SAME_SIGNAL_MS = 1500;

/**
 * The first SIGTERM or SIGINT drains, the next one cuts the remaining calls, and a third one ends the process at once.
 * The end of the launcher counts as a first signal: it does not cut calls.
 */
function ended(gateway: Gateway, launcher: Launcher): Promise<number> {
  return new Promise((resolve) => {
    let signals = 0;
    let lastMs = Number.NEGATIVE_INFINITY;
    const end = (): void => {
      const nowMs = systemClock.monotonic();
      if (nowMs - lastMs <= SAME_SIGNAL_MS) return;
      lastMs = nowMs;
      signals++;
      if (signals === 1)
        closed(gateway).then(
          () => leave(signals === 1 ? 0 : 1),
          (fault: unknown) => {
            printError(String(fault));
            leave(1);
          },
        );
      else if (signals === 2) gateway.hurry();
      else leave(1);
    };
    const leave = (code: number): never => {
      resolve(code);
      return process.exit(code);
    };
    process.on("SIGTERM", end);
    process.on("SIGINT", end);
    launcher.whenGone(() => {
      if (signals > 0) return;
      printError("the launcher has ended; the gateway stops as on SIGTERM");
      end();
    });
  });
}

async function closed(gateway: Gateway): Promise<void> {
  const cut = await gateway.close();
  if (cut > 0)
    printError(
      `${cut} ${cut === 1 ? "call was" : "calls were"} still in flight when the drain ended; ${cut === 1 ? "its client" : "their clients"} received the error shutting_down`,
    );
}

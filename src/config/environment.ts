// The only reader of the process's environment, which is read once at the start. This file defines what a variable
// means; snapshot/server-options.ts defines what overrides what.
import { HOST, isDatabaseUrl, LOG_LEVELS } from "./sections.ts";
import { isValkeyUrl } from "./valkey-address.ts";
import { EXPECTED_WORKERS, parseWorkerCount } from "./worker-count.ts";
import { ConfigurationError, problemIn, type ConfigurationProblem } from "./problem.ts";

/**
 * The variables that the gateway itself reads; in addition there are the keys of providers, and the variables that the
 * file names in `${NAME}`.
 */
export const VARIABLES = {
  PORT: "Port to listen on.",
  DRAGOMAN_HOST: "Address to listen on.",
  DRAGOMAN_WORKERS: "Number of processes that serve calls, or `auto`.",
  DRAGOMAN_DATA: "Folder of everything that the gateway writes.",
  DATABASE_URL:
    "Address of a PostgreSQL database, `postgresql://user:password@host:port/database`, instead of SQLite in the data folder.",
  DRAGOMAN_MASTER_KEY:
    "Master key that encrypts the secrets in the database: 32 bytes in base64. Of several keys, separated by commas, the first encrypts and all decrypt.",
  DRAGOMAN_MASTER_KEY_FILE:
    "Absolute path of a file with the master key, one key per line. Without both variables, SQLite uses `master.key` in the data folder, which the first start creates.",
  DRAGOMAN_FIRST_TOKEN:
    "Text of the project token that the first start makes, `dgm_pt_<id>_<secret>`, which is then not printed; `dragoman token text` makes one.",
  DRAGOMAN_FIRST_TOKEN_FILE:
    "Absolute path of a file with the text of the first token, in place of DRAGOMAN_FIRST_TOKEN.",
  DRAGOMAN_BACKUP_PASSPHRASE: "Passphrase with which `dragoman backup` encrypts, and with which its files are read.",
  DRAGOMAN_CONFIG: "Configuration file. The default is `dragoman.yaml` in the working directory, if it exists.",
  DRAGOMAN_URL: "Address of the gateway that the command line administers.",
  DRAGOMAN_TOKEN: "Access token with which the command line calls the gateway.",
  DRAGOMAN_LOG_LEVEL: `Lowest level that is logged: ${LOG_LEVELS.join(", ")}.`,
  DRAGOMAN_LIMIT_STORE_URL:
    "Address of the Valkey or Redis in which replicas share their limits: `redis://user:password@host:6379/0`.",
  NO_PROXY:
    "Hosts that are called directly although `server.upstream_proxy` is set, separated by commas: names, which stand for their subdomains too, addresses, ranges such as `10.0.0.0/8`, each name or address also with a port, or `*` for all. `no_proxy` overrides it.",
  DRAGOMAN_ALLOW_PRIVATE_ADDRESSES:
    "Whether addresses in requests may be in private networks: `1` allows them, `0` forbids them; it overrides the file.",
} as const;
type Variable = keyof typeof VARIABLES;

export type Environment = ReturnType<typeof readEnvironment>;

/** A name that a variable may have. */
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * Copies the source, so that later changes have no effect. Throws ConfigurationError when a variable has an invalid
 * value.
 */
export function readEnvironment(source: Readonly<Record<string, string | undefined>> = process.env) {
  const values = new Map(
    Object.entries(source).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  );
  const problems: ConfigurationProblem[] = [];
  const read = <T>(name: Variable, expected: string, parse: (text: string) => T | undefined): T | null => {
    const text = values.get(name);
    if (text === undefined) return null;
    const value = parse(text.trim());
    if (value === undefined) problems.push(problemIn("environment", `expected ${expected}`, name));
    return value ?? null;
  };
  const text = (value: string): string | undefined => value || undefined;
  const environment = Object.freeze({
    port: read("PORT", "a port from 0 to 65535", parsePort),
    host: read("DRAGOMAN_HOST", "a host name or an address, without scheme and port", parseHost),
    workers: read("DRAGOMAN_WORKERS", EXPECTED_WORKERS, parseWorkerCount),
    dataFolder: read("DRAGOMAN_DATA", "a path", text),
    databaseUrl: read("DATABASE_URL", "an address such as postgresql://user:password@host:5432/dragoman", (value) =>
      isDatabaseUrl(value) ? value : undefined,
    ),
    configFile: read("DRAGOMAN_CONFIG", "a path", text),
    logLevel: read("DRAGOMAN_LOG_LEVEL", `one of ${LOG_LEVELS.join(", ")}`, (value) =>
      LOG_LEVELS.find((level) => level === value.toLowerCase()),
    ),
    limitStoreUrl: read("DRAGOMAN_LIMIT_STORE_URL", "an address that begins with redis:// or rediss://", (value) =>
      isValkeyUrl(value) ? value : undefined,
    ),
    allowPrivateAddresses: read("DRAGOMAN_ALLOW_PRIVATE_ADDRESSES", "1 or 0", parseSwitch),
    // Most programs accept both spellings and prefer the lower case.
    noProxy: values.get("no_proxy") ?? read("NO_PROXY", "a list of hosts", text),
    /** Any variable, as for `${NAME}` in the file and the keys of providers. Undefined when it is not set or empty. */
    get: (name: string) => values.get(name),
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  return environment;
}

/**
 * Whether the launcher (bin/runtime.mjs) has started this process. The variable is not among VARIABLES, because
 * operators do not set it.
 */
export function isLaunched(): boolean {
  return process.env["DRAGOMAN_LAUNCHER"] !== undefined;
}

/** How a worker finds the supervisor that started it. */
export interface WorkerIdentity {
  readonly id: string;
  /** The path of the channel's socket. */
  readonly channel: string;
}

const WORKER = "DRAGOMAN_WORKER";

/** `null` in a process that no supervisor has started. */
export function workerIdentity(): WorkerIdentity | null {
  const [, id, channel] = /^([\w-]+):(.+)$/s.exec(process.env[WORKER] ?? "") ?? [];
  return id === undefined || channel === undefined ? null : { id, channel };
}

/** The environment of a worker: this process's own, without what belongs to its launcher. */
export function workerEnvironment({ id, channel }: WorkerIdentity): Readonly<Record<string, string | undefined>> {
  const { DRAGOMAN_LAUNCHER: _launcher, NODE_CHANNEL_FD: _channel, ...own } = process.env;
  return { ...own, [WORKER]: `${id}:${channel}` };
}

export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  return port <= 65_535 ? port : undefined;
}

export function parseHost(text: string): string | undefined {
  return HOST.test(text) ? text : undefined;
}

function parseSwitch(text: string): boolean | undefined {
  if (text === "1" || text === "true") return true;
  return text === "0" || text === "false" ? false : undefined;
}

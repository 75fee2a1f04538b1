// Resolves the server's options: a flag of the command line overrides the environment, which overrides the file, which
// overrides the default. The driver `memory` of `limit_store` in the file also switches off an address in the environment.
// Of providers, the entry in the file precedes the environment (provider-table.ts).
import { existsSync } from "node:fs";
import { parseHost, parsePort, type Environment } from "../config/environment.ts";
import { listensLocally } from "../config/loopback.ts";
import { EXPECTED_WORKERS, parseWorkerCount, usableWorkers, type WorkerCount } from "../config/worker-count.ts";
import { ConfigurationError, problemIn, type ConfigurationProblem } from "../config/problem.ts";
import type { LogLevel, PlaceSettings } from "../config/sections.ts";
import type { LimitStoreSettings } from "../admission/limit-store-settings.ts";
import type { ConsoleSettings } from "../auth/logins/console-settings.ts";
import type { CacheStoreSettings } from "../cache/cache-settings.ts";
import type { AuditSettings } from "../store/audit/audit-settings.ts";
import type { CallSettings } from "../store/calls/call-retention.ts";
import type { LedgerSettings } from "../store/journal/ledger-settings.ts";
import type { ProxySettings } from "../wire/http/http-proxy.ts";

/** The flags as they come from the command line, unchecked. */
export interface ServerFlags {
  readonly port?: string | number | undefined;
  readonly host?: string | undefined;
  readonly workers?: string | number | undefined;
  readonly data?: string | undefined;
  readonly config?: string | undefined;
}

export type ServerOptions = Readonly<ReturnType<typeof resolveServerOptions>>;

/** The part of the file that is read once, at the start, with its defaults filled in, but for `integrations`. */
export interface StartOptions {
  readonly server: PlaceSettings;
  readonly log: { readonly level: LogLevel };
  readonly limit_store: LimitStoreSettings;
  readonly ledger: LedgerSettings;
  readonly cache: CacheStoreSettings;
  readonly calls: CallSettings;
  readonly audit: AuditSettings;
  readonly console: Pick<ConsoleSettings, "enabled">;
}

export const DEFAULT_CONFIG_FILE = "dragoman.yaml";

/**
 * The configuration file to read, or null for none: `dragoman.yaml` is read if it exists, and a named file is read in
 * any case, so that reading reports when it does not exist.
 */
export function resolveConfigFile({
  flags,
  environment,
  exists = existsSync,
}: {
  readonly flags: ServerFlags;
  readonly environment: Environment;
  readonly exists?: (file: string) => boolean;
}): string | null {
  return flags.config ?? environment.configFile ?? (exists(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : null);
}

/** Throws ConfigurationError when a flag has an invalid value. */
export function resolveServerOptions({
  flags,
  environment,
  file,
  platform = process.platform,
}: {
  readonly flags: ServerFlags;
  readonly environment: Environment;
  readonly file: StartOptions;
  readonly platform?: NodeJS.Platform;
}) {
  const problems: ConfigurationProblem[] = [];
  const read = <T>(
    flag: string,
    value: string | number | undefined,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T | null => {
    if (value === undefined) return null;
    const parsed = parse(String(value));
    if (parsed === undefined) problems.push(problemIn("command line", `expected ${expected}`, flag));
    return parsed ?? null;
  };
  const port = read("--port", flags.port, "a port from 0 to 65535", parsePort);
  const host = read("--host", flags.host, "a host name or an address, without scheme and port", parseHost);
  const workers = read("--workers", flags.workers, EXPECTED_WORKERS, parseWorkerCount);
  const dataFolder = read("--data", flags.data, "a path", (text) => text || undefined);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const listensOn = host ?? environment.host ?? file.server.host;
  return {
    /** With 0 the system chooses a free port. */
    port: port ?? environment.port ?? file.server.port,
    host: listensOn,
    /** Processes that serve calls; with 1 this process does. */
    workers: workerCount(workers ?? environment.workers ?? file.server.workers, platform),
    /** As given: relative to the working directory, or absolute. */
    dataFolder: dataFolder ?? environment.dataFolder ?? file.server.data,
    /** Address of PostgreSQL, which contains a password; `null` for SQLite in the data folder. */
    databaseUrl: environment.databaseUrl ?? file.server.databaseUrl,
    logLevel: environment.logLevel ?? file.log.level,
    /** HTTP proxy for calls to providers; `null` when none is used. */
    upstreamProxy: resolveUpstreamProxy(file, environment),
    ledger: file.ledger,
    /** `null` when limits are counted in this process. */
    limitStore: limitStore(file.limit_store, environment),
    cache: file.cache,
    calls: file.calls,
    audit: file.audit,
    /** Whether the web console is served. */
    hasConsole: file.console.enabled ?? listensLocally(listensOn),
  };
}

/** Throws ConfigurationError where the system does not spread the connections of one port over several processes. */
function workerCount(configured: WorkerCount, platform: NodeJS.Platform): number {
  if (platform === "linux") return configured === "auto" ? usableWorkers() : configured;
  if (configured === "auto" || configured === 1) return 1;
  throw new ConfigurationError([
    problemIn(
      "configuration",
      `several workers can share one port on Linux only, and this is ${platform}: set 1, or start several gateways on ports of their own`,
      "server.workers",
    ),
  ]);
}

/** The file names the proxy, and the environment the hosts that are called directly. */
export function resolveUpstreamProxy(
  file: Pick<StartOptions, "server">,
  environment: Environment,
): ProxySettings | null {
  const url = file.server.upstreamProxy;
  return url === null ? null : { url, exceptions: environment.noProxy ?? "" };
}

/** Throws ConfigurationError when the driver has no address. */
function limitStore(
  { driver, url, clusterNodes }: StartOptions["limit_store"],
  environment: Environment,
): { readonly url: string; readonly clusterNodes: readonly string[] | null } | null {
  const address = environment.limitStoreUrl ?? url;
  if (driver === "memory") return null;
  if (address !== null) return { url: address, clusterNodes };
  if (driver === null && clusterNodes === null) return null;
  throw new ConfigurationError([
    problemIn(
      "configuration",
      "expected the address of Valkey or Redis, here or in DRAGOMAN_LIMIT_STORE_URL",
      "limit_store.url",
    ),
  ]);
}

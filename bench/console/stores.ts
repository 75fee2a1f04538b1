// Gateways with a console over a store of so many calls of the last 30 days, in SQLite or in PostgreSQL. A store of a million calls takes minutes to
// make, so that it may be kept in a folder: what is measured is a copy of it.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap } from "../../src/auth/first-identities.ts";
import { openCalls, openDatabase } from "../../src/store/open-database.ts";
import { startConsoleGateway } from "../../test/harness/console/chromium.ts";
import type { GatewayProcess } from "../../test/harness/processes/gateway-process.ts";
import { type PostgresServer, startPostgres } from "../../test/harness/servers/postgres-server.ts";
import { fillCalls } from "../load/made-calls.ts";

export type StoreKind = "SQLite" | "PostgreSQL";

export interface FilledStore {
  readonly kind: StoreKind;
  readonly rows: number;
  /** Where it is kept, or to be kept; null for nowhere. */
  readonly folder: string | null;
}

export interface StoreGateway {
  readonly gateway: GatewayProcess;
  /** A personal token of the owner. */
  readonly token: string;
  readonly close: () => Promise<void>;
}

export const DAYS = 30;
const DAY_MS = 86_400_000;
const CONFIG = `prices: {large: {model: "sandbox:*", prompt: "0.30", completion: "1.20"}}\n`;
const MASTER_KEY = Buffer.alloc(32, 3).toString("base64");
const DUMP = "calls.dump";

/** Its first identities and its calls, most of them of a day that is over when it is used later. */
async function fill(dataFolder: string, databaseUrl: string | null, rows: number): Promise<void> {
  const environment = new Map([["DRAGOMAN_MASTER_KEY", MASTER_KEY]]);
  const { store } = await openDatabase({ dataFolder, databaseUrl, environment });
  await bootstrap(store, Date.now());
  await store.close();
  const calls = await openCalls({ dataFolder, databaseUrl });
  await fillCalls(calls, {
    rows,
    mix: "many callers",
    // the last one is of a minute ago, also where there is only one
    fromMs: Date.now() - 60_000 - DAYS * DAY_MS * (1 - 1 / Math.max(1, rows)),
    days: DAYS,
    placeOf: () => ({ tenantId: "default", projectId: "default" }),
  });
  await calls.close();
}

async function copied({ rows, folder }: FilledStore, into: string): Promise<void> {
  if (folder === null) return await fill(into, null, rows);
  if (!existsSync(folder)) await fill(folder, null, rows);
  cpSync(folder, into, { recursive: true });
}

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], { stdout: "ignore", stderr: "pipe" });
  const [code, said] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${said}`);
}

async function restored({ rows, folder }: FilledStore, url: string, dataFolder: string): Promise<void> {
  const dump = folder === null ? null : join(folder, DUMP);
  if (dump !== null && existsSync(dump)) await run(["pg_restore", "--no-owner", "-d", url, dump]);
  else {
    await fill(dataFolder, url, rows);
    if (dump !== null) {
      mkdirSync(folder!, { recursive: true });
      await run(["pg_dump", "-Fc", "-f", dump, url]);
    }
  }
  // What PostgreSQL does by itself in a database that is used: without it, indexes alone answer nothing.
  await run(["vacuumdb", "--quiet", "--analyze", "-d", url]);
}

export async function openStoreGateway(store: FilledStore): Promise<StoreGateway> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-console-store-"));
  const dataFolder = join(folder, "data");
  let server: PostgresServer | null = null;
  const close = async (gateway: GatewayProcess | null): Promise<void> => {
    await gateway?.stop();
    await server?.dispose();
    rmSync(folder, { recursive: true, force: true });
  };
  let gateway: GatewayProcess | null = null;
  try {
    const environment: Record<string, string> = {};
    if (store.kind === "SQLite") await copied(store, dataFolder);
    else {
      server = await startPostgres();
      if (server === null) throw new Error("PostgreSQL is not installed (apt install postgresql)");
      const url = await server.newDatabase();
      await restored(store, url, dataFolder);
      Object.assign(environment, { DATABASE_URL: url, DRAGOMAN_MASTER_KEY: MASTER_KEY });
    }
    const started = await startConsoleGateway({ config: CONFIG, dataFolder, environment });
    gateway = started;
    const token = await started.createToken("--personal", "--user", "owner");
    const caller = await started.createToken("--project", "default");
    return {
      gateway: {
        ...started,
        firstToken: caller,
        chat: (body, options = {}) => started.chat(body, { token: caller, ...options }),
      },
      token,
      close: () => close(started),
    };
  } catch (error) {
    await close(gateway);
    throw error;
  }
}

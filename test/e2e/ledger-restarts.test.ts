// The ledger of the real process over clean stops, kills and restores: every call that a client saw has its one row in the database in the end.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { type GatewayProcess, startGateway } from "../harness/gateway-process.ts";
import { startPostgres, statement } from "../harness/postgres-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-restarts-"));
const postgres = await startPostgres();
afterAll(async () => {
  await postgres?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** Where a gateway keeps what it knows, over its restarts. */
interface Place {
  readonly dataFolder: string;
  /** Of PostgreSQL; null: SQLite in the folder. */
  readonly url: string | null;
  /** Of the first start. */
  token: string;
}

async function started(place: Place): Promise<GatewayProcess> {
  const gateway = await startGateway({ dataFolder: place.dataFolder, ...(place.url !== null && { environment: { DATABASE_URL: place.url, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") } }) });
  place.token = gateway.firstToken ?? place.token;
  return gateway;
}

/** Gives the trace ids that the client has seen. */
async function calls(gateway: GatewayProcess, token: string, times: number): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: times }, async () => {
      const response = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] }, { token });
      const { x_gateway_trace_id: id } = (await response.json()) as { readonly x_gateway_trace_id: string };
      return id;
    }),
  );
}

async function rowsOf({ dataFolder, url }: Place): Promise<readonly string[]> {
  const query = "select trace_id from call";
  if (url !== null) return (await statement(url, query)).map(({ trace_id: id }) => String(id));
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  try {
    return database.query<{ readonly trace_id: string }, []>(query).all().map(({ trace_id: id }) => id);
  } finally {
    database.close();
  }
}

describe.each([["SQLite", false], ["PostgreSQL", true]] as const)("clean stops with %s", (name, isPostgres) => {
  test.skipIf(isPostgres && postgres === null)("[d11.2] the calls of every run after a clean stop reach the database", async () => {
    const place: Place = { dataFolder: join(folder, name), url: isPostgres ? await postgres!.newDatabase() : null, token: "" };
    const seen: string[] = [];
    for (const times of [10, 25, 3]) {
      const gateway = await started(place);
      seen.push(...(await calls(gateway, place.token, times)));
      await gateway.stop("SIGTERM");
    }
    expect((await rowsOf(place)).toSorted()).toEqual(seen.toSorted());
  });
});

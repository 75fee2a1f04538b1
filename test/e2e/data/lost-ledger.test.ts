// A machine that does not come back, and its volume neither (docs/kubernetes.md): which calls are lost, and how that is
// known. Gateways on one PostgreSQL, each with a data folder of its own, which is removed with its gateway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type PostgresServer, startPostgres, statement } from "../../harness/servers/postgres-server.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const postgres = await startPostgres();
const folder = mkdtempSync(join(tmpdir(), "dragoman-lost-"));
afterAll(async () => {
  await postgres?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(postgres === null)("[d16.5] a gateway that is lost with its volume", () => {
  const server = postgres as PostgresServer;
  let token: string;
  let environment: Readonly<Record<string, string>>;
  const start = (name: string): Promise<GatewayProcess> =>
    startGateway({ dataFolder: join(folder, name), environment });
  const call = async (gateway: GatewayProcess): Promise<void> => {
    const answer = await gateway.chat(
      { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] },
      { token },
    );
    await answer.text();
    expect(answer.status).toBe(200);
  };
  const rows = async (): Promise<number> =>
    Number((await statement(environment["DATABASE_URL"]!, "select count(*) as calls from call"))[0]!["calls"]);
  const unshippedBytes = async (gateway: GatewayProcess): Promise<number> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(/^dragoman_ledger_unshipped_bytes ([\d.e+]+)$/m.exec(text)![1]);
  };
  const lose = async (gateway: GatewayProcess, name: string): Promise<void> => {
    await gateway.stop("SIGKILL");
    rmSync(join(folder, name), { recursive: true });
  };

  beforeAll(async () => {
    environment = {
      DATABASE_URL: await server.newDatabase(),
      DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 5).toString("base64"),
    };
    const first = await start("first");
    token = first.firstToken!;
    await first.stop();
  });

  test("takes no call with it whose row had arrived, and its last reading says that none was left", async () => {
    const gateway = await start("shipped");
    for (let made = 0; made < 5; made++) await call(gateway);
    await until(async () => (await unshippedBytes(gateway)) === 0, "everything is in the database");
    await lose(gateway, "shipped");
    expect(await rows()).toBe(5);
    const next = await start("shipped");
    await call(next);
    await next.stop();
    expect(await rows()).toBe(6);
  });

  test("takes those with it that were answered while the database was away, as its last reading tells", async () => {
    const before = await rows();
    const gateway = await start("cut-off");
    const other = await start("other");
    await server.stop();
    for (let made = 0; made < 4; made++) await call(gateway);
    await call(other);
    const left = await untilFound(async () => (await unshippedBytes(gateway)) || null, "the rows wait in the ledger");
    // the page says 2 KB for each call
    expect(left / 4).toBeWithin(200, 4000);
    await lose(gateway, "cut-off");
    await server.start();
    await until(async () => (await rows()) === before + 1, "the row of the gateway that stayed arrives");
    const next = await start("cut-off");
    await call(next);
    await Promise.all([next.stop(), other.stop()]);
    expect(await rows()).toBe(before + 2);
  });
});

// `dragoman database move` beside a gateway that serves calls, to PostgreSQL and back, with the real processes.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database as Sqlite } from "bun:sqlite";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { postgresDatabases, statement } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";

const server = await postgresDatabases();
const folder = mkdtempSync(join(tmpdir(), "dragoman-move-e2e-"));
const dataFolder = join(folder, "data");
afterAll(async () => {
  await server?.dispose();
  rmSync(folder, { recursive: true });
});

const call = async (gateway: GatewayProcess, token: string): Promise<void> => {
  const answer = await gateway.chat(
    { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] },
    { token },
  );
  expect(answer.status).toBe(200);
  await answer.text();
};
const createTenant = (gateway: GatewayProcess, id: string, token: string): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/admin/tenants`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id, name: id }),
  });

test.skipIf(server === null)(
  "[d15.3] calls go on, tokens stay valid and each call is there once, in PostgreSQL and back in SQLite",
  async () => {
    const url = await server!.newDatabase();
    const onPostgres = { DATABASE_URL: url };
    let gateway = await startGateway({ dataFolder });
    const token = gateway.firstToken!;
    const owner = await gateway.createToken("--personal", "--user", "owner");
    for (let index = 0; index < 5; index++) await call(gateway, token);

    const moved = await runCli(["database", "move", "--to", url, "--data", dataFolder]);
    expect(moved.stderr).toBe("");
    expect(moved.stdout).toContain("Now restart each gateway with DATABASE_URL");
    await call(gateway, token);
    const refused = await createTenant(gateway, "late", owner);
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("store_unavailable");
    const listed = await runCli(["token", "list", "--data", dataFolder]);
    expect(listed.stderr).toContain("was moved: its contents are now in the database");
    await gateway.stop();

    gateway = await startGateway({ dataFolder, environment: onPostgres });
    await call(gateway, token);
    expect((await createTenant(gateway, "new", owner)).status).toBe(201);
    const counted = async (): Promise<readonly unknown[]> => [
      ...(await statement(
        url,
        "select (select count(*) from call)::int as calls, (select sum(calls) from call_hour)::int as hours, (select sum(calls) from call_day)::int as days",
      )),
    ];
    await until(async () => Bun.deepEquals(await counted(), [{ calls: 7, hours: 7, days: 7 }]), "all calls arrive");

    const back = await runCli(
      ["database", "move", "--to", `sqlite:${dataFolder}`, "--data", dataFolder, "--json"],
      cleanEnvironment(onPostgres),
    );
    expect(back.stderr).toBe("");
    const { tables } = JSON.parse(back.stdout) as {
      tables: readonly { table: string; rows: number; equal: boolean }[];
    };
    expect(tables.filter(({ equal }) => !equal)).toEqual([]);
    expect(tables.find(({ table }) => table === "call")!.rows).toBe(7);
    await call(gateway, token);
    await gateway.stop();

    gateway = await startGateway({ dataFolder });
    await call(gateway, token);
    expect((await createTenant(gateway, "newest", owner)).status).toBe(201);
    await gateway.stop();
    const file = new Sqlite(join(dataFolder, "dragoman.sqlite"), { readonly: true });
    expect(file.query("select count(*) as calls from call").all()).toEqual([{ calls: 9 }]);
    expect(file.query("select id from tenants order by id").all()).toEqual([
      { id: "default" },
      { id: "new" },
      { id: "newest" },
    ]);
    file.close();
  },
);

test("[d15.3] a target that cannot be reached, is none or is the same is refused with the cure", async () => {
  const own = join(folder, "own");
  await runCli(["database", "create", "--data", own]);
  const said = async (to: string): Promise<string> => {
    const { code, stderr } = await runCli(["database", "move", "--to", to, "--data", own]);
    expect(code).toBe(2);
    return stderr;
  };
  expect(await said("postgresql://127.0.0.1:1/none")).toMatch(
    /cannot take the data: .*cannot be reached \(ECONNREFUSED\).*Gateways go on with the database that they use/,
  );
  expect(await said("mysql://127.0.0.1/none")).toContain("--to: expected postgresql://");
  expect(await said(`sqlite:${own}`)).toContain("--to names the database that is to be moved");
  expect((await runCli(["token", "list", "--data", own])).code).toBe(0);
});

// Two gateways on one PostgreSQL, as on two machines: what is changed at one is in use at both within a second, and a database that is gone stops changes only.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, runCli, startGateway, cleanEnvironment } from "../harness/gateway-process.ts";
import { startPostgres } from "../harness/postgres-server.ts";

const PASSWORD = "pg-password-that-nobody-may-see";
const END_CONFIG = `integrations: { file: { type: json_lines, path: calls.jsonl } }
webhooks: { alerts: { url: "https://alerts.example.com/", secret: "whsec_${Buffer.alloc(24, 1).toString("base64")}" } }`;
const server = await startPostgres();
let environment: Record<string, string>;
let one: GatewayProcess;
let two: GatewayProcess;

beforeAll(async () => {
  if (server === null) return;
  const url = new URL(await server.newDatabase());
  url.password = PASSWORD;
  environment = { DATABASE_URL: url.href, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 3).toString("base64") };
  one = await startGateway({ environment });
  two = await startGateway({ environment });
}, 60_000);
afterAll(async () => {
  await one?.stop();
  await two?.stop();
  await server?.dispose();
}, 60_000);

const HELLO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] };
const statusOf = async (gateway: GatewayProcess, token: string): Promise<number> => {
  const answer = await gateway.chat(HELLO, { token });
  await answer.body?.cancel();
  return answer.status;
};

/** Milliseconds until every gateway answers so. */
async function untilAll(token: string, status: number): Promise<number> {
  const startedMs = performance.now();
  for (const gateway of [one, two])
    while ((await statusOf(gateway, token)) !== status && performance.now() - startedMs < 10_000) await Bun.sleep(5);
  return performance.now() - startedMs;
}

const cli = (...args: readonly string[]) =>
  runCli([...args, "--data", one.dataFolder, "--json"], cleanEnvironment(environment));

describe.skipIf(server === null)("two gateways on one PostgreSQL", () => {
  test("[d2.8] only the first start makes identities and shows a token, which both know", async () => {
    expect(one.firstToken).not.toBeNull();
    expect(two.firstToken).toBeNull();
    expect(await untilAll(one.firstToken!, 200)).toBeLessThan(2_000);
  });

  test("[d2.6] a revocation takes effect on both within one second", async () => {
    const made = JSON.parse((await cli("token", "create", "--name", "short-lived")).stdout) as {
      id: string;
      token: string;
    };
    await untilAll(made.token, 200);
    for (let round = 0; round < 3; round++) {
      const { id, token } =
        round === 0
          ? made
          : (JSON.parse((await cli("token", "create", "--name", `round ${round}`)).stdout) as {
              id: string;
              token: string;
            });
      await untilAll(token, 200);
      expect((await cli("token", "revoke", id)).code).toBe(0);
      expect(await untilAll(token, 401)).toBeLessThan(1_000);
    }
  }, 60_000);

  test("a database that is stopped fails no call, refuses changes, and is followed again when it is back", async () => {
    const token = one.firstToken!;
    let ended = false;
    const statuses = new Map<number, number>();
    const load = Array.from({ length: 4 }, async (_, index) => {
      for (; !ended; await Bun.sleep(2)) {
        const status = await statusOf(index % 2 === 0 ? one : two, token);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    await Bun.sleep(300);
    await server!.stop();
    await Bun.sleep(1_500);
    const refused = await cli("token", "create", "--name", "impossible");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("cannot be reached");
    await server!.start();
    const made = JSON.parse((await cli("token", "create", "--name", "possible again")).stdout) as { token: string };
    expect(await untilAll(made.token, 200)).toBeLessThan(7_000);
    ended = true;
    await Promise.all(load);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(200);
  }, 60_000);

  test("the database's password and the master key stand in no line of the log, and in no message", async () => {
    const said = one.output() + two.output() + (await cli("token", "list")).stdout;
    expect(said).not.toContain(PASSWORD);
    expect(said).not.toContain(environment["DRAGOMAN_MASTER_KEY"]!);
  });

  test("a database that hangs does not hold the end of a gateway: what goes elsewhere is told, and nothing waits for its statements' time", async () => {
    const gateway = await startGateway({ environment, dataFolder: `${one.dataFolder}-third`, config: END_CONFIG });
    const path = join(gateway.folder, "calls.jsonl");
    try {
      await untilAll(one.firstToken!, 200);
      server!.freeze();
      expect(await statusOf(gateway, one.firstToken!)).toBe(200);
      // the queue of events has a statement under way by then
      await Bun.sleep(1_500);
      const beganMs = performance.now();
      expect(await gateway.stop()).toBe(0);
      expect(performance.now() - beganMs).toBeLessThan(10_000);
      expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(1);
    } finally {
      server!.thaw();
      rmSync(gateway.folder, { recursive: true, force: true });
    }
  }, 60_000);

  test("without a master key it does not start, and says which", async () => {
    const { DATABASE_URL } = environment;
    const { code, stderr } = await runCli(
      ["token", "list", "--data", one.dataFolder],
      cleanEnvironment({ DATABASE_URL: DATABASE_URL! }),
    );
    expect(code).toBe(2);
    expect(stderr).toContain("DRAGOMAN_MASTER_KEY");
    expect(stderr).not.toContain(PASSWORD);
  });
});

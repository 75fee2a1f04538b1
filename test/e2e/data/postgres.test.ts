// Two gateways on one PostgreSQL, as on two machines: a change at one soon takes effect at both, and a lost database
// prevents changes only.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type GatewayProcess,
  runCli,
  startGateway,
  cleanEnvironment,
  WORKERS,
} from "../../harness/processes/gateway-process.ts";
import { projectFolder, sourceCommand } from "../../harness/processes/gateway-program.ts";
import { startPostgres } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";

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
  one = await startGateway({ environment, command: sourceCommand });
  two = await startGateway({ environment, command: sourceCommand });
});
afterAll(async () => {
  await one?.stop();
  await two?.stop();
  await server?.dispose();
});

/** With workers, the supervisor ends after them. */
const ENDS_WITHIN_MS = WORKERS === undefined ? 10_000 : 15_000;
const HELLO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] };
const statusOf = async (gateway: GatewayProcess, token: string): Promise<number> => {
  const answer = await gateway.chat(HELLO, { token });
  await answer.body?.cancel();
  return answer.status;
};

/** Until every gateway answers so. How soon that is, snapshot/source.test.ts proves without a clock. */
async function untilAll(token: string, status: number): Promise<void> {
  for (const gateway of [one, two])
    await until(async () => (await statusOf(gateway, token)) === status, `a gateway answers ${status}`);
}

/** What a start that shows no token says of making one: which variables it takes, and the command. */
const hintOf = (gateway: GatewayProcess): readonly [string, string | undefined, string] =>
  /^Another access token(?: \(with this gateway's (.+) in the environment\))?: (.*)$/m.exec(
    gateway.output(),
  ) as unknown as readonly [string, string | undefined, string];

async function pasted(command: string, own: Readonly<Record<string, string>>, cwd: string): Promise<string> {
  // the command is relative to the folder in which the gateway was started
  const there = command.replace(/^node \S+/, `node ${join(projectFolder, "bin/dragoman.mjs")}`);
  const child = Bun.spawn(["bash", "-c", `${there.replace("<name>", "pasted")} --json`], {
    cwd,
    env: cleanEnvironment(own),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

const cli = (...args: readonly string[]) =>
  runCli([...args, "--data", one.dataFolder, "--json"], cleanEnvironment(environment));

describe.skipIf(server === null)("two gateways on one PostgreSQL", () => {
  test("[d2.8] only the first start creates identities and shows a token, which both accept", async () => {
    expect(one.firstToken).not.toBeNull();
    expect(two.firstToken).toBeNull();
    await untilAll(one.firstToken!, 200);
  });

  test("[d2.8] a start that finds another gateway's tokens says how to create another, with the settings that lead to this database and not to the new data folder, and that command works as it is pasted", async () => {
    const [, variables, command] = hintOf(two);
    expect(variables).toBe("DATABASE_URL, DRAGOMAN_MASTER_KEY");
    expect(command).toMatch(/^node \S+bin\/dragoman\.mjs token create --name <name>$/);
    const cwd = mkdtempSync(join(two.folder, "shell-"));
    const { token } = JSON.parse(await pasted(command, environment, cwd)) as { token: string };
    await untilAll(token, 200);
    expect(await statusOf(two, token)).toBe(200);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("[d2.8] where the configuration names the database and the data folder holds the master key, the command names both", async () => {
    const { DATABASE_URL, DRAGOMAN_MASTER_KEY } = environment;
    const dataFolder = mkdtempSync(join(two.folder, "with key-"));
    writeFileSync(join(dataFolder, "master.key"), DRAGOMAN_MASTER_KEY!, { mode: 0o600 });
    const three = await startGateway({ dataFolder, config: `server: { database_url: "${DATABASE_URL}" }\n` });
    try {
      const [, variables, command] = hintOf(three);
      expect([three.firstToken, variables]).toEqual([null, undefined]);
      expect(command).toEndWith(
        ` token create --config ${join(three.folder, "dragoman.yaml")} --data '${dataFolder}' --name <name>`,
      );
      const { token } = JSON.parse(await pasted(command, {}, three.folder)) as { token: string };
      await untilAll(token, 200);
      expect(await statusOf(three, token)).toBe(200);
    } finally {
      await three.stop();
      rmSync(three.folder, { recursive: true, force: true });
    }
  });

  test("[d2.6] a revocation takes effect on both", async () => {
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
      await untilAll(token, 401);
    }
  });

  test("a database that is stopped fails no call, refuses changes, and is followed again when it is back", async () => {
    const token = one.firstToken!;
    let ended = false;
    const statuses = new Map<number, number>();
    const load = Array.from({ length: 4 }, async (_, index) => {
      for (; !ended; await Bun.sleep(10)) {
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
    await untilAll(made.token, 200);
    ended = true;
    await Promise.all(load);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(20);
  });

  test("the database's password and the master key appear in no line of the log, and in no message", async () => {
    const said = one.output() + two.output() + (await cli("token", "list")).stdout;
    expect(said).not.toContain(PASSWORD);
    expect(said).not.toContain(environment["DRAGOMAN_MASTER_KEY"]!);
  });

  test("a database that hangs does not delay the end of a gateway: records for other destinations are delivered, and its statements are not waited for", async () => {
    const gateway = await startGateway({ environment, dataFolder: `${one.dataFolder}-third`, config: END_CONFIG });
    const path = join(gateway.folder, "calls.jsonl");
    try {
      await untilAll(one.firstToken!, 200);
      server!.freeze();
      expect(await statusOf(gateway, one.firstToken!)).toBe(200);
      // the queue of events has a statement in flight by then
      await Bun.sleep(1_500);
      const beganMs = performance.now();
      expect(await gateway.stop()).toBe(0);
      expect(performance.now() - beganMs).toBeLessThan(ENDS_WITHIN_MS);
      expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(1);
    } finally {
      server!.thaw();
      rmSync(gateway.folder, { recursive: true, force: true });
    }
  });

  test("without a master key it does not start, and names the setting", async () => {
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

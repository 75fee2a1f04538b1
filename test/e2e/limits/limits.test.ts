// Limits of the real process: two hundred simultaneous calls over sockets, and the counts after the process ends, in
// order and by SIGKILL.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, runCli, startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-limits-e2e-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const call = (gateway: GatewayProcess, token: string, fields: object = {}): Promise<Response> =>
  gateway.chat(
    { model: "sandbox:echo", max_tokens: 10, messages: [{ role: "user", content: "Hello" }], ...fields },
    { token },
  );

async function statuses(
  gateway: GatewayProcess,
  token: string,
  times: number,
  fields: object = {},
): Promise<readonly number[]> {
  return Promise.all(
    Array.from({ length: times }, async () => {
      const response = await call(gateway, token, fields);
      await response.text();
      return response.status;
    }),
  );
}
const admitted = (all: readonly number[]): number => all.filter((status) => status === 200).length;

const COUNTED = `
projects:
  default:
    limits: {daily: {metric: requests, window: day, limit: 1000}, places: {metric: concurrency, limit: 30}}
    budgets: {tokens: {tokens: 1000000, window: total, scope: {user: "*"}}}
`;
const left = async (gateway: GatewayProcess, token: string): Promise<readonly number[]> => {
  const response = await call(gateway, token, { user: "ann" });
  await response.text();
  return ["requests", "tokens"].map((unit) => Number(response.headers.get(`x-ratelimit-remaining-${unit}`)));
};

test("[d4.2 d11.2] killed again and again right after an answer: no unit that a client saw is lost", async () => {
  let token = "";
  let answers = 0;
  let tokens = 0;
  for (let round = 0; round < 4; round++) {
    const gateway = await startGateway({ config: COUNTED, dataFolder: join(folder, "killed") });
    token = gateway.firstToken ?? token;
    try {
      for (let index = 0; index <= round; index++) {
        const [requestsLeft, tokensLeft] = await left(gateway, token);
        answers += 1;
        tokens ||= 1_000_000 - tokensLeft!;
        expect([requestsLeft, tokensLeft]).toEqual([1000 - answers, 1_000_000 - answers * tokens]);
      }
    } finally {
      await gateway.stop("SIGKILL");
    }
  }
});

test("[d4.2 d11.2] calls that were in flight when the process was killed stay charged with their reservation, and hold no concurrency", async () => {
  const options = { config: COUNTED, dataFolder: join(folder, "under-way") };
  const first = await startGateway(options);
  const token = first.firstToken!;
  const [, before] = await left(first, token);
  for (let index = 0; index < 20; index++)
    call(first, token, { model: "sandbox:slow-30000", user: "ann", max_tokens: 100 }).catch(() => {});
  const inFlight = async (): Promise<number> =>
    Number(/^dragoman_calls_in_flight (\d+)/m.exec(await (await fetch(`${first.url}/metrics`)).text())?.[1]);
  await until(async () => (await inFlight()) >= 20);
  await first.stop("SIGKILL");
  const second = await startGateway(options);
  try {
    const [requestsLeft, tokensLeft] = await left(second, token);
    expect(requestsLeft).toBe(1000 - 22);
    expect(tokensLeft).toBeLessThanOrEqual(before! - 20 * 100);
    expect(admitted(await statuses(second, token, 25, { model: "sandbox:slow-100" }))).toBe(25);
  } finally {
    await second.stop();
  }
});

test("[d4.2] a second process on the folder, without a limit store, reports the conflict, overwrites nothing, and goes on with the counts of the first", async () => {
  const options = { config: COUNTED, dataFolder: join(folder, "two") };
  const first = await startGateway(options);
  const token = first.firstToken!;
  await left(first, token);
  const [each] = [1_000_000 - (await left(first, token))[1]!].map((two) => two / 2);
  await Bun.sleep(300);
  const second = await startGateway(options);
  try {
    expect(await left(second, token)).toEqual([997, 1_000_000 - 3 * each!]);
    expect(await left(first, token)).toEqual([997, 1_000_000 - 3 * each!]);
    await first.stop();
    await Bun.sleep(500);
    expect(await left(second, token)).toEqual([995, 1_000_000 - 5 * each!]);
    expect(second.lines().some(({ msg }) => msg === "another process counts limits in this data folder")).toBe(true);
  } finally {
    // in the journal's second folder, which the next process does not have for its own
    await second.stop("SIGKILL");
  }
  const third = await startGateway(options);
  try {
    expect(await left(third, token)).toEqual([994, 1_000_000 - 6 * each!]);
  } finally {
    await third.stop();
  }
});

describe.each([
  ["in order", "SIGTERM"],
  ["by SIGKILL", "SIGKILL"],
] as const)("a process that ends %s", (_, signal) => {
  test("[d4.1 d4.2] of two hundred simultaneous calls against room for ten, ten are admitted, and no more after a restart; a budget continues where it was", async () => {
    const dataFolder = join(folder, signal);
    const config = `
limits:
  hourly: {metric: requests, window: hour, limit: 10, scope: {user: plain}}
  streams: {metric: requests, window: day, limit: 10, scope: {user: streamed}}
projects:
  default:
    budgets:
      tokens: {tokens: 1000, window: total, thresholds: [80], scope: {user: spender}}
`;
    const first = await startGateway({ config, dataFolder });
    const token = first.firstToken!;
    let spent = 0;
    try {
      expect(admitted(await statuses(first, token, 200, { user: "plain" }))).toBe(10);
      expect(admitted(await statuses(first, token, 200, { user: "streamed", stream: true }))).toBe(10);
      for (let index = 0; index < 500 && spent === 0; index++)
        if (admitted(await statuses(first, token, 1, { user: "spender" })) === 0) spent = index;
      expect(spent).toBeGreaterThan(50);
      // what was counted is on the disk a tenth of a second later
      await Bun.sleep(400);
      expect(first.lines().filter(({ event }) => event === "budget_threshold")).toMatchObject([
        { budget: "tokens", percent: 80, project: "default" },
      ]);
    } finally {
      await first.stop(signal);
    }
    const second = await startGateway({ config, dataFolder });
    try {
      expect(
        await Promise.all(
          ["plain", "streamed", "spender"].map(async (user) => admitted(await statuses(second, token, 3, { user }))),
        ),
      ).toEqual([0, 0, 0]);
      const refused = await call(second, token, { user: "spender" });
      expect(((await refused.json()) as Record<string, any>)["error"]).toMatchObject({
        code: "insufficient_quota",
        metadata: { limit: "tokens", scope: { project: "default", user: "spender" }, resets_at: null },
      });
      expect(admitted(await statuses(second, token, 1, { user: "other" }))).toBe(1);
    } finally {
      await second.stop();
    }
  });
});

describe("the file of the counts", () => {
  const BUDGETS = `
projects:
  default:
    budgets:
      all: {tokens: 1000000, window: total}
      each: {tokens: 1000000, window: month, scope: {user: "*"}}
`;
  test.each([
    ["in order", "SIGTERM"],
    ["by SIGKILL", "SIGKILL"],
  ] as const)(
    "[d4.2 d11.2] is removed after an end %s: budgets continue from the rows of calls, and not from zero",
    async (_, signal) => {
      const options = { config: BUDGETS, dataFolder: join(folder, `removed-${signal}`) };
      const first = await startGateway(options);
      const token = first.firstToken!;
      let before = 0;
      for (let n = 0; n < 5; n++) before = (await left(first, token))[1]!;
      await first.stop(signal);
      for (const end of ["", "-wal", "-shm"]) rmSync(join(options.dataFolder, `limits.sqlite${end}`), { force: true });
      const each = (1_000_000 - before) / 5;
      for (const round of [1, 2]) {
        const next = await startGateway(options);
        try {
          expect((await left(next, token))[1]).toBe(before - round * each);
        } finally {
          await next.stop("SIGKILL");
        }
      }
    },
  );

  test("[d4.2] is damaged: the start is refused, with the file's name and how to go on", async () => {
    const dataFolder = join(folder, "damaged");
    const first = await startGateway({ config: BUDGETS, dataFolder });
    await left(first, first.firstToken!);
    await first.stop();
    const file = join(dataFolder, "limits.sqlite");
    writeFileSync(file, Buffer.alloc(20_000, "no database at all "));
    const { code, stderr } = await runCli(["serve", "--port", "0", "--data", dataFolder]);
    expect(code).toBe(2);
    expect(stderr).toContain(file);
    expect(stderr).toMatch(/Move .* and start again: budgets are then counted from the rows of calls/);
  });
});

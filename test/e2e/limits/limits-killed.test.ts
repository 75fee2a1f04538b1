// A gateway that is killed again and again, with calls in flight: the count of a total budget is what the rows of all
// calls contain, wherever it is counted.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { findServer, startRedis } from "../../harness/servers/redis-server.ts";
import { type FakeUpstream, openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { until } from "../../harness/time/until.ts";

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");

interface World {
  readonly name: string;
  readonly isShared: boolean;
  readonly limit: number;
  readonly maxTokens: number;
  readonly callers: number;
  readonly kills: number;
}

const WORLDS: readonly World[] = [
  { name: "in one process", isShared: false, limit: 100_000_000, maxTokens: 100, callers: 20, kills: 3 },
  { name: "in Redis, and lent in parts", isShared: true, limit: 100_000_000, maxTokens: 100, callers: 20, kills: 3 },
  // fewer than fifty calls: each asks for itself
  { name: "in Redis, which each call asks", isShared: true, limit: 49_000, maxTokens: 1000, callers: 6, kills: 3 },
];
const folder = mkdtempSync(join(tmpdir(), "dragoman-killed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = (upstream: string, limit: number): string => `
providers:
  mine: {type: custom, base_url: "${upstream}/v1", api_key: key, models: [model]}
budgets:
  all: {tokens: ${limit}, window: total, on_store_failure: closed}
`;

/** Everything that killed processes left has been reported to the limit store. */
async function toldOfTheDead(dataFolder: string): Promise<void> {
  while (readdirSync(join(dataFolder, "leases")).filter((name) => name.endsWith(".leases")).length > 1)
    await Bun.sleep(20);
}

/** Tokens that the header of an answer says are used of the budget, that answer's own included. */
async function usedAfterCall(gateway: GatewayProcess, token: string, limit: number): Promise<number> {
  const response = await gateway.chat(
    { model: "mine:model", max_tokens: 5, messages: [{ role: "user", content: "hello" }] },
    { token },
  );
  await response.text();
  expect(response.status).toBe(200);
  return limit - Number(response.headers.get("x-ratelimit-remaining-tokens"));
}

/** Calls that a kill cut are charged with their reservation. */
function tokensOfRows(dataFolder: string): number {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  const { sum } = database
    .query<{ sum: number }, []>("SELECT sum(prompt_tokens + completion_tokens) AS sum FROM call")
    .get()!;
  database.close();
  return sum;
}

describe.each(WORLDS)(
  "total budgets that are counted $name",
  ({ name, isShared, limit, maxTokens, callers, kills }) => {
    test.skipIf(isShared && binary === null)(
      "[d4.2 d11.2] kill -9 with calls in flight leaks no reservation and loses no usage: the budget has what the rows contain",
      async () => {
        const redis = isShared ? await startRedis() : null;
        let answers = 0;
        const upstream: FakeUpstream = startUpstream(async () => {
          await Bun.sleep(5 + (answers++ % 4) * 10);
          return Response.json(openaiAnswer("hello"));
        });
        const dataFolder = join(folder, name);
        const start = () =>
          startGateway({
            config: config(upstream.url, limit),
            dataFolder,
            ...(redis !== null && { environment: { DRAGOMAN_LIMIT_STORE_URL: redis.url } }),
          });
        try {
          let token = "";
          for (let kill = 0; kill < kills; kill++) {
            const gateway = await start();
            token = gateway.firstToken ?? token;
            let isOver = false;
            const caller = async (): Promise<void> => {
              while (!isOver) {
                try {
                  await (
                    await gateway.chat(
                      { model: "mine:model", max_tokens: maxTokens, messages: [{ role: "user", content: "hello" }] },
                      { token },
                    )
                  ).text();
                } catch {
                  return;
                }
              }
            };
            const running = Promise.all(Array.from({ length: callers }, caller));
            const before = upstream.seen.length;
            await until(() => upstream.seen.length >= before + 50 + kill * 7);
            await gateway.stop("SIGKILL");
            isOver = true;
            await running;
          }
          const last = await start();
          if (isShared) await toldOfTheDead(dataFolder);
          const used = await usedAfterCall(last, token, limit);
          // a clean end ships every row
          expect(await last.stop("SIGTERM")).toBe(0);
          expect(used).toBe(tokensOfRows(dataFolder));
        } finally {
          await upstream.stop();
          await redis?.stop();
        }
      },
    );
  },
);

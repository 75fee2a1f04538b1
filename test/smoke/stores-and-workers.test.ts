// One proof that real stores and several processes work together: two gateways of two workers each on one PostgreSQL and one Redis or Valkey. What happens
// when one of them fails is in test/e2e/.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { postgresDatabases, statement } from "../harness/servers/postgres-server.ts";
import { childrenOf, isRunning } from "../harness/processes/processes.ts";
import { findServer, type RedisServer, startRedis } from "../harness/servers/redis-server.ts";
import { until } from "../harness/time/until.ts";
import { type FakeUpstream, openaiAnswer, startUpstream } from "../harness/servers/upstream.ts";

const binary = findServer("valkey-server") ?? findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server and no valkey-server on this machine");
const postgres = await postgresDatabases();

const MODEL = { model: "mine:model", messages: [{ role: "user", content: "hello" }] };

describe.skipIf(binary === null || postgres === null)("two gateways of two workers", () => {
  let redis: RedisServer;
  let upstream: FakeUpstream;
  let gateways: readonly GatewayProcess[] = [];
  let database: string;
  beforeAll(async () => {
    redis = await startRedis({ binary: binary! });
    upstream = startUpstream(() => Response.json(openaiAnswer("hello")));
    database = await postgres!.newDatabase();
    const start = (): Promise<GatewayProcess> =>
      startGateway({
        config: `
providers:
  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: key, models: [model]}
limits:
  ten: {metric: requests, window: day, limit: 10}
`,
        environment: {
          DATABASE_URL: database,
          DRAGOMAN_LIMIT_STORE_URL: redis.url,
          DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 3).toString("base64"),
        },
        flags: ["--workers", "2"],
      });
    // one after the other: the first one creates the identities
    gateways = [await start()];
    gateways = [...gateways, await start()];
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop("SIGKILL")));
    await upstream?.stop();
    await redis?.stop();
    await postgres?.dispose();
  });

  test("[d4.2 d11.1 d13.1 d13.2] take the same token, admit ten of forty simultaneous calls, and keep each of these in the database once", async () => {
    const workers = gateways.flatMap(({ pid }) => childrenOf(pid));
    expect(workers).toHaveLength(4);
    const token = gateways[0]!.firstToken!;
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        // on a connection of its own, which the kernel gives to any worker
        const answer = await gateways[at % 2]!.chat(MODEL, { token, headers: { connection: "close" } });
        await answer.text();
        return answer.status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
    const kept = (): Promise<readonly { readonly status?: unknown; readonly calls?: unknown }[]> =>
      statement(database, "select status::int, count(*)::int as calls from call group by status order by status");
    const sum = async (): Promise<number> => (await kept()).reduce((total, { calls }) => total + Number(calls), 0);
    await until(async () => (await sum()) >= 40, "the calls are in the database");
    expect(await kept()).toEqual([
      { status: 200, calls: 10 },
      { status: 429, calls: 30 },
    ]);
    expect(await Promise.all(gateways.map((gateway) => gateway.stop()))).toEqual([0, 0]);
    gateways = [];
    expect(workers.filter(isRunning)).toEqual([]);
  });
});

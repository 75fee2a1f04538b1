// Responses that are kept for several processes: the workers of a machine, of which one is killed, and replicas that share
// a Redis, which goes away.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findServer, startRedis } from "../../harness/servers/redis-server.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { childrenOf, isRunning } from "../../harness/processes/processes.ts";
import { until, untilFound } from "../../harness/time/until.ts";
import { startWorkers } from "../../harness/workers.ts";

const SECRET = "the river is called Ilm";

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Record<string, any>;
}

/** Each request comes over a connection of its own, so that any process may answer it. */
async function ask(
  { url }: Pick<GatewayProcess, "url">,
  token: string,
  path: string,
  { method = "GET", body }: { readonly method?: string; readonly body?: object } = {},
): Promise<Answer> {
  const response = await fetch(`${url}/v1${path}`, {
    method: body === undefined ? method : "POST",
    headers: { authorization: `Bearer ${token}`, connection: "close", "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify({ model: "sandbox:echo", ...body }) }),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const last = isStream
    ? (JSON.parse(text.split("data: ").at(-2)!) as Record<string, any>)["response"]
    : JSON.parse(text);
  return { status: response.status, headers: response.headers, json: last };
}

/** Every file below a folder that contains the text. */
function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    return statSync(path).isFile() && readFileSync(path).includes(text);
  });
}

const opened: { stop(signal?: "SIGKILL"): Promise<unknown> }[] = [];
afterAll(async () => {
  for (const one of opened.toReversed()) await one.stop("SIGKILL");
});

describe("two workers", () => {
  test("[d12.8] a response is found by every worker, also after the one that answered is killed, and is in no file", async () => {
    const gateway = await startWorkers(2, { config: "" });
    opened.push(gateway);
    const token = await gateway.createToken("--project", "default");
    const made: string[] = [];
    for (let count = 0; count < 12; count++) {
      const body = { input: `${SECRET} ${count}`, stream: count % 2 === 1 };
      const { status, headers, json } = await ask(gateway, token, "/responses", { body });
      expect([status, headers.get("x-gateway-response-kept-until") !== null]).toEqual([200, true]);
      made.push(json["id"]);
      // at once, whichever worker it comes to
      expect((await ask(gateway, token, `/responses/${json["id"]}`)).status).toBe(200);
    }
    const [victim] = childrenOf(gateway.pid);
    process.kill(victim!, "SIGKILL");
    await until(() => !isRunning(victim!) && childrenOf(gateway.pid).length === 2, "another worker runs");
    for (const [count, id] of made.entries()) {
      const found = await untilFound(async () => {
        return ask(gateway, token, `/responses/${id}/input_items`).catch(() => null);
      }, "a worker answers");
      expect([found.status, found.json["data"][0].content[0].text]).toEqual([200, `${SECRET} ${count}`]);
      const next = await ask(gateway, token, "/responses", { body: { input: "And?", previous_response_id: id } });
      expect(next.status).toBe(200);
    }
    expect((await ask(gateway, token, `/responses/${made[0]}`, { method: "DELETE" })).status).toBe(200);
    for (let count = 0; count < 6; count++)
      expect((await ask(gateway, token, `/responses/${made[0]}`)).status).toBe(404);
    expect(filesWith(gateway.dataFolder, SECRET)).toEqual([]);
    expect(gateway.output()).not.toContain(SECRET);
  }, 120_000);
});

const hasRedis = findServer("redis-server") !== null;
if (!hasRedis) console.log("skipped: there is no redis-server on this machine");

describe.skipIf(!hasRedis)("replicas", () => {
  test("[d12.8] share a Redis, outlive a restart, and say so while it is away", async () => {
    const redis = await startRedis({ flags: ["--appendonly", "no"] });
    opened.push(redis);
    const environment = {
      DRAGOMAN_LIMIT_STORE_URL: redis.url,
      DRAGOMAN_MASTER_KEY: Buffer.from(new Uint8Array(32).fill(7)).toString("base64"),
    };
    const folder = mkdtempSync(join(tmpdir(), "dragoman-kept-"));
    const dataFolder = join(folder, "data");
    opened.push({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
    const first = await startGateway({ environment, dataFolder });
    opened.push(first);
    const token = await first.createToken("--project", "default");
    const made = await ask(first, token, "/responses", { body: { input: SECRET } });
    expect(made.headers.get("x-gateway-response-kept-until")).not.toBeNull();
    const path = `/responses/${made.json["id"]}`;

    const second = await startGateway({ environment, dataFolder });
    opened.push(second);
    expect((await ask(second, token, path)).json).toEqual(made.json);
    const follows = { input: "And?", previous_response_id: made.json["id"] };
    expect((await ask(second, token, "/responses", { body: follows })).status).toBe(200);
    await first.stop("SIGKILL");
    expect((await ask(second, token, path)).status).toBe(200);

    await redis.kill();
    for (const [at, body] of [
      [path, undefined],
      ["/responses", follows],
    ] as const) {
      const { status, json } = await ask(second, token, at, { ...(body !== undefined && { body }) });
      expect([status, json["error"].code]).toEqual([503, "kept_store_unavailable"]);
    }
    for (const stream of [false, true]) {
      const away = await ask(second, token, "/responses", { body: { input: "Hello", stream } });
      expect([away.status, away.headers.get("x-gateway-response-kept-until")]).toEqual([200, null]);
      expect(away.headers.get("x-gateway-warnings")).toContain("response_not_kept");
    }
    await redis.restart(false);
    const lost = await untilFound(async () => {
      const answer = await ask(second, token, path);
      return answer.status === 503 ? null : answer;
    }, "the gateway reaches the store again");
    expect(lost.status).toBe(404);
    expect(
      (await ask(second, token, "/responses", { body: { input: "Hello" } })).headers.get(
        "x-gateway-response-kept-until",
      ),
    ).not.toBeNull();
    await until(
      () => second.lines().filter(({ source }) => source === "kept_responses").length === 2,
      "the log has said that the store was away, and that it works again",
    );
  }, 120_000);
});

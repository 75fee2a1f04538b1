// Two workers as one gateway to those who look at it from outside: figures, targets, configuration, events and
// integrations are the machine's, whichever worker answers.
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until, untilFound } from "../../harness/time/until.ts";
import { openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { childrenOf, isRunning } from "../../harness/processes/processes.ts";
import { callAlone, startWorkers } from "../../harness/workers.ts";
import { MODEL, openWorkerWorld, statusOf, type WorkerWorld } from "./worker-world.ts";

/** So many requests on connections of their own reach both workers, but for one time in a million. */
const MANY = 20;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function openWorld(config?: string): Promise<WorkerWorld> {
  const world = await openWorkerWorld(config);
  ends.push(() => world.close());
  return world;
}

const call = ({ gateway }: WorkerWorld, body: object = MODEL): Promise<number> => statusOf(callAlone(gateway, body));
const calls = (world: WorkerWorld, count: number, body?: object): Promise<readonly number[]> =>
  Promise.all(Array.from({ length: count }, () => call(world, body)));

/** On a connection of its own. */
async function read({ gateway }: WorkerWorld, path: string): Promise<string> {
  const response = await fetch(gateway.url + path, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(5000),
  });
  return response.text();
}

const reads = (world: WorkerWorld, path: string, count = MANY): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, () => read(world, path)));

/** The value of a sample, 0 when there is none. */
function valueIn(metrics: string, sample: string): number {
  const line = metrics.split("\n").find((one) => one.startsWith(`${sample} `));
  return line === undefined ? 0 : Number(line.slice(sample.length + 1));
}

const COUNTED = 'dragoman_calls_total{provider="mine",model="model",status="200",stream="false"}';

interface StandingBody {
  readonly workers: { readonly count: number; readonly answered: number };
  readonly calls_in_flight: number;
  readonly targets: readonly { readonly target: string; readonly state: string; readonly calls_in_flight: number }[];
}
const standingOf = (text: string): StandingBody => JSON.parse(text) as StandingBody;

async function admin(
  { gateway }: WorkerWorld,
  token: string,
  method: string,
  path: string,
  body: object | null = null,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: any }> {
  const response = await fetch(`${gateway.url}/api/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, connection: "close", "content-type": "application/json", ...headers },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

describe("two workers as one gateway", () => {
  test("[d13.3] every worker counts for both, and no count falls when a worker dies or all are restarted", async () => {
    const world = await openWorld();
    expect(await calls(world, 30)).toEqual(Array.from({ length: 30 }, () => 200));
    await until(async () => valueIn(await read(world, "/metrics"), COUNTED) === 30);
    for (const metrics of await reads(world, "/metrics")) {
      expect(valueIn(metrics, COUNTED)).toBe(30);
      expect(valueIn(metrics, 'dragoman_workers{answered="true"}')).toBe(2);
      expect(valueIn(metrics, "dragoman_ledger_writable")).toBe(1);
      expect(valueIn(metrics, 'dragoman_worker_messages_total{receiver="supervisor"}')).toBeGreaterThan(0);
      expect(valueIn(metrics, 'dragoman_worker_bytes_total{receiver="workers"}')).toBeGreaterThan(0);
    }
    const [victim] = childrenOf(world.gateway.pid);
    process.kill(victim!, "SIGKILL");
    await until(() => !isRunning(victim!));
    await until(async () => {
      const text = await read(world, "/metrics").catch(() => "");
      if (text !== "") expect(valueIn(text, COUNTED)).toBe(30);
      return valueIn(text, 'dragoman_workers{answered="true"}') === 2;
    });
    await calls(world, 10);
    await until(async () => valueIn(await read(world, "/metrics"), COUNTED) === 40);
    const before = childrenOf(world.gateway.pid);
    process.kill(world.gateway.pid, "SIGUSR2");
    await until(() => before.every((pid) => !isRunning(pid)));
    for (const metrics of await reads(world, "/metrics")) expect(valueIn(metrics, COUNTED)).toBe(40);
  });

  test("[d13.3] readiness tells of the calls and targets of both, and a worker that does not answer holds nothing up", async () => {
    const world = await openWorld();
    world.hold(true);
    const running = calls(world, 12);
    await until(() => world.upstream.seen.length === 12);
    for (const text of await reads(world, "/readyz?verbose")) {
      const standing = standingOf(text);
      expect(standing.workers).toEqual({ count: 2, answered: 2 });
      expect(standing.calls_in_flight).toBe(12);
      expect(standing.targets).toMatchObject([{ target: "mine:model", calls_in_flight: 12 }]);
    }
    world.hold(false);
    await running;
    const [stopped] = childrenOf(world.gateway.pid);
    process.kill(stopped!, "SIGSTOP");
    const seen = await untilFound(async () => {
      const text = await read(world, "/readyz?verbose").catch(() => null);
      return text !== null && standingOf(text).workers.answered === 1 ? standingOf(text) : null;
    });
    expect(seen.workers).toEqual({ count: 2, answered: 1 });
    const metrics = await untilFound(() => read(world, "/metrics").catch(() => null));
    expect(valueIn(metrics, 'dragoman_workers{answered="false"}')).toBe(1);
    expect(valueIn(metrics, COUNTED)).toBeGreaterThan(0);
    process.kill(stopped!, "SIGCONT");
  });

  test("[d13.3] a breaker opens for both by the faults of both, and is reported once", async () => {
    const events: string[] = [];
    const receiver = Bun.serve({
      port: 0,
      async fetch(request) {
        events.push(((await request.json()) as { readonly type: string }).type);
        return new Response(null, { status: 204 });
      },
    });
    ends.push(() => receiver.stop(true));
    const world = await openWorld(`
routes:
  strict: {targets: ["mine:model"], on_exhausted: error, breaker: {failures: 6, ratio: 0.1, open_ms: 60000}}
webhooks:
  all: {url: "http://127.0.0.1:${receiver.port}/", secret: "whsec_${Buffer.alloc(32, 7).toString("base64")}"}
`);
    world.answerWith(500);
    const strict = { ...MODEL, model: "strict" };
    for (let faults = 0; faults < 6; faults++) expect(await call(world, strict)).toBe(502);
    await until(async () =>
      (await reads(world, "/readyz?verbose", 4)).every((text) => standingOf(text).targets[0]?.state === "open"),
    );
    const asked = world.upstream.seen.length;
    expect(new Set(await calls(world, MANY, strict))).toEqual(new Set([503]));
    expect(world.upstream.seen).toHaveLength(asked);
    await until(() => events.includes("target.breaker_opened"));
    // a worker that starts now knows it as well
    const before = childrenOf(world.gateway.pid);
    process.kill(world.gateway.pid, "SIGUSR2");
    await until(() => before.every((pid) => !isRunning(pid)));
    expect(new Set(await calls(world, MANY, strict))).toEqual(new Set([503]));
    expect(await world.gateway.stop("SIGTERM")).toBe(0);
    expect(events.filter((type) => type === "target.breaker_opened")).toHaveLength(1);
  });

  test("[d13.3] a target whose provider asks to wait rests at both", async () => {
    const world = await openWorld(`
routes:
  strict: {targets: ["mine:model"], on_exhausted: error}
`);
    const strict = { ...MODEL, model: "strict" };
    world.answerWith(429, { "retry-after": "60" });
    expect(await call(world, strict)).toBe(429);
    await until(async () =>
      (await reads(world, "/readyz?verbose", 4)).every((text) => standingOf(text).targets[0]?.state === "rate_limited"),
    );
    const statuses = await calls(world, MANY, strict);
    expect(world.upstream.seen).toHaveLength(1);
    expect(new Set(statuses).has(200)).toBe(false);
  });

  test.each([
    ["refuses", { status: 401 }],
    ["asks to wait", { status: 429, headers: { "retry-after": "600" } }],
  ])("[d13.3] a credential that a provider %s is avoided by both", async (_, refusal) => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-as-one-"));
    const keys: string[] = [];
    const upstream = startUpstream((request) => {
      keys.push(request.headers["authorization"] ?? "");
      return request.headers["authorization"] === "Bearer good"
        ? Response.json(openaiAnswer("hello"))
        : Response.json({ error: { message: "no" } }, refusal);
    });
    const gateway = await startWorkers(2, {
      dataFolder: join(folder, "data"),
      config: `
providers:
  mine:
    type: custom
    base_url: "${upstream.url}/v1"
    api_keys: [bad, good]
    models: [model]
`,
    });
    ends.push(async () => {
      await gateway.stop("SIGKILL");
      await upstream.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const refusals = (): number => keys.filter((key) => key === "Bearer bad").length;
    await until(async () => {
      await statusOf(callAlone(gateway, MODEL));
      return refusals() > 0;
    });
    if (refusal.status === 401)
      await until(() =>
        gateway.lines().some(({ msg }) => msg === "a credential was refused and is not used for a while"),
      );
    const round = () => Promise.all(Array.from({ length: MANY }, () => statusOf(callAlone(gateway, MODEL))));
    // The worker that was refused tells the other one, which may have calls under way.
    await until(async () => (await round()).every((status) => status === 200));
    const before = refusals();
    expect(new Set(await round())).toEqual(new Set([200]));
    expect(refusals()).toBe(before);
  });

  test("[d13.1] the places at a target are counted over both, wait in one queue, and are free when a worker dies", async () => {
    const world = await openWorld(`
routes:
  narrow: {targets: [{model: "mine:model", max_concurrency: 3}]}
`);
    const narrow = { ...MODEL, model: "narrow" };
    world.hold(true);
    const first = calls(world, 12, narrow);
    await until(() => world.upstream.seen.length === 3);
    await until(async () =>
      (await reads(world, "/metrics", 2)).every((metrics) => valueIn(metrics, "dragoman_calls_in_flight") === 12),
    );
    expect(world.upstream.seen).toHaveLength(3);
    world.hold(false);
    expect(await first).toEqual(Array.from({ length: 12 }, () => 200));
    expect(world.most()).toBe(3);
    world.hold(true);
    const lost = Array.from({ length: 3 }, () => call(world, narrow).catch(() => "reset"));
    await until(() => world.upstream.seen.length === 15);
    for (const pid of childrenOf(world.gateway.pid)) process.kill(pid, "SIGKILL");
    expect(new Set(await Promise.all(lost))).toEqual(new Set(["reset"]));
    world.hold(false);
    await until(async () => (await call(world, narrow).catch(() => 0)) === 200);
    expect(await calls(world, 12, narrow)).toEqual(Array.from({ length: 12 }, () => 200));
  });

  test("[d13.3] a change through one worker holds at both before it is answered", async () => {
    const world = await openWorld();
    const owner = await world.gateway.createToken("--personal", "--user", "owner");
    for (let round = 0; round < 5; round++) {
      const made = await admin(world, owner, "POST", "/projects/default/tokens", { name: `one ${round}` });
      expect(made.status).toBe(201);
      const { id, token } = made.body as { readonly id: string; readonly token: string };
      const statuses = (): Promise<readonly number[]> =>
        Promise.all(Array.from({ length: 8 }, () => statusOf(callAlone(world.gateway, MODEL, { token }))));
      expect(new Set(await statuses())).toEqual(new Set([200]));
      expect((await admin(world, owner, "POST", `/projects/default/tokens/${id}/revoke`)).status).toBeLessThan(300);
      expect(new Set(await statuses())).toEqual(new Set([401]));
    }
  });

  test("[d13.3] [d13.5] an answer that one worker has purged is given by none", async () => {
    const world = await openWorld("cache: { store: memory }");
    const owner = await world.gateway.createToken("--personal", "--user", "owner");
    for (const [scope, settings] of [
      ["/tenants/default", { cache_allowed: true }],
      ["/projects/default", { cache: { ttl_s: 600 } }],
    ] as const)
      expect((await admin(world, owner, "PATCH", `${scope}/settings`, settings)).status).toBe(200);
    for (let round = 1; round <= 3; round++) {
      for (let asked = 0; asked < MANY; asked++) expect(await call(world)).toBe(200);
      // once by each of the workers
      expect(world.upstream.seen).toHaveLength(2 * round);
      expect((await admin(world, owner, "POST", "/tenants/default/cache/purge", {})).status).toBe(200);
    }
  });

  test("[d13.3] one idempotency key is one change, whichever workers are asked", async () => {
    const world = await openWorld();
    const owner = await world.gateway.createToken("--personal", "--user", "owner");
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(
        Array.from({ length: 6 }, () =>
          admin(
            world,
            owner,
            "POST",
            "/projects",
            { id: `p${round}`, name: "P" },
            { "idempotency-key": `key-${round}` },
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201));
      expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
    }
  });

  test("[d13.3] thresholds and refusals are events of one gateway, and integrations get each call once", async () => {
    const events: { readonly type: string; readonly data: { readonly count?: number } }[] = [];
    const receiver = Bun.serve({
      port: 0,
      async fetch(request) {
        events.push((await request.json()) as (typeof events)[number]);
        return new Response(null, { status: 204 });
      },
    });
    ends.push(() => receiver.stop(true));
    const world = await openWorld(`
webhooks:
  all: {url: "http://127.0.0.1:${receiver.port}/", secret: "whsec_${Buffer.alloc(32, 7).toString("base64")}"}
budgets:
  small: {tokens: 5000, window: day, thresholds: [1]}
limits:
  hourly: {metric: requests, limit: 20, window: hour}
integrations:
  archive: {type: json_lines, path: FOLDER/calls.jsonl, batch_wait_ms: 50}
`);
    const statuses = [...(await calls(world, 15)), ...(await calls(world, 15))];
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    const ofType = (type: string) => events.filter((event) => event.type === type);
    await until(() => ofType("call.refused").length > 0 && ofType("budget.threshold_reached").length > 0);
    expect(await world.gateway.stop("SIGTERM")).toBe(0);
    const file = join(world.folder, "calls.jsonl");
    expect(existsSync(file)).toBe(true);
    const traces = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly trace_id?: string; readonly traceId?: string });
    expect(traces).toHaveLength(30);
    expect(new Set(traces.map((line) => JSON.stringify(line.trace_id ?? line.traceId))).size).toBe(30);
    // the first refusal at once, and the number of all others at the end
    expect(ofType("call.refused").length).toBeLessThanOrEqual(2);
    expect(ofType("budget.threshold_reached")).toHaveLength(1);
    expect(world.gateway.lines().filter(({ event }) => event === "budget_threshold")).toHaveLength(1);
  });
});

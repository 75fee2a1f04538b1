// Event webhooks with the real process, real sockets and real databases: receivers that are down, slow, always failing
// or moved, a process that is killed in between, and two gateways on one PostgreSQL.
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { newWebhookSecret } from "../../../src/observe/webhooks/webhook-settings.ts";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { type FakeUpstream, startUpstream } from "../../harness/servers/upstream.ts";
import { until } from "../../harness/time/until.ts";

const secret = newWebhookSecret();
const server = await postgresDatabases();
afterAll(() => server?.dispose());

interface Told {
  readonly id: string;
  readonly type: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

const HELLO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] };

describe("event webhooks of a running gateway", () => {
  let receiver: FakeUpstream;
  let answer: () => Response | Promise<Response>;
  let gateways: GatewayProcess[];
  let folders: string[];
  beforeEach(() => {
    answer = () => new Response("thanks");
    receiver = startUpstream(() => answer());
    gateways = [];
    folders = [];
  });
  afterEach(async () => {
    for (const gateway of gateways) await gateway.stop("SIGKILL");
    await receiver.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const config = (own = "", url = receiver.url): string => `
webhooks:
  all: {url: "${url}/all", secret: "\${HOOK_SECRET}", timeout_s: 1, max_attempts: 2${own}}
policies:
  no-streams: {rule: "request.stream", message: "no"}
routes:
  failing: {targets: ["sandbox:fail-500"], breaker: {failures: 2, ratio: 0.1}}
tenants:
  default:
    budgets:
      small: {tokens: 20000, window: day, thresholds: [10], assume_output_tokens: 10, scope: {route: budgeted}}
`;
  const start = async (
    text: string,
    own: { readonly dataFolder?: string; readonly environment?: Readonly<Record<string, string>> } = {},
  ): Promise<GatewayProcess> => {
    const gateway = await startGateway({
      config: text,
      environment: { HOOK_SECRET: secret, ...own.environment },
      ...(own.dataFolder !== undefined && { dataFolder: own.dataFolder }),
    });
    gateways.push(gateway);
    return gateway;
  };
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-webhooks-"));
    folders.push(folder);
    return folder;
  };
  /** Each of them verified, as a receiver would. */
  const told = (): readonly Told[] =>
    receiver.seen.map(
      ({ text, headers }) => new Verifier(secret).verify(text, headers as Record<string, string>) as Told,
    );
  /** What a test that waits in vain shows beside what it waited for. */
  const seenSoFar = (): string =>
    `received: ${JSON.stringify(receiver.seen.map(({ text }) => text.slice(0, 200)))}; ${gateways
      .map((one) =>
        one
          .output()
          .split("\n")
          .filter((line) => !line.includes('"msg":"call"'))
          .slice(-8)
          .join("\n"),
      )
      .join("\n---\n")}`;
  const untilSeen = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
    until(holds, () => `${what}; ${seenSoFar()}`);
  const adminOf = async (gateway: GatewayProcess) => {
    const token = await gateway.createToken("--personal", "--role", "owner");
    return {
      token,
      get: async (path: string) =>
        (await (
          await fetch(`${gateway.url}/api/v1/admin${path}`, { headers: { authorization: `Bearer ${token}` } })
        ).json()) as any,
      cli: (...args: readonly string[]) =>
        runCli(["webhook", ...args], cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token })),
    };
  };
  const drained = async (...responses: readonly Promise<Response>[]): Promise<void> => {
    for (const response of await Promise.all(responses)) await response.text();
  };

  test("[d4.6] [d11.4] tokens, refusals, breakers and budgets are reported, signed; a storm of refusals is one event, and nothing of a prompt or a secret is sent", async () => {
    const text = `${config()}\n`.replace("routes:\n", 'routes:\n  budgeted: {targets: ["sandbox:echo"]}\n');
    const gateway = await start(text);
    const token = await gateway.createToken();
    await drained(...Array.from({ length: 50 }, () => gateway.chat({ ...HELLO, stream: true })));
    for (let n = 0; n < 4; n++) await drained(gateway.chat({ ...HELLO, model: undefined, route: "failing" }));
    const long = {
      ...HELLO,
      model: undefined,
      route: "budgeted",
      max_tokens: 10,
      messages: [{ role: "user", content: "very secret words ".repeat(500) }],
    };
    for (let n = 0; n < 3; n++) await drained(gateway.chat(long));
    await untilSeen("all types", () => new Set(told().map(({ type }) => type)).size >= 4);
    await Bun.sleep(300);
    const of = (type: string): readonly Told[] => told().filter((one) => one.type === type);
    expect(of("call.refused").map(({ tenant_id: tenant, data }) => [tenant, data["rule"], data["count"]])).toEqual([
      ["default", "no-streams", 1],
    ]);
    expect(of("target.breaker_opened")).toMatchObject([
      { tenant_id: null, data: { provider: "sandbox", model: "fail-500", faults: 2 } },
    ]);
    expect(of("budget.threshold_reached")).toMatchObject([
      { tenant_id: "default", data: { budget: "small", percent: 10, unit: "tokens", limit: 20000 } },
    ]);
    expect(of("token.created").length).toBeGreaterThanOrEqual(1);
    expect(new Set(told().map(({ id }) => id)).size).toBe(receiver.seen.length);
    const all = receiver.seen.map((one) => one.text).join("\n");
    expect([
      all.includes("very secret words"),
      all.includes(token),
      all.includes(secret),
      /dgm_[pu]t_\w+_/.test(all),
    ]).toEqual([false, false, false, false]);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('dragoman_events_total{event="call.refused"} 1');
    expect(metrics).toMatch(/dragoman_webhook_attempts_total\{outcome="delivered"\} [4-9]/);
  });

  test("[d11.4] a receiver that always answers 500 gets its attempts, and a dead letter that can be shown and sent again, over the command line too", async () => {
    answer = () => new Response("a bad day", { status: 500 });
    const gateway = await start(config());
    const { cli, get } = await adminOf(gateway);
    const dead = async (): Promise<readonly any[]> => (await get("/webhook_deliveries?state=dead")).data;
    await untilSeen("a dead letter", async () => (await dead()).length > 0);
    const [letter] = await dead();
    expect(letter).toMatchObject({ webhook_id: "file.webhooks.all", attempts: 2, last_status: 500, tenant_id: null });
    expect((await get(`/webhook_deliveries/${letter.id}`)).history).toMatchObject([
      { status: 500, answer: "a bad day" },
      { status: 500 },
    ]);
    await untilSeen("its log line", () =>
      gateway.lines().some(({ event, delivery }) => event === "webhook_dead_letter" && delivery === letter.id),
    );
    const listed = await cli("deliveries", "--all", "--state", "dead");
    expect([listed.code, listed.stdout.includes(letter.id), listed.stdout.includes("answered 500")]).toEqual([
      0,
      true,
      true,
    ]);
    answer = () => new Response("better now");
    const again = await cli("redeliver", letter.id, "--all");
    expect([again.code, again.stdout.trim()]).toEqual([0, `The delivery ${letter.id} has been queued again.`]);
    await untilSeen(
      "it was sent again",
      async () => (await get(`/webhook_deliveries/${letter.id}`)).state === "delivered",
    );
    const tried = await cli("test", "all");
    expect([tried.code, tried.stdout]).toEqual([0, expect.stringContaining("accepted the event")]);
    expect(told().at(-1)).toMatchObject({ type: "webhook.test", data: { webhook: "all" } });
  });

  test("[d11.4] a receiver that is down, hangs or redirects slows no call, and gets what it missed when it is back", async () => {
    const port = new URL(receiver.url).port;
    await receiver.stop();
    const gateway = await start(config(", events: ['token.*']").replace("max_attempts: 2", "max_attempts: 5"));
    await untilSeen("the first attempt failed", async () =>
      (await (await fetch(`${gateway.url}/metrics`)).text()).includes(
        'dragoman_webhook_attempts_total{outcome="failed"} 1',
      ),
    );
    // the calls are answered while the receiver is still down
    for (let n = 0; n < 50; n++) expect((await gateway.chat(HELLO)).status).toBe(200);
    expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
      'dragoman_webhook_attempts_total{outcome="delivered"} 0',
    );
    const seen: string[] = [];
    const back = Bun.serve({
      hostname: "127.0.0.1",
      port: Number(port),
      fetch: async (request) => {
        seen.push(request.headers.get("webhook-id")!);
        await request.text();
        return new Response("");
      },
    });
    await untilSeen("what it missed", () => seen.length > 0);
    await Bun.sleep(200);
    expect(new Set(seen).size).toBe(seen.length);
    await back.stop(true);
    receiver = startUpstream(() => answer());
  });

  test("[d11.4] kill -9 between an event and its delivery: it is delivered after the next start", async () => {
    const dataFolder = join(newFolder(), "data");
    let isHanging = true;
    answer = async () => {
      if (isHanging) await Bun.sleep(60_000);
      return new Response("thanks");
    };
    const first = await start(config(", events: ['token.created']"), { dataFolder });
    await untilSeen("the delivery is under way", () => receiver.seen.length > 0);
    // one more that is written down and was never tried, or is being tried
    await first.createToken();
    await first.stop("SIGKILL");
    const before = receiver.seen.length;
    isHanging = false;
    await start(config(", events: ['token.created']"), { dataFolder });
    await untilSeen(
      "both tokens were reported after the start",
      () => new Set(receiver.seen.slice(before).map(({ headers }) => headers["webhook-id"])).size >= 2,
    );
    const tokens = new Set(told().map(({ data }) => data["token_id"]));
    expect(tokens.size).toBe(2);
  });

  test("[d11.4] webhooks of the database come and go while it runs: created over the command line, removed after 410", async () => {
    const gateway = await start("providers: {allow_private_addresses: true}\n");
    const { cli, get } = await adminOf(gateway);
    const made = await cli("create", "mine", "--set", `url=${receiver.url}/mine`, "--set", 'events=["token.*"]');
    const own = /whsec_\S+/.exec(made.stdout)?.[0] ?? "";
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("shown only now: whsec_")]);
    await gateway.createToken();
    await untilSeen("the token was told", () => receiver.seen.length > 0);
    expect(
      new Verifier(own).verify(receiver.last().text, receiver.last().headers as Record<string, string>),
    ).toMatchObject({ type: "token.created", tenant_id: "default" });
    const rotated = await cli("rotate", "mine");
    const next = /whsec_\S+/.exec(rotated.stdout)![0];
    expect((await cli("test", "mine")).code).toBe(0);
    for (const one of [own, next])
      expect(() =>
        new Verifier(one).verify(receiver.last().text, receiver.last().headers as Record<string, string>),
      ).not.toThrow();
    answer = () => new Response("bye", { status: 410 });
    const refused = await cli("test", "mine");
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining("answered 410")]);
    await untilSeen("it is switched off", async () => (await get("/tenants/default/webhooks/mine")).enabled === false);
    const sent = receiver.seen.length;
    await gateway.createToken();
    await Bun.sleep(500);
    expect(receiver.seen).toHaveLength(sent);
  });

  test.skipIf(server === null)(
    "[d4.6] [d11.4] two gateways on one PostgreSQL: each event is delivered once, also a threshold that both of them see",
    async () => {
      const environment = {
        DATABASE_URL: await server!.newDatabase(),
        DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
      };
      const text = config().replace("routes:\n", 'routes:\n  budgeted: {targets: ["sandbox:echo"]}\n');
      const one = await start(text, { environment });
      const two = await start(text, { environment });
      const tokens: string[] = [];
      for (let n = 0; n < 3; n++) {
        const made = await runCli(
          ["token", "create", "--json", "--name", `t${n}`, "--project", "default", "--data", newFolder()],
          cleanEnvironment(environment),
        );
        tokens.push((JSON.parse(made.stdout) as { token: string }).token);
      }
      await Bun.sleep(500);
      const long = {
        model: undefined,
        route: "budgeted",
        max_tokens: 10,
        messages: [{ role: "user", content: "words ".repeat(3000) }],
      };
      for (const gateway of [one, two])
        for (let n = 0; n < 2; n++) await drained(gateway.chat(long, { token: tokens[0]! }));
      await untilSeen(
        "tokens and threshold",
        () =>
          told().filter(({ type }) => type === "token.created").length >= 4 &&
          told().some(({ type }) => type === "budget.threshold_reached"),
      );
      await Bun.sleep(2500);
      const ids = told().map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(told().filter(({ type }) => type === "token.created")).toHaveLength(4);
      expect(told().filter(({ type }) => type === "budget.threshold_reached")).toHaveLength(1);
      // both of them saw it
      for (const gateway of [one, two])
        await untilSeen("its own log line", () => gateway.lines().some(({ event }) => event === "budget_threshold"));
    },
  );
});

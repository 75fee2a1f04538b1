// Mirrors of routes in the real process, whose providers hang, fail, cost and never end: the answers of the calls stay as
// they are, the memory of the gateway stays bounded, nobody is charged for copies, and the pairs are compared.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { runHere } from "../harness/processes/command-line.ts";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../harness/servers/upstream.ts";
import { until } from "../harness/time/until.ts";

const PIECE = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "word ".repeat(13_000) }, finish_reason: null }] })}\n\n`;
const MOST_MB = 1024;

/** What the mirror of each model does: `sent` counts the bytes of the answer that never ends. */
let sentMb = 0;
function mirrorAnswer(model: string, isStream: boolean): Response | Promise<Response> {
  if (model === "hangs") return new Promise(() => {});
  if (model === "fails") return Response.json({ error: { message: "no" } }, { status: 500 });
  if (model === "endless" && isStream) {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sentMb > MOST_MB) return controller.close();
        controller.enqueue(Buffer.from(PIECE));
        sentMb += PIECE.length / 1_048_576;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
  if (model === "endless") {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sentMb > MOST_MB) return controller.close();
        controller.enqueue(new Uint8Array(65_536).fill(32));
        sentMb += 1 / 16;
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }
  return Response.json({
    id: "c",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: { role: "assistant", content: "A copy." }, finish_reason: "length" }],
    usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
  });
}

const PROMPTED = {
  id: "c",
  object: "text_completion",
  created: 1,
  model: "costs",
  choices: [{ index: 0, text: "A copy.", logprobs: null, finish_reason: "length" }],
  usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
};

let upstream: FakeUpstream;
let gateway: GatewayProcess;
let admin: string;
beforeAll(async () => {
  upstream = startUpstream(({ body }) =>
    "prompt" in body ? Response.json(PROMPTED) : mirrorAnswer(body["model"] as string, body["stream"] === true),
  );
  const mirrored = (target: string, further: object = {}) => ({
    targets: ["sandbox:echo"],
    mirror: { target: `other:${target}`, other_vendors: true, ...further },
  });
  const config = {
    providers: { other: { type: "custom", base_url: `${upstream.url}/v1`, native: ["completions"] } },
    prices: { costly: { model: "other:costs", prompt: "5000", completion: "5000" } },
    routes: {
      hangs: mirrored("hangs", { timeout_ms: 500 }),
      stuck: mirrored("hangs", { max_in_flight: 1 }),
      fails: mirrored("fails"),
      endless: mirrored("endless"),
      costs: mirrored("costs"),
      costs_too: mirrored("costs"),
      private: { targets: ["sandbox:echo"], mirror: { target: "other:costs" } },
    },
  };
  gateway = await startGateway({
    config: Object.entries(config)
      .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
      .join(""),
  });
  admin = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const MESSAGES = [{ role: "user", content: "Hello" }];
const lineOf = (traceId: string): Record<string, any> | undefined =>
  gateway.lines().find((line) => line["trace_id"] === traceId);
const copyOf = (traceId: string): Record<string, any> | undefined =>
  gateway.lines().find((line) => line["mirror_of"] === traceId);

async function asked(route: string, body: object = {}) {
  const response = await gateway.chat({ model: route, messages: MESSAGES, ...body });
  const text = await response.text();
  const traceId = response.headers.get("x-gateway-trace-id")!;
  await until(() => lineOf(traceId) !== undefined);
  return { status: response.status, text, line: lineOf(traceId)!, traceId };
}
async function copied(traceId: string): Promise<Record<string, any>> {
  await until(() => copyOf(traceId) !== undefined);
  return copyOf(traceId)!;
}
async function read(path: string): Promise<any> {
  const response = await fetch(`${gateway.url}/api/v1/admin${path}`, { headers: { authorization: `Bearer ${admin}` } });
  return response.json();
}

describe("[d16.1] a mirror", () => {
  test("that hangs ends with its own time, and the call has long been answered", async () => {
    const { status, text, line, traceId } = await asked("hangs");
    expect(status).toBe(200);
    expect(copyOf(traceId)).toBeUndefined();
    expect(text).toContain("Hello");
    const copy = await copied(traceId);
    expect(copy).toMatchObject({ code: "upstream_timeout", route: "hangs", provider: "other" });
    expect(line["mirror"]).toMatchObject({ target: "other:hangs", trace_id: copy["trace_id"] });
  });

  test("that fails changes nothing", async () => {
    const { status, line, traceId } = await asked("fails", { stream: true });
    expect([status, line["code"]]).toEqual([200, undefined]);
    expect(await copied(traceId)).toMatchObject({ code: "upstream_error", attempts: [{ status: 500 }] });
  });

  test.each([
    ["/api/v1/messages", "messages", { max_tokens: 50, messages: MESSAGES }],
    ["/api/v1/responses", "responses", { input: "Hello" }],
    ["/api/v1/completions", "completions", { prompt: "Hello" }],
  ])("gets copies of %s", async (path, operation, body) => {
    const response = await gateway.chat({ model: "costs_too", ...body }, { path });
    expect([response.status, (await response.text()).includes("A copy.")]).toEqual([200, false]);
    const traceId = response.headers.get("x-gateway-trace-id")!;
    expect(await copied(traceId)).toMatchObject({ operation, status: 200, provider: "other", finish: ["length"] });
  });

  test.each([[true], [false]])("whose answer never ends is cut, and takes no memory (stream: %p)", async (stream) => {
    sentMb = 0;
    const before = gateway.rssMb();
    const { status, traceId } = await asked("endless", { stream });
    expect(status).toBe(200);
    expect((await copied(traceId))["code"]).toMatch(/^upstream_/);
    expect(sentMb).toBeLessThan(MOST_MB / 4);
    expect(gateway.rssMb() - before).toBeLessThan(150);
  });

  test("beyond its bound drops copies, which the line and the metrics tell", async () => {
    const first = await asked("stuck");
    const second = await asked("stuck");
    expect(first.line["mirror"].trace_id).toBeDefined();
    expect(second.line["mirror"]).toEqual({
      route: "stuck",
      target: "other:hangs",
      dropped: "too many copies are in flight",
    });
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('dragoman_copies_total{route="stuck",outcome="dropped"} 1');
  });

  test("that is at another vendor gets nothing of a project whose content is not kept", async () => {
    const { line } = await asked("private");
    expect(line["mirror"].dropped).toBe("its content is not kept, and the mirror is at another vendor");
  });

  test("that costs charges nobody, and the comparison shows both sides", async () => {
    const made = [await asked("costs"), await asked("costs")];
    for (const { traceId } of made) expect((await copied(traceId))["cost_nano_usd"]).toBe(10_000_000_000);
    const compared = (): Promise<any> => read("/projects/default/routes/costs/compare");
    await until(async () => (await compared()).pairs === 2);
    expect(await compared()).toMatchObject({
      route: "costs",
      calls: { targets: { "sandbox:echo": 2 }, errors: 0, finish_reasons: { stop: 2 } },
      copies: {
        targets: { "other:costs": 2 },
        errors: 0,
        finish_reasons: { length: 2 },
        cost_usd: "20",
        completion_tokens: 2000,
      },
    });
    const table = await runHere(
      ["route", "compare", "costs", "--project", "default"],
      cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: admin }),
      gateway.folder,
    );
    expect([table.code, table.stderr]).toEqual([0, ""]);
    expect(table.stdout).toMatch(/^targets +2 sandbox:echo +2 other:costs$/m);
    expect(table.stdout).toMatch(/^finish reasons +2 stop +2 length$/m);
    expect(table.stdout).toMatch(/^time to the first content in ms: p50, p95 /m);
    const { data } = await read("/projects/default/usage?group_by=route&route=costs");
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ group: { route: "costs" }, calls: 2 });
    expect(Number(data[0].cost_usd)).toBeLessThan(1);
    const { data: listed } = await read("/projects/default/logs?route=costs&mirrored=true");
    expect(listed.map(({ mirror_of: of }: any) => of).toSorted()).toEqual(
      made.map(({ traceId }) => traceId).toSorted(),
    );
    const [found] = (await read(`/projects/default/logs?mirror_of=${made[0]!.traceId}`)).data;
    expect(found.trace_id).toBe(made[0]!.line["mirror"].trace_id);
  });

  test("in flight at the end of the gateway is cut: nobody waits for it", async () => {
    const begun = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - begun).toBeLessThan(60_000);
    const stuck = gateway.lines().filter((line) => line["mirror_of"] !== undefined && line["route"] === "stuck");
    expect(stuck.map(({ code }) => code)).toEqual(["shutting_down"]);
  });
});

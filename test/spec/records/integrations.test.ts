// Integrations cannot slow or fail a call, whatever their receivers do (promise 11.4); which records they receive, and which not.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import type { CallContent } from "../../../src/core/configured/content.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { newTraceId } from "../../../src/core/ids.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { parseJson } from "../../../src/wire/json/json.ts";
import { recordOf } from "../../contract/store/call-records.ts";
import { type OpenedIntegrations, openTestIntegrations } from "../../harness/integrations.ts";

const SECRET = `whsec_${Buffer.from("0123456789012345678901234567").toString("base64")}`;
const linesOf = (file: string): readonly Record<string, any>[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, any>)
    : [];
const CALLBACK = { type: "callback", module: "./module.ts", batch_wait_ms: 10 };
const FILE = (opened: string): object => ({ type: "json_lines", path: opened, batch_wait_ms: 10 });
const CONTENT: CallContent = { messages: [{ role: "user", content: "said in confidence" }], tools: [], answers: [] };

/** One call; the machine may have other things to do. A thread that loops is given up after three seconds. */
const NO_WAIT_MS = 2000;

/** What the thread of a call spends: nothing here may take long, whatever the module does. */
function publish(
  { integrations }: OpenedIntegrations,
  count: number,
  parts: Parameters<typeof recordOf>[0] = {},
): { readonly longestMs: number; readonly records: readonly CallRecord[] } {
  let longestMs = 0;
  const records = Array.from({ length: count }, () => {
    const record = recordOf(parts);
    const startedMs = performance.now();
    integrations.publish(record, null);
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    return record;
  });
  return { longestMs, records };
}

describe("a callback module", () => {
  const RECORDER = `
    import { appendFileSync } from "node:fs";
    const tell = (kind) => (...said) => appendFileSync("OUT/told.jsonl", JSON.stringify({ kind, said }) + "\\n");
    export const onCallStart = tell("start");
    export const onCallEnd = tell("end");
    export const onStreamChunk = tell("chunk");`;

  test("[d11.4] receives beginnings, ends and pieces of streams, in this order, with the record and the client's metadata", async () => {
    await using opened = openTestIntegrations({ mine: { ...CALLBACK, stream_chunks: 1 } }, { "module.ts": RECORDER });
    const record = recordOf({
      stream: true,
      metadata: parseJson('{"__proto__":{"a":1},"team":"x","order":12345678901234567890}') as JsonObject,
    });
    opened.integrations.admitted!(record);
    const piece = opened.integrations.chunks!(record)!;
    piece(120, 3.5);
    piece(80, 4.5);
    opened.integrations.publish(record, null);
    const file = join(opened.folder, "out/told.jsonl");
    await opened.until(() => linesOf(file).length === 4);
    const [start, first, second, end] = linesOf(file);
    expect([start, first, second, end].map((line) => line!["kind"])).toEqual(["start", "chunk", "chunk", "end"]);
    expect(start!["said"][0]).toMatchObject({
      traceId: record.traceId,
      modelAsked: "openai:gpt-4o",
      tenantId: "acme",
      stream: true,
    });
    expect([first!["said"][0], second!["said"][0]]).toEqual([
      { traceId: record.traceId, index: 0, atMs: 3.5, characters: 120 },
      { traceId: record.traceId, index: 1, atMs: 4.5, characters: 80 },
    ]);
    // read as text: JSON.parse would round the number here
    const texts = readFileSync(file, "utf8").split("\n");
    expect(texts[3]).toBe(`{"kind":"end","said":${JSON.stringify([record, null])}}`);
    expect(texts[0]).toContain(`"metadata":${JSON.stringify(record.metadata)}`);
    // the module has written its line before the sink hears of it
    await opened.until(() => opened.standing("mine").sums.queued === 0);
    expect(opened.standing("mine")).toMatchObject({ sums: { delivered: 4, queued: 0, refused: 0 }, restarts: 0 });
  });
  test("[d11.3] receives content only where it asks for it", async () => {
    await using opened = openTestIntegrations(
      { without: CALLBACK, with: { ...CALLBACK, module: "./other.ts", content: true } },
      { "module.ts": RECORDER, "other.ts": RECORDER.replaceAll("told.jsonl", "other.jsonl") },
    );
    opened.integrations.publish(recordOf(), CONTENT);
    const [without, withContent] = ["told", "other"].map((name) => join(opened.folder, `out/${name}.jsonl`));
    await opened.until(() => linesOf(without!).length === 1 && linesOf(withContent!).length === 1);
    expect(readFileSync(without!, "utf8")).not.toContain("in confidence");
    expect(linesOf(withContent!)[0]!["said"][1]).toEqual(CONTENT);
  });
  test("[d11.4] that throws and rejects still receives the next call, and each failure is counted", async () => {
    await using opened = openTestIntegrations(
      { mine: CALLBACK },
      {
        "module.ts": `let n = 0; export const onCallEnd = async () => { n += 1; if (n % 3 === 0) throw new Error("no. " + n); if (n % 3 === 1) return Promise.reject("odd"); };`,
      },
    );
    publish(opened, 30);
    await opened.until(() => opened.standing("mine").sums.delivered === 10);
    expect(opened.standing("mine")).toMatchObject({ sums: { refused: 20 }, restarts: 0 });
    expect(opened.logged.filter(({ message }) => message === "deliveries to an integration fail").length).toBeLessThan(
      3,
    );
  });
  test("[d11.4] that loops forever is terminated and restarted, the calls that it held are counted, and publishing never waits", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, hang_s: 3 } },
      {
        "module.ts": `import { appendFileSync } from "node:fs"; export const onCallEnd = ({ modelAsked }) => { if (modelAsked === "loop") for (;;); appendFileSync("OUT/told", "x\\n"); };`,
      },
    );
    publish(opened, 3);
    await opened.until(() => opened.standing("mine").sums.delivered === 3);
    publish(opened, 1, { modelAsked: "loop" });
    await Bun.sleep(100);
    const { longestMs } = publish(opened, 200);
    expect(longestMs).toBeLessThan(NO_WAIT_MS);
    await opened.until(() => opened.standing("mine").restarts === 1);
    expect(opened.standing("mine").sums.thread_ended).toBe(201);
    publish(opened, 5);
    await opened.until(() => opened.standing("mine").sums.delivered === 8);
    expect(opened.logged).toContainEqual({
      level: "warn",
      message: "the thread of integrations ended and is restarted",
      fields: { integrations: ["mine"], error_detail: expect.stringContaining("no sign of life") },
    });
  });
  test("[d11.4] is not terminated for many short calls in a row, however long they take together", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, hang_s: 1 } },
      {
        "module.ts": `export const onCallEnd = () => { const endMs = performance.now() + 20; while (performance.now() < endMs); };`,
      },
    );
    publish(opened, 200);
    await opened.until(() => opened.standing("mine").sums.delivered === 200 || opened.standing("mine").restarts > 0);
    expect(opened.standing("mine")).toMatchObject({ sums: { delivered: 200, thread_ended: 0 }, restarts: 0 });
  });
  test.each([
    ["ends the process", "process.exit(7);", "code 7"],
    [
      "throws outside of its functions",
      "setTimeout(() => { throw new Error('late'); }, 1); await new Promise((resolve) => setTimeout(resolve, 100));",
      "late",
    ],
    [
      "leaves a rejection alone",
      "Promise.reject(new Error('alone')); await new Promise((resolve) => setTimeout(resolve, 100));",
      "alone",
    ],
  ])("[d11.4] a callback that %s ends its thread and nothing else", async (_, code, why) => {
    await using opened = openTestIntegrations(
      { mine: CALLBACK },
      {
        "module.ts": `export const onCallEnd = async ({ modelAsked }) => { if (modelAsked === "bad") { ${code} } };`,
      },
    );
    publish(opened, 1, { modelAsked: "bad" });
    await opened.until(() => opened.standing("mine").restarts === 1);
    publish(opened, 4);
    await opened.until(() => opened.standing("mine").sums.delivered >= 4);
    expect(opened.logged.find(({ message }) => message.startsWith("the thread of"))!.fields["error_detail"]).toContain(
      why,
    );
  });
  test("[d11.4] whose heap grows is terminated and restarted", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, max_memory_bytes: 64 * 1024 * 1024 } },
      {
        "module.ts": `const kept = []; export const onCallEnd = async () => { for (let n = 0; n < 40; n++) { kept.push(Array.from({ length: 50000 }, (_, index) => ({ index }))); await new Promise((resolve) => setTimeout(resolve, 10)); } };`,
      },
    );
    publish(opened, 1);
    await opened.until(() => opened.standing("mine").restarts === 1);
    expect(opened.logged.some(({ fields }) => String(fields["error_detail"]).startsWith("its heap has grown to"))).toBe(
      true,
    );
  });
  test("[d11.4] that is slow receives the newest calls, and those that were dropped are counted", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, queue_calls: 50, timeout_ms: 100 } },
      { "module.ts": `export const onCallEnd = () => new Promise((resolve) => setTimeout(resolve, 20));` },
    );
    const { longestMs } = publish(opened, 5000);
    expect(longestMs).toBeLessThan(NO_WAIT_MS);
    await opened.until(() => opened.standing("mine").sums.queue_full > 0 && opened.standing("mine").sums.delivered > 0);
    const { sums } = opened.standing("mine");
    expect(sums.queued).toBeLessThanOrEqual(50 + 256);
  });
  test("[d11.4] whose promise never settles is abandoned after timeout_ms", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, timeout_ms: 100 } },
      {
        "module.ts": `export const onCallEnd = ({ modelAsked }) => modelAsked === "never" ? new Promise(() => {}) : undefined;`,
      },
    );
    publish(opened, 1, { modelAsked: "never" });
    publish(opened, 2);
    await opened.until(() => opened.standing("mine").sums.delivered === 2);
    expect(opened.standing("mine").sums.refused).toBe(1);
  });
  test("that is missing, has a mistake or exports nothing fails with a clear message, and stops nothing", async () => {
    await using opened = openTestIntegrations(
      {
        none: { ...CALLBACK, module: "./none.ts" },
        broken: { ...CALLBACK, module: "./broken.ts" },
        empty: { ...CALLBACK, module: "./empty.ts" },
      },
      { "broken.ts": "export const onCallEnd = (;", "empty.ts": "export const other = 1;" },
    );
    publish(opened, 2);
    await opened.until(() => opened.logged.length === 3);
    expect(opened.integrations.statuses().map(({ sums }) => sums.failing)).toEqual([1, 1, 1]);
    const words = new Map(opened.logged.map(({ fields }) => [fields["integration"], String(fields["error_detail"])]));
    expect(words.get("empty")).toContain("exports none of onCallStart, onCallEnd, onStreamChunk");
    expect(words.get("none")).toContain("none.ts");
  });
});

describe("what an integration receives", () => {
  test("[d11.4] the calls of its tenants, projects, errors or sample alone, as configured, and none of callers without a token", async () => {
    const paths = ["all", "acme", "site", "errors", "half", "off"];
    const scopes: Readonly<Record<string, object>> = {
      acme: { tenants: ["acme"] },
      site: { tenants: ["acme"], projects: ["site"] },
      errors: { only: "errors" },
      half: { sample: 0.5 },
      off: { sample: 0 },
    };
    const folder = openTestIntegrations({ any: CALLBACK }, { "module.ts": "export const onCallEnd = () => {};" });
    await using _closing = folder;
    const file = (name: string): string => join(folder.folder, `out/${name}.jsonl`);
    await using opened = openTestIntegrations({
      ...Object.fromEntries(paths.map((name) => [name, { ...FILE(file(name)), ...scopes[name] }])),
      disabled: { ...FILE(file("disabled")), enabled: false },
    });
    const random = (): string => newTraceId(Date.now());
    for (let count = 0; count < 200; count++) publish(opened, 1, { traceId: random() });
    publish(opened, 1, { traceId: random(), projectId: "shop" });
    publish(opened, 1, { traceId: random(), tenantId: "other" });
    publish(opened, 1, { traceId: random(), tenantId: "other", code: "upstream_error", status: 502 });
    const stranger = { tenantId: null, tokenId: null, projectId: null };
    publish(opened, 5, { ...stranger, code: "invalid_token", status: 401 });
    publish(opened, 5, { ...stranger, code: "operation_not_served", status: 404 });
    publish(opened, 5, { ...stranger, code: "login_unavailable", status: 503 });
    await opened.until(
      () =>
        linesOf(file("all")).length === 203 && opened.integrations.statuses().every(({ sums }) => sums.queued === 0),
    );
    const counts = Object.fromEntries([...paths, "disabled"].map((name) => [name, linesOf(file(name)).length]));
    expect(counts).toMatchObject({ all: 203, acme: 201, site: 200, errors: 1, off: 0, disabled: 0 });
    expect(counts["half"]!).toBeGreaterThan(60);
    expect(counts["half"]!).toBeLessThan(142);
  });
  test("[d11.3] content that is too large is left out and counted, and its record is still delivered", async () => {
    await using opened = openTestIntegrations(
      { mine: { ...CALLBACK, content: true } },
      {
        "module.ts": `import { writeFileSync } from "node:fs"; export const onCallEnd = (record, content) => writeFileSync("OUT/told", JSON.stringify(content));`,
      },
    );
    opened.integrations.publish(recordOf(), {
      ...CONTENT,
      messages: [{ role: "user", content: "x".repeat(5 * 1024 * 1024) }],
    });
    await opened.until(() => opened.standing("mine").sums.delivered === 1);
    expect(readFileSync(join(opened.folder, "out/told"), "utf8")).toBe("null");
    expect(opened.standing("mine").contentsLeftOut).toBe(1);
  });
});

describe("sinks in their thread", () => {
  test("[d11.4] a dead receiver delays no other, its failure and its recovery are reported once, and nothing that fits the queue is lost", async () => {
    let isDown = true;
    const ids: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const body = await request.text();
        if (isDown) return new Response("no", { status: 503 });
        const { data } = new Webhook(SECRET).verify(body, request.headers.toJSON()) as {
          data: { calls: readonly { trace_id: string }[] };
        };
        ids.push(...data.calls.map(({ trace_id: id }) => id));
        return new Response(null, { status: 204 });
      },
    });
    await using opened = openTestIntegrations(
      {
        hook: { type: "webhook", url: `http://127.0.0.1:${server.port}/`, secrets: [SECRET], batch_wait_ms: 10 },
        mine: CALLBACK,
      },
      { "module.ts": "export const onCallEnd = () => {};" },
    );
    const { records } = publish(opened, 300);
    await opened.until(
      () => opened.standing("mine").sums.delivered === 300 && opened.standing("hook").sums.failures > 1,
    );
    expect(opened.standing("hook").sums).toMatchObject({ delivered: 0, queued: 300, failing: 1 });
    isDown = false;
    await opened.until(() => opened.standing("hook").sums.delivered === 300 && opened.logged.length === 2);
    expect(ids).toEqual(records.map(({ traceId }) => traceId));
    expect(opened.logged.map(({ message }) => message)).toEqual([
      "deliveries to an integration fail",
      "deliveries to an integration work again",
    ]);
    await server.stop(true);
  });
  test("[d11.4] at the end of the process the waiting records are delivered within the time allowed, and the rest are counted and reported", async () => {
    const opened = openTestIntegrations(
      {
        dead: { type: "webhook", url: "http://127.0.0.1:9/", secrets: [SECRET] },
        mine: { ...CALLBACK, batch_wait_ms: 60_000 },
      },
      { "module.ts": "export const onCallEnd = () => {};" },
    );
    publish(opened, 40);
    const startedMs = performance.now();
    await opened.integrations.end(2000);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    expect([opened.standing("mine").sums.delivered, opened.standing("dead").sums.shutdown]).toEqual([40, 40]);
    expect(opened.logged).toContainEqual({
      level: "warn",
      message: "the last calls could not be sent to an integration",
      fields: { integration: "dead", calls: 40 },
    });
    await opened[Symbol.asyncDispose]();
  });
});

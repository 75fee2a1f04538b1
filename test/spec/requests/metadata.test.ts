// `metadata`: what a client says about a call is logged with it, everywhere, unchanged; and hostile metadata does no
// harm.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../../harness/servers/upstream.ts";
import { untilFound } from "../../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-metadata-"));
const file = join(folder, "calls.jsonl");
let receiver: FakeUpstream;
let gateway: GatewayProcess;
let admin: string;
beforeAll(async () => {
  receiver = startUpstream(() => new Response(null, { status: 204 }));
  gateway = await startGateway({
    dataFolder: join(folder, "data"),
    config: `integrations:\n  lines: { type: json_lines, path: "${file}" }\n  told: { type: webhook, url: "${receiver.url}/in", secrets: ["whsec_${btoa("a secret of thirty-two characters")}"] }\n`,
  });
  admin = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The request's text as it stands: JSON.stringify would leave `__proto__` out of an object literal, and change numbers. */
async function ask(
  metadata: string,
  stream = false,
): Promise<{
  readonly status: number;
  readonly traceId: string;
  readonly error: { readonly code: string; readonly param: string | null; readonly message: string } | null;
}> {
  const response = await gateway.chat(
    `{"model": "sandbox:echo", "stream": ${stream}, "messages": [{"role": "user", "content": "Hi"}], "metadata": ${metadata}}`,
  );
  const text = await response.text();
  const error =
    response.status < 400
      ? null
      : (JSON.parse(text) as { error: { code: string; param: string | null; message: string } }).error;
  return { status: response.status, traceId: response.headers.get("x-gateway-trace-id")!, error };
}

interface Places {
  readonly log: string;
  readonly kept: string;
  readonly file: string;
  readonly webhook: string;
}

/** The very text in which each place tells of the call. */
async function places(traceId: string): Promise<Places> {
  const has = (text: string): boolean => text.includes(traceId);
  return {
    log: await untilFound(() =>
      gateway
        .output()
        .split("\n")
        .find((line) => has(line) && line.includes('"msg":"call"')),
    ),
    kept: await untilFound(async () => {
      const response = await fetch(`${gateway.url}/api/v1/admin/calls/${traceId}`, {
        headers: { authorization: `Bearer ${admin}` },
      });
      const text = await response.text();
      return response.status === 200 && text.includes('"metadata"') ? text : undefined;
    }),
    // the last one may not have been written whole yet
    file: await untilFound(() =>
      existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1).find(has) : undefined,
    ),
    webhook: await untilFound(() => receiver.seen.find(({ text }) => has(text))?.text),
  };
}

/** `metadata` where it stands in a text: compared as text, for what JSON.parse would not show. */
function metadataIn(text: string): string {
  const at = text.indexOf('"metadata":') + '"metadata":'.length;
  let depth = 0;
  for (let end = at; end < text.length; end++) {
    if (text[end] === '"') for (end++; text[end] !== '"'; end++) if (text[end] === "\\") end++;
    if (text[end] === "{") depth++;
    if (text[end] === "}" && --depth === 0) return text.slice(at, end + 1);
  }
  throw new Error("no metadata");
}

describe("[s:gateway.metadata] metadata is logged with the call", () => {
  test.each([
    ["plain", false],
    ["streamed", true],
  ] as const)("%s: unchanged in the log line, in the stored call, in a file and at a webhook", async (_, stream) => {
    const metadata =
      '{"order":4711,"team":"search","tags":["a","b"],"nested":{"ok":true,"none":null,"text":"ü \\" \\n"}}';
    const { status, traceId } = await ask(metadata, stream);
    expect(status).toBe(200);
    const told = await places(traceId);
    for (const [place, text] of Object.entries(told))
      expect([place, JSON.parse(metadataIn(text as string))]).toEqual([place, JSON.parse(metadata)]);
  });
  test("[d11.1] numbers beyond the precision of a double keep all their digits everywhere, also in the log's detail and the command line, and calls are found by them", async () => {
    const metadata =
      '{"order":12345678901234567890,"deep":{"list":[1e400,-1E-400,0.12345678901234567890123,7]},"metadata":{"order":7},"plain":0.5}';
    const { status, traceId } = await ask(metadata);
    expect(status).toBe(200);
    for (const [place, text] of Object.entries(await places(traceId)))
      expect([place, metadataIn(text as string)]).toEqual([place, metadata]);
    const look = async (path: string): Promise<string> =>
      await (
        await fetch(`${gateway.url}/api/v1/admin/${path}`, { headers: { authorization: `Bearer ${admin}` } })
      ).text();
    expect(metadataIn(await look(`tenants/default/logs/${traceId}`))).toBe(metadata);
    expect(await look(`tenants/default/logs?metadata=${encodeURIComponent("order=12345678901234567890")}`)).toContain(
      traceId,
    );
    const shown = async (...flags: readonly string[]): Promise<string> =>
      (
        await runCli(
          ["logs", traceId, ...flags],
          cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: admin }),
        )
      ).stdout;
    expect(metadataIn((await shown("--json")).replaceAll(/\n\s*/g, "").replaceAll('": ', '":'))).toBe(metadata);
    expect(await shown()).toContain('order: "12345678901234567890"');
  });
  test("its fields never replace the gateway's own", async () => {
    const { traceId } = await ask(
      '{"trace_id":"x","status":1,"tenant":"theirs","level":"fatal","msg":"other","cost_nano_usd":1,"model":"m"}',
    );
    const told = await places(traceId);
    expect(JSON.parse(told.log)).toMatchObject({
      trace_id: traceId,
      status: 200,
      tenant: "default",
      level: "info",
      msg: "call",
      model: "echo",
      metadata: { trace_id: "x", status: 1 },
    });
    expect(JSON.parse(told.file)).toMatchObject({
      trace_id: traceId,
      status: 200,
      tenant: "default",
      model: "echo",
      metadata: { tenant: "theirs" },
    });
    expect(JSON.parse(told.kept)).toMatchObject({ trace_id: traceId, status: 200, tenant_id: "default" });
  });
  test("a call without metadata has none in its record", async () => {
    const response = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hi" }] });
    await response.text();
    const traceId = response.headers.get("x-gateway-trace-id")!;
    expect(
      JSON.parse(
        await untilFound(() =>
          gateway
            .output()
            .split("\n")
            .find((line) => line.includes(traceId)),
        ),
      ),
    ).not.toHaveProperty("metadata");
  });
});

describe("[d5.6] hostile metadata", () => {
  const nested = (levels: number, open: string, close: string, inside: string): string =>
    open.repeat(levels) + inside + close.repeat(levels);

  test("of a megabyte is answered with 400, and of 64 KiB it reaches every place", async () => {
    const huge = await ask(`{"text":"${"x".repeat(1024 * 1024)}"}`);
    expect([huge.status, huge.error!.code, huge.error!.param]).toEqual([400, "invalid_request", "metadata"]);
    expect(huge.error!.message.length).toBeLessThan(300);
    const full = `{"text":"${"x".repeat(65_536 - 11)}"}`;
    const taken = await ask(full);
    expect(taken.status).toBe(200);
    for (const text of Object.values(await places(taken.traceId))) expect(metadataIn(text as string)).toBe(full);
  });

  test.each([
    '{"__proto__":{"polluted":true,"toString":1},"constructor":{"prototype":{"polluted":true}},"hasOwnProperty":1,"toJSON":"x","then":1}',
    '{"a":{"__proto__":{"polluted":true}},"list":[{"__proto__":null},{"constructor":null}],"__proto__":5}',
    // a number that no double holds goes through another reader
    '{"__proto__":{"polluted":12345678901234567890},"n":0.12345678901234567890123,"prototype":{},"__defineGetter__":"x"}',
  ])("with keys of prototypes is stored unchanged and has no effect: %s", async (metadata) => {
    const { status, traceId } = await ask(metadata);
    expect(status).toBe(200);
    const told = await places(traceId);
    for (const [place, text] of Object.entries(told))
      expect([place, metadataIn(text as string)]).toEqual([place, metadata]);
    // the next call, its record and its answer are what they were
    const next = await ask('{"a":1}', true);
    const line = JSON.parse((await places(next.traceId)).log) as Record<string, unknown>;
    expect([next.status, "polluted" in line, JSON.stringify(line["metadata"])]).toEqual([200, false, '{"a":1}']);
  });

  test("32 levels are accepted, 33 are answered with 400, and 10,000 or a million with 400 and without an internal error", async () => {
    expect((await ask(nested(32, '{"a":', "}", "1"))).status).toBe(200);
    expect((await ask(nested(16, '{"a":[', "]}", "1"))).status).toBe(200);
    for (const deep of [
      nested(33, '{"a":', "}", "1"),
      `{"a":${nested(32, "[", "]", "1")}}`,
      nested(500, '{"a":', "}", "1"),
    ]) {
      const refused = await ask(deep);
      expect([refused.status, refused.error!.code, refused.error!.param]).toEqual([400, "invalid_request", "metadata"]);
    }
    for (const levels of [10_000, 1_000_000])
      for (const [open, close] of [
        ['{"a":', "}"],
        ["[", "]"],
        ['{"__proto__":', "}"],
      ] as const) {
        const refused = await ask(`{"a":${nested(levels, open, close, "1")}}`);
        expect([levels, open, refused.status, refused.error!.code]).toEqual([levels, open, 400, "invalid_request"]);
      }
    // never closed
    expect((await ask(`{"a":${"[".repeat(100_000)}`)).status).toBe(400);
    expect(gateway.lines().filter((line) => line["level"] === "error")).toEqual([]);
  });

  test("wide instead of deep metadata is bounded by its bytes", async () => {
    const wide = `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":${index}`).join(",")}}`;
    expect((await ask(wide)).status).toBe(200);
    expect((await ask(`{"list":[${"0,".repeat(500_000)}0]}`)).error!.param).toBe("metadata.list");
  });

  test.each(['"text"', "5", "true", "[]", '[{"a":1}]', "1e999", '"__proto__"'])(
    "of another type is answered with 400: %s",
    async (metadata) => {
      const refused = await ask(metadata);
      expect([refused.status, refused.error!.code, refused.error!.param]).toEqual([400, "invalid_request", "metadata"]);
    },
  );
  test("null counts as no metadata", async () => expect((await ask("null")).status).toBe(200));
});

// The real process with a file, a webhook and a module of the operator's: what each receives of plain and streamed calls, at the end of the process, and after a change
// of the configuration.
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const SECRET = `whsec_${Buffer.from("0123456789012345678901234567").toString("base64")}`;
const linesOf = (file: string): readonly Record<string, any>[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, any>);

test("[d11.4] [d11.1] file, webhook and module receive each call once, with the client's metadata; waiting records are delivered at the end of the process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-integrations-"));
  const posted: { trace_id: string; metadata: unknown }[] = [];
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      posted.push(
        ...(
          new Webhook(SECRET).verify(await request.text(), request.headers.toJSON()) as {
            data: { calls: typeof posted };
          }
        ).data.calls,
      );
      return new Response(null, { status: 204 });
    },
  });
  writeFileSync(
    join(folder, "module.ts"),
    `
    import { appendFileSync } from "node:fs";
    const tell = (kind: string) => (said: object) => appendFileSync(${JSON.stringify(join(folder, "told.jsonl"))}, JSON.stringify({ kind, ...said }) + "\\n");
    export const onCallStart = tell("start"), onCallEnd = tell("end"), onStreamChunk = tell("chunk");`,
  );
  const wait = "batch_wait_ms: 60000";
  const gateway = await startGateway({
    config: `integrations:
  archive: { type: json_lines, path: ${join(folder, "calls.jsonl")}, ${wait} }
  hook: { type: webhook, url: "http://127.0.0.1:${receiver.port}/in", secrets: ["${SECRET}"], ${wait} }
  mine: { type: callback, module: ${join(folder, "module.ts")}, stream_chunks: 1 }
`,
  });
  try {
    const metadata = JSON.parse('{"__proto__":{"a":1},"team":"x"}') as object;
    const ids: string[] = [];
    for (const stream of [false, true]) {
      const response = await gateway.chat({
        model: "sandbox:echo",
        messages: [{ role: "user", content: "one two three four" }],
        metadata,
        stream,
      });
      expect(response.status).toBe(200);
      ids.push(/"x_gateway_trace_id":"([0-9a-f]{32})"/.exec(await response.text())![1]!);
    }
    writeFileSync(join(gateway.folder, "dragoman.yaml"), "route_defaults: { retries: 0 }\n");
    await until(() => gateway.output().includes("integrations have changed"));
    expect(
      gateway
        .lines()
        .filter(({ msg }) => msg === "integrations have changed in the configuration: restart to apply them"),
    ).toHaveLength(1);
    // they wait for others
    expect(posted).toEqual([]);
    await gateway.stop();
    expect(posted.map(({ trace_id: id }) => id)).toEqual(ids);
    const archived = linesOf(join(folder, "calls.jsonl"));
    expect(archived.map(({ trace_id: id }) => id as string)).toEqual(ids);
    expect(statSync(join(folder, "calls.jsonl")).mode & 0o777).toBe(0o600);
    for (const call of [...posted, ...archived])
      expect(JSON.stringify((call as { metadata: unknown }).metadata)).toBe(JSON.stringify(metadata));
    const told = linesOf(join(folder, "told.jsonl"));
    const of = (id: string): readonly string[] =>
      told.filter(({ traceId }) => traceId === id).map(({ kind }) => kind as string);
    expect(of(ids[0]!)).toEqual(["start", "end"]);
    expect(of(ids[1]!)).toEqual(["start", ...of(ids[1]!).slice(1, -1), "end"]);
    expect(new Set(of(ids[1]!).slice(1, -1))).toEqual(new Set(["chunk"]));
    expect(readFileSync(join(folder, "told.jsonl"), "utf8")).not.toContain("three");
  } finally {
    await gateway.stop();
    await receiver.stop(true);
    rmSync(folder, { recursive: true });
  }
});

// A real OpenTelemetry collector takes what the gateway exports. Its program is named by OTELCOL; it needs the receiver `otlp` and the exporter `debug`.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTracedServices } from "../../harness/traced-world.ts";
import { until } from "../../harness/time/until.ts";
import { freePort } from "../../harness/processes/free-port.ts";

const program = process.env["OTELCOL"];
if (program === undefined) console.log("skipped: OTELCOL names no collector");

describe("an OpenTelemetry collector", () => {
  test.skipIf(program === undefined)("[d11.4] accepts traces and metrics of calls without an error", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-collector-"));
    const port = freePort();
    const file = join(folder, "collector.yaml");
    writeFileSync(
      file,
      `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none } }
  pipelines:
    traces: { receivers: [otlp], exporters: [debug] }
    metrics: { receivers: [otlp], exporters: [debug] }
`,
    );
    const collector = Bun.spawn([program!, "--config", file], { stdout: "ignore", stderr: "pipe" });
    let said = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of collector.stderr) said += decoder.decode(bytes, { stream: true });
    })();
    await until(() => said.includes("Everything is ready"));
    const services = await startTracedServices({ endpoint: `http://127.0.0.1:${port}` });
    try {
      const { traceId, spanId } = await services.call({
        route: "r",
        messages: [{ role: "user", content: "How is the sky over Paris?" }],
        tools: [{ type: "mcp", server_label: "sky" }],
        metadata: { team: "blue", depth: { of: 1 }, minus: -1 },
      });
      await until(() => said.includes("execute_tool weather") && said.includes("gen_ai.client.token.usage"));
      for (const words of [
        `Trace ID       : ${traceId}`,
        `Parent ID      : ${spanId}`,
        "Name           : chat m",
        "Name           : execute_tool weather",
        "Status message : upstream_overloaded",
        "dragoman.metadata.minus: Int(-1)",
        'dragoman.metadata.depth: Str({"of":1})',
        "-> Name: gen_ai.server.request.duration",
        "-> Name: dragoman.calls",
      ])
        expect(said).toContain(words);
      expect(services.gateway.lines().filter(({ integration }) => integration !== undefined)).toEqual([]);
    } finally {
      await services.stop();
      collector.kill();
      await collector.exited;
      await reading;
      rmSync(folder, { recursive: true });
    }
    expect(said).not.toMatch(/\t(warn|error)\t/);
  });
});

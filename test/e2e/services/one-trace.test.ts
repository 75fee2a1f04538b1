// One distributed trace over four services, each of which exports its own spans: a caller, the real gateway, a model's server and a tool server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TracedServices, startTracedServices, treeOf } from "../../harness/traced-world.ts";
import { untilFound } from "../../harness/time/until.ts";

const ASK = {
  route: "r",
  messages: [{ role: "user", content: "How is the sky over Paris?" }],
  tools: [{ type: "mcp", server_label: "sky" }],
  metadata: { team: "blue" },
};

describe("a trace from the caller through the gateway to the services that it calls", () => {
  let services: TracedServices;
  beforeAll(async () => {
    services = await startTracedServices();
  });
  afterAll(() => services.stop());

  test.each([
    ["plain", {}],
    ["streamed", { stream: true }],
  ] as const)(
    "[d11.1, d11.4, d11.5] %s: one trace, attempts and tools under the call, and every service's spans under the span that called it",
    async (_, how) => {
      const before = services.receiver.spans().length;
      const { traceId, spanId, text } = await services.call({ ...ASK, ...how });
      expect(text).toContain("Paris is warm");
      const spans = (await services.receiver.spansCome(before + 10)).slice(before);
      expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
      expect(treeOf(spans)).toEqual([
        "caller: ask (client)",
        "  dragoman: chat m (server)",
        "    dragoman: chat m (client, error upstream_overloaded)",
        "      model: generate (server)",
        "    dragoman: chat m (client)",
        "      model: generate (server)",
        "    dragoman: execute_tool weather (client)",
        "      tool: look at the sky (server)",
        "    dragoman: chat m (client)",
        "      model: generate (server)",
      ]);
      const call = spans.find(({ kind, resource }) => kind === "server" && resource["service.name"] === "dragoman")!;
      expect([call.parentSpanId, call.traceState]).toEqual([spanId, "caller=1"]);
      expect(call.attributes).toMatchObject({
        "dragoman.metadata.team": "blue",
        "dragoman.usage.total_tokens": 48n,
        "dragoman.rounds": 2n,
        "dragoman.attempts": 3n,
      });
      expect(call.attributes["dragoman.trace_id"]).not.toBe(traceId);
      const used = spans.filter(({ attributes }) => "gen_ai.usage.input_tokens" in attributes);
      expect(used.map(({ attributes }) => attributes["gen_ai.usage.input_tokens"])).toEqual([20n, 20n]);
      // the spans of the gateway begin in order; other processes read their clocks at moments of their own
      for (const span of spans) {
        const parent = spans.find((one) => one.spanId === span.parentSpanId);
        if (parent !== undefined && parent.resource["service.name"] === span.resource["service.name"])
          expect(span.startNano >= parent.startNano).toBe(true);
        expect(span.endNano >= span.startNano).toBe(true);
      }
      expect(
        JSON.stringify(spans, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
      ).not.toContain("How is the sky");
    },
  );

  test("[d11.4] metrics of the same calls arrive, under the conventions' names, the last ones before the process ends", async () => {
    const name = "gen_ai.client.operation.duration";
    const metric = await untilFound(() => services.receiver.metrics().findLast((one) => one.name === name));
    expect([metric.type, metric.unit, metric.temporality, metric.resource["service.name"]]).toEqual([
      "histogram",
      "s",
      "cumulative",
      "dragoman",
    ]);
    expect(
      metric.points.map(({ attributes }) => [attributes["dragoman.provider"], attributes["gen_ai.provider.name"]]),
    ).toContainEqual(["one", "custom"]);
    await services.call(ASK);
    await services.gateway.stop();
    const calls = services.receiver.metrics().findLast((one) => one.name === "dragoman.calls")!;
    expect(calls.points.reduce((sum, { value }) => sum + Number(value), 0)).toBe(3);
  });
});

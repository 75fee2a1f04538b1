// The contract of sinks on those that speak OpenTelemetry's protocol: any receiver, Langfuse, Datadog; and what only
// these have.
import { describe, expect, test } from "bun:test";
import { datadogSettings } from "../../src/observe/integrations/sinks/datadog-settings.ts";
import { openDatadogSink } from "../../src/observe/integrations/sinks/datadog-sink.ts";
import { langfuseSettings } from "../../src/observe/integrations/sinks/langfuse-settings.ts";
import { openLangfuseSink } from "../../src/observe/integrations/sinks/langfuse-sink.ts";
import { otlpSettings } from "../../src/observe/integrations/sinks/otlp-settings.ts";
import { openOtlpSink } from "../../src/observe/integrations/sinks/otlp-sink.ts";
import type { RecordedCall, Sink } from "../../src/observe/integrations/sink.ts";
import { newSpanId } from "../../src/core/ids.ts";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";
import { type OtlpReceiver, otlpReceiver } from "../harness/servers/otlp-receiver.ts";
import type { ReceivedSpan } from "../harness/servers/otlp-messages.ts";
import { httpSinkSuite, type Receiving, recordedCalls, sinkSuite } from "./sink.suite.ts";
import { attemptOf } from "./store/call-records.ts";
import { toolOf, tracedCall } from "../observe/integrations/traced-calls.ts";

const SOON = (): AbortSignal => AbortSignal.timeout(5000);
/** The protocol's own list: https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const STATUSES = {
  transient: ["429 Too Many", "502 Bad", "503 Later", "504 Late"],
  final: ["400 Bad", "401 Who", "403 No", "404 Where", "408 Slow", "413 Large", "500 Oops", "501 What"],
};

const otlp = (url: string, more: object = {}): Sink =>
  openOtlpSink(otlpSettings.parse({ type: "otlp", endpoint: url, ...more }));
const langfuse = (url: string, more: object = {}): Sink =>
  openLangfuseSink(
    langfuseSettings.parse({ type: "langfuse", url, public_key: "pk-lf-1", secret_key: "sk-lf-2", ...more }),
  );
const datadog = (url: string, more: object = {}): Sink =>
  openDatadogSink(datadogSettings.parse({ type: "datadog", endpoint: url, api_key: "dd-key", ...more }));

/** Calls of the suite are not traced; sinks that send traces get only traced ones. */
function traced(sink: Sink): Sink {
  const withTrace = ({ record, content }: RecordedCall): RecordedCall => ({
    record: {
      ...record,
      trace: { traceId: record.traceId, spanId: newSpanId(), parentSpanId: null, sampled: true, state: null },
    },
    content,
  });
  return { deliver: (calls, signal) => sink.deliver(calls.map(withTrace), signal), close: () => sink.close() };
}

const METADATA = "dragoman.metadata.";

/** As an attribute holds it: what is neither text nor number is JSON. */
function metadataOf({ attributes }: ReceivedSpan): unknown {
  const metadata = {};
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith(METADATA)) continue;
    const decoded: unknown = typeof value === "string" && value.startsWith("{") ? JSON.parse(value) : value;
    Object.defineProperty(metadata, key.slice(METADATA.length), {
      value: typeof decoded === "bigint" ? Number(decoded) : decoded,
      enumerable: true,
    });
  }
  return metadata;
}

function receiving(open: (url: string) => Sink): () => Promise<Receiving> {
  return async () => {
    const receiver: OtlpReceiver = otlpReceiver();
    return {
      sink: traced(open(receiver.url)),
      calls: async () =>
        receiver
          .spans()
          .filter(({ kind }) => kind === "server")
          .map((span) => ({ traceId: span.attributes["dragoman.trace_id"] as string, metadata: metadataOf(span) })),
      text: async () => receiver.exports.map(({ bytes }) => Buffer.from(bytes).toString()).join("\n"),
      end: () => receiver.close(),
    };
  };
}

for (const [name, open] of [
  ["otlp", otlp],
  ["langfuse", langfuse],
  ["datadog", datadog],
] as const) {
  sinkSuite(name, receiving(open));
  httpSinkSuite(name, async (url) => traced(open(url)), STATUSES);
}

/** Delivers once, and gives what came. */
async function received(
  open: (url: string) => Sink,
  calls: readonly RecordedCall[],
): Promise<{ readonly path: string; readonly headers: Headers; readonly spans: readonly ReceivedSpan[] }> {
  const receiver = otlpReceiver();
  try {
    await open(receiver.url).deliver(calls, SOON());
    return { path: receiver.exports[0]!.path, headers: receiver.exports[0]!.headers, spans: receiver.spans() };
  } finally {
    await receiver.close();
  }
}

/** ExportTraceServiceResponse: { partial_success: { rejected_spans: 2, error_message: "too old" } } */
const PARTIAL = new Uint8Array(Buffer.from("0a0b0802120774" + Buffer.from("oo old").toString("hex"), "hex"));

describe("otlp", () => {
  test("[d11.4] exports protobuf in gzip to /v1/traces, with the headers and the resource of the settings", async () => {
    const { path, headers, spans } = await received(
      (url) =>
        otlp(`${url}/base/`, {
          headers: { authorization: "Bearer mine" },
          service_name: "llm",
          resource: { "deployment.environment.name": "prod", "host.cpus": 4, spare: false },
        }),
      [tracedCall()],
    );
    expect([path, headers.get("content-type"), headers.get("content-encoding"), headers.get("authorization")]).toEqual([
      "/base/v1/traces",
      "application/x-protobuf",
      "gzip",
      "Bearer mine",
    ]);
    expect(headers.get("user-agent")).toMatch(/^dragoman\/\d/);
    expect(spans[0]!.resource).toEqual({
      "service.name": "llm",
      "deployment.environment.name": "prod",
      "host.cpus": 4n,
      spare: false,
    });
    expect(spans[0]!.scope.name).toBe("dragoman");
  });
  test("[d11.4] addresses of their own are used as they are, and compression can be left out", async () => {
    const { path, headers } = await received(
      (url) => otlp("http://127.0.0.1:9", { traces_endpoint: `${url}/otlp/v1/traces`, compression: "none" }),
      [tracedCall()],
    );
    expect([path, headers.get("content-encoding")]).toEqual(["/otlp/v1/traces", null]);
  });
  test("[d11.5] keeps its share of the traces that begin here, and all that a caller wants kept", async () => {
    const chance = chanceOf(printedSeed("sampled traces"));
    const own = recordedCalls(200).map(({ record }) =>
      tracedCall({
        trace: {
          traceId: `${record.traceId.slice(0, 18)}${chance
            .below(2 ** 48)
            .toString(16)
            .padStart(14, "0")}`,
          spanId: newSpanId(),
          parentSpanId: null,
          sampled: true,
          state: null,
        },
      }),
    );
    const theirs = own.map(({ record }) =>
      tracedCall({ trace: { ...record.trace!, parentSpanId: "b7ad6b7169203331" } }),
    );
    const receiver = otlpReceiver();
    await otlp(receiver.url, { sample: 0 }).deliver(own, SOON());
    expect(receiver.exports).toEqual([]);
    await otlp(receiver.url, { sample: 0 }).deliver(theirs, SOON());
    expect(receiver.spans().filter(({ kind }) => kind === "server")).toHaveLength(200);
    await receiver.close();
  });
  test("[d11.4] spans that a receiver reports as rejected are counted, and not sent again", async () => {
    const receiver = otlpReceiver(() => new Response(PARTIAL));
    // two spans a call
    expect(await otlp(receiver.url).deliver([tracedCall(), tracedCall(), tracedCall()], SOON())).toEqual({
      rejected: 1,
      why: "the receiver rejected 2 spans: too old",
    });
    await receiver.close();
  });
  test("[d11.4] OpenInference is switched on in the settings", async () => {
    const kinds = async (more: object): Promise<readonly unknown[]> =>
      (await received((url) => otlp(url, more), [tracedCall()])).spans.map(
        ({ attributes }) => attributes["openinference.span.kind"],
      );
    expect([await kinds({}), await kinds({ open_inference: true })]).toEqual([
      [undefined, undefined],
      ["CHAIN", "LLM"],
    ]);
  });
  test("[d11.4] a record that cannot be made into spans is a permanent failure, and is not retried", async () => {
    const broken = { record: { ...tracedCall().record, attempts: null as never }, content: null };
    expect(otlp("http://127.0.0.1:9").deliver([broken], SOON())).rejects.toMatchObject({
      isRetryable: false,
      message: expect.stringContaining("spans could not be made"),
    });
  });
  test("[d11.4] inconsistent settings are refused", () => {
    for (const more of [
      { traces: false, metrics: false },
      { endpoint: "localhost:4318" },
      { endpoint: "ftp://a" },
      { sample: 1.1 },
      { headers: { "x y": "1" } },
      { headers: { a: "b\r\nc: d" } },
      { metrics_interval_s: 0 },
      { temporality: "daily" },
      { unknown: 1 },
    ])
      expect([
        more,
        otlpSettings.safeParse({ type: "otlp", endpoint: "http://localhost:4318", ...more }).success,
      ]).toEqual([more, false]);
  });
});

describe("langfuse", () => {
  const CALL = tracedCall({
    stream: true,
    endUser: "ann",
    metadata: { session_id: "s-1", tags: ["a", "b"], trace_name: "weather", team: "blue" },
    tools: [toolOf({ isError: true, code: "tool_timeout" })],
    cost: { nanoUsd: 1_500_000, priceId: "p" },
  });
  test("[d11.4] is sent to its OpenTelemetry intake with the keys of the project", async () => {
    const { path, headers } = await received(langfuse, [CALL]);
    expect([path, headers.get("authorization"), headers.get("x-langfuse-ingestion-version")]).toEqual([
      "/api/public/otel/v1/traces",
      `Basic ${btoa("pk-lf-1:sk-lf-2")}`,
      "4",
    ]);
  });
  test("[d11.4] each span names its trace's user and session; a call is a span, an attempt a generation, a tool a tool", async () => {
    const { spans } = await received((url) => langfuse(url, { environment: "staging" }), [CALL]);
    for (const { attributes, resource } of spans) {
      expect(attributes).toMatchObject({
        "langfuse.user.id": "ann",
        "langfuse.session.id": "s-1",
        "langfuse.trace.tags": ["a", "b"],
        "langfuse.trace.name": "weather",
        "langfuse.trace.metadata.team": "blue",
      });
      expect(resource["langfuse.environment"]).toBe("staging");
    }
    const [call, attempt, tool] = spans as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    expect([call, attempt, tool].map(({ attributes }) => attributes["langfuse.observation.type"])).toEqual([
      "span",
      "generation",
      "tool",
    ]);
    expect(JSON.parse(attempt.attributes["langfuse.observation.cost_details"] as string)).toEqual({ total: 0.0015 });
    expect(JSON.parse(attempt.attributes["langfuse.observation.completion_start_time"] as string)).toBe(
      "2026-01-05T00:00:00.052Z",
    );
    expect([
      tool.attributes["langfuse.observation.level"],
      tool.attributes["langfuse.observation.status_message"],
    ]).toEqual(["ERROR", "tool_timeout"]);
    expect("langfuse.observation.level" in call.attributes).toBe(false);
  });
  test("[d11.4] metadata fields that are not text do not become a session, and other names can be configured", async () => {
    const odd = await received(langfuse, [tracedCall({ metadata: { session_id: 7, tags: ["a", 1], trace_name: "" } })]);
    for (const name of ["langfuse.session.id", "langfuse.trace.tags", "langfuse.trace.name"])
      expect([name, name in odd.spans[0]!.attributes]).toEqual([name, false]);
    const named = await received(
      (url) => langfuse(url, { session_field: "thread" }),
      [tracedCall({ metadata: { thread: "t-1", session_id: "s-1" } })],
    );
    expect(named.spans[0]!.attributes["langfuse.session.id"]).toBe("t-1");
  });
});

describe("datadog", () => {
  test("[d11.4] is sent to its OpenTelemetry intake with the key of the account, as traces of language models", async () => {
    const { path, headers, spans } = await received(
      (url) => datadog(url, { service_name: "llm", environment: "prod" }),
      [tracedCall({ tools: [toolOf()], attempts: [attemptOf()] })],
    );
    expect([path, headers.get("dd-api-key"), headers.get("dd-otlp-source")]).toEqual([
      "/v1/traces",
      "dd-key",
      "llmobs",
    ]);
    expect(spans[0]!.resource).toEqual({ "service.name": "llm", "deployment.environment.name": "prod" });
    expect(spans.map(({ attributes }) => attributes["gen_ai.operation.name"])).toEqual([
      "invoke_workflow",
      "chat",
      "execute_tool",
    ]);
  });
  test("[d11.4] goes to the intake of the site that is named, with metrics as deltas", () => {
    const { otlp: target } = datadogSettings.parse({ type: "datadog", site: "datadoghq.eu", api_key: "k" });
    expect(target.traces?.url).toBe("https://otlp.datadoghq.eu/v1/traces");
    expect(target.metrics).toMatchObject({
      url: "https://otlp.datadoghq.eu/v1/metrics",
      temporality: "delta",
      headers: { "dd-api-key": "k" },
    });
    expect(datadogSettings.parse({ type: "datadog", api_key: "k", metrics: false }).otlp.metrics).toBeNull();
    expect(datadogSettings.safeParse({ type: "datadog", site: "evil.example/x", api_key: "k" }).success).toBe(false);
  });
});

// Calls in a distributed trace, and the record of each attempt: incoming and outgoing context, ids of spans, begin and
// usage of attempts.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import type { Tracing } from "../../../src/core/record/trace.ts";
import { type Fault, OK, status } from "../../harness/faults.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { routedGateway, routeOf, type Routed, type RouteParts } from "../../harness/routed.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const ON: Tracing = { sampleRatio: 1, propagate: true };
const HOW = [
  ["plain", {}],
  ["streamed", { stream: true }],
] as const;
const ASK = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] };

function gateway(
  up0: readonly Fault[],
  parts: RouteParts = {},
  tracing: Tracing | null = ON,
  up1: readonly Fault[] = [OK],
): Routed {
  return routedGateway([routeOf("r", ["up0:m", "up1:m"], parts)], { up0, up1 }, tracing === null ? {} : { tracing });
}

async function call(routed: Routed, how: object = {}, headers: Record<string, string> = {}): Promise<CallRecord> {
  await (await routed.chat({ route: "r", messages: [{ role: "user", content: "Hello" }], ...how }, { headers })).text();
  return routed.records.at(-1)!;
}
const told = ({ upstream }: Routed, name: string): readonly (string | undefined)[] =>
  upstream.served.map(({ request }) => request.headers[name]);

describe("trace context", () => {
  test("[d11.5] a caller's trace continues: its id, its span as parent, its sampling decision; the gateway's own trace id stays another", async () => {
    const routed = gateway([OK]);
    const record = await call(routed, {}, { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1" });
    expect(record.trace).toEqual({
      traceId: TRACE,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: SPAN,
      sampled: true,
      state: "vendor=1",
    });
    expect([record.otelTraceId, record.traceId === TRACE]).toEqual([TRACE, false]);
    expect((await call(routed, {}, { traceparent: `00-${TRACE}-${SPAN}-00` })).trace?.sampled).toBe(false);
  });

  test("[d11.5] without a caller's trace one begins under the call's own id, and is kept by the configured share", async () => {
    const { trace, traceId, otelTraceId } = await call(gateway([OK]));
    expect([trace?.traceId, trace?.parentSpanId, trace?.sampled, otelTraceId]).toEqual([traceId, null, true, null]);
    expect((await call(gateway([OK], {}, { sampleRatio: 0, propagate: true }))).trace?.sampled).toBe(false);
  });

  test.each([...HOW])(
    "[d11.5] %s: each attempt has a span of its own, which the provider receives as the parent",
    async (_, how) => {
      const routed = gateway([status(503)], { retries: 0 });
      const { attempts, trace } = await call(routed, how, {
        traceparent: `00-${TRACE}-${SPAN}-01`,
        tracestate: "vendor=1",
      });
      expect(attempts).toHaveLength(2);
      expect(told(routed, "traceparent")).toEqual(attempts.map(({ spanId }) => `00-${TRACE}-${spanId!}-01`));
      expect(told(routed, "tracestate")).toEqual(["vendor=1", "vendor=1"]);
      expect(new Set([SPAN, trace!.spanId, ...attempts.map(({ spanId }) => spanId)]).size).toBe(4);
    },
  );

  test("[d11.5] a provider receives no trace context where that is off, or no integration wants traces; a caller's header is never passed on", async () => {
    for (const tracing of [null, { sampleRatio: 1, propagate: false }]) {
      const routed = gateway([OK], {}, tracing);
      await call(routed, {}, { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1", baggage: "user=1" });
      for (const name of ["traceparent", "tracestate", "baggage"])
        expect([name, told(routed, name)]).toEqual([name, [undefined]]);
    }
    const routed = gateway([OK]);
    await call(routed, {}, { traceparent: `00-${TRACE}-${SPAN}-01`, baggage: "user=1" });
    expect([told(routed, "baggage"), told(routed, "traceparent")[0]?.includes(SPAN)]).toEqual([[undefined], false]);
  });

  test("[d11.5] a broken traceparent is passed on nowhere", async () => {
    const routed = gateway([OK]);
    for (const traceparent of [
      "nonsense",
      `00-${"0".repeat(32)}-${SPAN}-01`,
      `00-${TRACE}-${SPAN}-01-more`,
      `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    ]) {
      const { trace, traceId, otelTraceId } = await call(routed, {}, { traceparent, tracestate: "vendor=1" });
      expect([trace?.traceId, trace?.state, otelTraceId]).toEqual([traceId, null, null]);
    }
    expect(told(routed, "traceparent").some((header) => header!.includes(TRACE))).toBe(false);
    expect(told(routed, "tracestate")).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("[d11.5] a traceparent that the caller sets for the provider is sent unchanged", async () => {
    const theirs = `00-${TRACE}-${SPAN}-01`;
    const stub = stubGateway({ tracing: ON, upstream: cannedUpstream({ status: 500, body: "" }) });
    await stub.chat({ model: "openai:m", messages: ASK.messages, extra_headers: { traceparent: theirs } });
    expect([stub.sent[0]!.headers["traceparent"], stub.sent[0]!.headers["tracestate"]]).toEqual([theirs, undefined]);
  });

  test("[d11.5] a signed request is signed as without a trace", async () => {
    const upstream = cannedUpstream({ status: 500, body: "" });
    const signed = async (tracing: Tracing | null): Promise<string | undefined> => {
      const stub = stubGateway({ upstream, ...(tracing !== null && { tracing }) });
      await stub.chat({ model: "bedrock:anthropic.claude-3-haiku-20240307-v1:0", messages: ASK.messages });
      expect("traceparent" in stub.sent[0]!.headers).toBe(tracing !== null);
      return stub.sent[0]!.headers["authorization"];
    };
    expect(await signed(ON)).toBe((await signed(null)) ?? "none");
  });

  test("[d11.5] a call that is not traced has neither trace nor spans", async () => {
    const record = await call(gateway([OK], {}, null), {}, { traceparent: `00-${TRACE}-${SPAN}-01` });
    expect([record.trace, record.otelTraceId, record.attempts[0]!.spanId]).toEqual([null, TRACE, null]);
  });
});

const used = ({ attempts }: CallRecord): readonly unknown[] =>
  attempts.map(({ code, usage, usageSource }) => [
    code,
    usage === null ? null : [usage.prompt_tokens, usage.completion_tokens],
    usageSource,
  ]);

describe.each([...HOW])("the record of an attempt, %s", (_, how) => {
  test("[d11.1] has its begin, and its usage by the provider's figures; no usage where the provider reported none and nothing is charged", async () => {
    const record = await call(gateway([status(503)]), how);
    expect(used(record)).toEqual([
      ["upstream_overloaded", null, null],
      [null, [5, 3], "provider"],
    ]);
    const [first, second] = record.attempts;
    expect(first!.startMs).toBeGreaterThan(0);
    expect(second!.startMs).toBeGreaterThanOrEqual(first!.totalMs!);
  });

  test("[d11.1] keeps the figures of an attempt that was abandoned because nothing was generated", async () => {
    expect(used(await call(gateway([{ kind: "empty" }], { retries: 0 }), how))).toEqual([
      ["upstream_incomplete", [5, 0], "provider"],
      [null, [5, 3], "provider"],
    ]);
  });

  test("[d11.1] has the prompt charged for a superseded attempt, once the provider had begun to answer", async () => {
    const slow: Fault = { kind: "silence" };
    const [first, second] = used(await call(gateway([slow], { hedge: { after: 20, maxExtra: 1 } }), how)) as [
      unknown[],
      unknown[],
    ];
    expect(second).toEqual([null, [5, 3], "provider"]);
    expect(first).toEqual(["superseded", [expect.any(Number), 0], "estimated"]);
    expect((first[1] as number[])[0]).toBeGreaterThan(0);
  });

  test("[d11.1] has the estimate of the answer where there are no figures", async () => {
    const body =
      how === HOW[0][1]
        ? JSON.stringify({
            id: "a",
            object: "chat.completion",
            created: 1,
            model: "m",
            choices: [{ index: 0, message: { role: "assistant", content: "Hello to you" }, finish_reason: "stop" }],
          })
        : `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "Hello to you" }, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
    const stub = stubGateway({ upstream: cannedUpstream({ body }) });
    await (await stub.chat({ ...ASK, model: "openai:m", ...how })).text();
    const {
      usage,
      attempts: [attempt],
    } = stub.records[0]!;
    expect([attempt!.usage, attempt!.usageSource]).toEqual([usage, "estimated"]);
    expect(usage!.completion_tokens).toBeGreaterThan(0);
  });

  test("[d11.1] is separate for each upstream request where several choices need several", async () => {
    const line = (content: string, more: object): string =>
      `${JSON.stringify({ model: "qwen3:4b", created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content }, ...more })}\n`;
    let asked = 0;
    const stub = stubGateway({
      upstream: cannedUpstream(() => {
        const end = { done: true, done_reason: "stop", prompt_eval_count: 7, eval_count: ++asked };
        return {
          headers: { "content-type": "application/x-ndjson" },
          body: how === HOW[0][1] ? line("one", end) : line("one", { done: false }) + line("", end),
        };
      }),
    });
    await (await stub.chat({ model: "ollama:qwen3:4b", messages: ASK.messages, n: 3, ...how })).text();
    expect(used(stub.records[0]!)).toEqual([1, 2, 3].map((count) => [null, [7, count], "provider"]));
  });
});

test("[d11.1] an attempt keeps the figures that arrived before it failed", async () => {
  const event = (name: string, data: object): string =>
    `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
  const body =
    event("message_start", {
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content: [],
        model: "claude-sonnet-4-5",
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 11, output_tokens: 1 },
      },
    }) +
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hello" } });
  const stub = stubGateway({ upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body }) });
  await (await stub.chat({ ...ASK, model: "anthropic:claude-sonnet-4-5", max_tokens: 10, stream: true })).text();
  expect(used(stub.records[0]!)).toEqual([["upstream_incomplete", [11, expect.any(Number)], "estimated"]]);
});

// Promises 11.2 and 11.5 for one call: which ledger entries it leaves, when, what the last byte waits for, and which
// ids it has.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { CallRecord, ChargeInFlight } from "../../../src/core/record/record.ts";
import type { Ledger, OpenEntry } from "../../../src/store/journal/ledger.ts";
import { UpstreamFault } from "../../../src/wire/upstream.ts";
import { cannedUpstream, type StubOptions, stubGateway } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { until } from "../../harness/time/until.ts";

interface WatchedLedger extends Ledger {
  /** The calls of its methods, in order: `open`, `close`, `close unopened`. */
  readonly told: string[];
  readonly closed: CallRecord[];
  /** Each with what it would be charged if the process ended. */
  readonly opened: (CallRecord & { readonly charge: ChargeInFlight })[];
  /** Lets the last bytes go, with a ledger that makes them wait. */
  release(): void;
}

function watchedLedger({ waits = false, refuses = false } = {}): WatchedLedger {
  const told: string[] = [];
  const closed: CallRecord[] = [];
  const opened: WatchedLedger["opened"] = [];
  let states = (): void => {};
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    told,
    closed,
    opened,
    release: resolve,
    refusal: () => null,
    open(record, meter) {
      if (refuses) throw new GatewayError("ledger_unavailable", "The ledger cannot be written.");
      states = () => void opened.push(structuredClone({ ...record, charge: meter!.inFlight() }));
      told.push("open");
      states();
      return { traceId: record.traceId };
    },
    reopen() {
      told.push("reopen");
      states();
    },
    written: () => Promise.resolve(),
    writeStateOf: () => {},
    close(entry: OpenEntry | null, record) {
      told.push(entry === null ? "close unopened" : "close");
      closed.push(structuredClone(record));
      return waits ? promise : Promise.resolve();
    },
  };
}

const CHUNKS = [
  openaiChunk({ role: "assistant", content: "Hel" }),
  openaiChunk({ content: "lo" }),
  openaiChunk({}, "stop"),
];
/** Two chunks of the stream are whole here. */
const CUT_AT = eventStream(...CHUNKS.slice(0, 2)).length - "data: [DONE]\n\n".length;
const PLAIN = cannedUpstream({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(openaiAnswer("Hello")),
});
const STREAM = cannedUpstream({
  headers: { "content-type": "text/event-stream" },
  body: eventStream(...CHUNKS),
  chunk: "event",
});
const ASK = { model: "openai:gpt-4o", messages: [{ role: "user", content: "Say it." }] };

function gateway(ledger: Ledger, upstream: StubOptions["upstream"] = PLAIN): ReturnType<typeof stubGateway> {
  return stubGateway({ ledger, upstream });
}

describe("ledger entries of a call", () => {
  test("[d11.2] a non-streaming answer has its opening before the provider is called, and its closing before it is returned", async () => {
    const ledger = watchedLedger();
    let toldAtSend: readonly string[] = [];
    const stub = gateway(ledger, {
      send(...sent) {
        toldAtSend = [...ledger.told];
        return PLAIN.send(...sent);
      },
    });
    const response = await stub.chat(ASK);
    expect(toldAtSend).toEqual(["open"]);
    expect(ledger.told).toEqual(["open", "close"]);
    expect(ledger.opened[0]).toMatchObject({
      traceId: response.headers.get("x-gateway-trace-id"),
      tenantId: "default",
      projectId: "default",
      modelAsked: "openai:gpt-4o",
      provider: "openai",
      model: "gpt-4o",
      route: "direct",
    });
    expect(ledger.closed[0]).toMatchObject({
      traceId: ledger.opened[0]!.traceId,
      status: 200,
      usageSource: expect.any(String) as string,
    });
    expect(ledger.closed[0]!.usage!.total_tokens).toBeGreaterThan(0);
  });

  test("[d11.2] a stream has its closing before [DONE] is sent", async () => {
    const ledger = watchedLedger();
    const response = await gateway(ledger, STREAM).chat({ ...ASK, stream: true });
    const reader = (response.body as ReadableStream<string | Uint8Array>).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += typeof value === "string" ? value : new TextDecoder().decode(value);
      // the row is there at the latest when the last bytes are
      expect(ledger.told).toEqual(text.includes("[DONE]") ? ["open", "close"] : ["open"]);
    }
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(ledger.closed[0]).toMatchObject({ status: 200, finishReasons: ["stop"] });
  });

  test("[d11.2] a stream that breaks off has its closing with what was received, before its error is sent", async () => {
    const ledger = watchedLedger();
    const cut = cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: eventStream(...CHUNKS),
      chunk: "event",
      cutAt: CUT_AT,
    });
    const text = await (await gateway(ledger, cut).chat({ ...ASK, stream: true })).text();
    expect(text).toContain('"error"');
    expect(ledger.told).toEqual(["open", "close"]);
    expect(ledger.closed[0]).toMatchObject({
      usageSource: "estimated",
      code: expect.stringMatching(/^upstream_/) as string,
    });
    expect(ledger.closed[0]!.usage!.completion_tokens).toBeGreaterThan(0);
  });

  test("[d11.2] a failed call has a closing with its error", async () => {
    const ledger = watchedLedger();
    const response = await gateway(ledger, {
      send: () => Promise.reject(new UpstreamFault("connection", "nobody there")),
    }).chat(ASK);
    expect(response.status).toBe(502);
    expect(ledger.told).toEqual(["open", "close"]);
    expect(ledger.closed[0]).toMatchObject({ status: 502, code: "upstream_connection" });
  });

  test("[d11.2] a stream that its client leaves has a closing with what was received", async () => {
    const ledger = watchedLedger();
    const response = await gateway(ledger, STREAM).chat({ ...ASK, stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(ledger.told).toEqual(["open", "close"]);
    expect(ledger.closed[0]).toMatchObject({ cancelled: true, code: "client_closed", usageSource: "estimated" });
  });

  test("a call that is refused before it is admitted has a closing alone", async () => {
    const ledger = watchedLedger();
    const stub = gateway(ledger);
    expect((await stub.chat(ASK, { headers: { authorization: "Bearer nonsense" } })).status).toBe(401);
    expect((await stub.chat({ ...ASK, temperature: "hot" })).status).toBe(400);
    expect(ledger.told).toEqual(["close unopened", "close unopened"]);
    expect(ledger.closed.map(({ status, tenantId }) => [status, tenantId])).toEqual([
      [401, null],
      [400, "default"],
    ]);
  });

  test("[d11.2] when the ledger cannot write an opening, no provider is called and the answer is 503 ledger_unavailable", async () => {
    const stub = gateway(watchedLedger({ refuses: true }));
    const response = await stub.chat(ASK);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      503,
      "ledger_unavailable",
    ]);
    expect(stub.sent).toEqual([]);
  });
});

describe("what an opening charges if the process ends", () => {
  const PRICE = compilePrices([
    {
      id: "own",
      name: "own",
      tenantId: null,
      projectId: null,
      origin: "store",
      setBy: "owner",
      version: 3,
      document: priceSchema.parse({ model: "*", prompt: "1", completion: "2" }),
    },
  ]);
  const money = (assumed: number): object => ({ usd: "10", window: "total", assume_output_tokens: assumed });
  const chargesOf = async (body: object, budgets?: Readonly<Record<string, object>>): Promise<WatchedLedger> => {
    const ledger = watchedLedger();
    const limitRules = budgets === undefined ? {} : { limitRules: limitSet({ budgets }) };
    const stub = stubGateway({ ledger, upstream: PLAIN, snapshot: { prices: PRICE, ...limitRules } });
    expect((await stub.chat({ ...ASK, ...body })).status).toBe(200);
    return ledger;
  };
  /** Two for the text, four for the message. */
  const PROMPT = 6;

  test.each([
    ["at the bound of the request", { max_completion_tokens: 30 }, 30],
    ["at an assumed bound, where it has none", {}, 4096],
    ["for each choice", { max_completion_tokens: 30, n: 3 }, 30],
  ])("[d11.2 d4.2] without a limit: the prompt and the answer %s, at their price", async (_, body, output) => {
    const { opened } = await chargesOf(body);
    const n = "n" in body ? body.n : 1;
    expect(opened.map(({ charge }) => charge)).toEqual([
      {
        usage: {
          prompt_tokens: PROMPT * n,
          completion_tokens: output * n,
          total_tokens: (PROMPT + output) * n,
        },
        cost: { nanoUsd: (PROMPT * 1000 + output * 2000) * n, priceId: "own@3" },
      },
    ]);
  });

  test("[d11.2 d4.2] with a budget: what the budget has reserved, and with two the larger one", async () => {
    const { opened } = await chargesOf({}, { most: money(500), less: money(200) });
    const [{ charge, limits }] = opened as [WatchedLedger["opened"][number]];
    expect(charge).toMatchObject({ usage: { completion_tokens: 500 }, cost: { nanoUsd: PROMPT * 1000 + 500 * 2000 } });
    expect(limits.map(({ id, reserved }) => [id, reserved])).toContainEqual(["id_most", charge.cost!.nanoUsd]);
  });

  test("[d11.2 d4.2] after an attempt that was charged: what it used, and the next one", async () => {
    const ledger = watchedLedger();
    let sent = 0;
    const rubbish = cannedUpstream({ headers: { "content-type": "application/json" }, body: "rubbish" });
    const stub = stubGateway({
      ledger,
      upstream: { send: (...request) => (sent++ === 0 ? rubbish : PLAIN).send(...request) },
      snapshot: { prices: PRICE },
    });
    expect((await stub.chat({ ...ASK, max_completion_tokens: 30, num_retries: 1 })).status).toBe(200);
    expect(ledger.told).toEqual(["open", "reopen", "close"]);
    const [first, second] = ledger.opened.map(({ charge }) => charge.cost!.nanoUsd) as [number, number];
    expect([first, second]).toEqual([PROMPT * 1000 + 60_000, 2 * PROMPT * 1000 + 60_000]);
  });
});

describe("before_answer", () => {
  test("[d11.2] a non-streaming answer, an error and a refusal wait until their entry is on the disk", async () => {
    for (const body of [ASK, { ...ASK, temperature: "hot" }, { ...ASK, model: "nobody:x" }]) {
      const ledger = watchedLedger({ waits: true });
      let answered = false;
      const answer = gateway(ledger)
        .chat(body)
        .then(() => (answered = true));
      await until(() => ledger.closed.length > 0);
      await Bun.sleep(5);
      expect(answered).toBe(false);
      ledger.release();
      await answer;
    }
  });

  test("[d11.2] the last bytes of a stream wait, and those before them do not", async () => {
    for (const upstream of [
      STREAM,
      cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(...CHUNKS),
        chunk: "event",
        cutAt: CUT_AT,
      }),
    ]) {
      const ledger = watchedLedger({ waits: true });
      const response = await gateway(ledger, upstream).chat({ ...ASK, stream: true });
      let text = "";
      const reading = (async () => {
        for await (const piece of response.body as unknown as AsyncIterable<string | Uint8Array>)
          text += typeof piece === "string" ? piece : new TextDecoder().decode(piece);
      })();
      await until(() => ledger.closed.length > 0);
      await Bun.sleep(5);
      expect(text).toContain("Hel");
      expect(text).not.toContain("[DONE]");
      ledger.release();
      await reading;
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    }
  });
});

describe("ids", () => {
  test("[d11.5] the trace id is generated by the gateway for each call, whatever headers and body say, and is the key of the ledger", async () => {
    const ledger = watchedLedger();
    const stub = gateway(ledger);
    const theirs = "f".repeat(32);
    const headers = {
      "x-gateway-trace-id": theirs,
      "x-request-id": theirs,
      traceparent: `00-${theirs}-${"1".repeat(16)}-01`,
    };
    const seen: string[] = [];
    for (let count = 0; count < 3; count++) {
      const response = await stub.chat({ ...ASK, metadata: { x_gateway_trace_id: theirs } }, { headers });
      const body = (await response.json()) as { x_gateway_trace_id: string };
      seen.push(body.x_gateway_trace_id);
      expect(response.headers.get("x-gateway-trace-id")).toBe(body.x_gateway_trace_id);
    }
    expect(new Set(seen).size).toBe(3);
    for (const id of seen) expect(id).toMatch(/^(?!f{32})[0-9a-f]{32}$/);
    expect(ledger.opened.map(({ traceId }) => traceId)).toEqual(seen);
    expect(ledger.closed.map(({ traceId }) => traceId)).toEqual(seen);
  });

  test("[d11.5] a traceparent is recorded as otel_trace_id, an incoming x-request-id is recorded and not echoed", async () => {
    const ledger = watchedLedger();
    const stub = gateway(ledger);
    const response = await stub.chat(ASK, {
      headers: { "x-request-id": "their-own-id", traceparent: `00-${"ab".repeat(16)}-${"1".repeat(16)}-01` },
    });
    expect(ledger.closed[0]).toMatchObject({ clientRequestId: "their-own-id", otelTraceId: "ab".repeat(16) });
    expect(response.headers.get("x-request-id")).toBe(ledger.closed[0]!.traceId);
    expect(JSON.stringify([...response.headers]) + (await response.text())).not.toContain("their-own-id");
  });

  test("[d11.5] an invalid traceparent is not recorded as one, and an id of any length is cut", async () => {
    const ledger = watchedLedger();
    const stub = gateway(ledger);
    for (const traceparent of [
      "",
      "nonsense",
      `00-${"0".repeat(32)}-${"1".repeat(16)}-01`,
      `00-${"AB".repeat(16)}-${"1".repeat(16)}-01`,
      `ff-${"ab".repeat(16)}-${"1".repeat(16)}-01`,
      `00-${"ab".repeat(16)}-${"0".repeat(16)}-01`,
    ])
      await stub.chat(ASK, { headers: { traceparent, "x-request-id": "i".repeat(4000) } });
    expect(ledger.closed.map(({ otelTraceId }) => otelTraceId)).toEqual(Array.from({ length: 6 }, () => null));
    for (const { clientRequestId } of ledger.closed) expect(clientRequestId).toHaveLength(200);
  });
});

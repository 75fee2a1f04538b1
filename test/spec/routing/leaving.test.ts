// Promises 4.2 and 7.7: leaving early is not free. A request that reached a provider is charged, once; a non-streaming
// answer that has begun is read on, within bounds, for its usage.
import { describe, expect, test } from "bun:test";
import { readBytes } from "../../../src/wire/body-bytes.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import type { Fault } from "../../harness/faults.ts";
import { ask, expectNothingOpen, limitedGateway } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { turnTime } from "../../harness/time/turned-time.ts";
import { until } from "../../harness/time/until.ts";

const BUDGET = { budgets: { money: { usd: "0.00005", window: "day" } } } as const;
const CALL = { model: "up0:m", max_tokens: 1, messages: [{ role: "user", content: "Hello" }] };
const ENDLESS = new Uint8Array(64 * 1024).fill(32);

/** A gateway whose upstream gives the head of a plain answer, and then pieces without end. */
function endless(): { readonly upstream: UpstreamClient; readonly read: () => number } {
  let bytes = 0;
  const upstream: UpstreamClient = {
    send: (_, call) => {
      call.onSent?.(true);
      const read = async (): Promise<Uint8Array> => {
        await new Promise((resume) => setTimeout(resume, 1));
        call.signal.throwIfAborted();
        bytes += ENDLESS.length;
        return ENDLESS;
      };
      return Promise.resolve({
        status: 200,
        header: () => null,
        body: {
          read,
          bytes: (max, goesOn) => readBytes({ read }, max, () => {}, goesOn),
          text: () => Promise.resolve(""),
          accept: () => {},
          cancel: () => {},
        },
      });
    },
  };
  return { upstream, read: () => bytes };
}

/** A plain call that its client leaves after so long, in turned time; what became of it, and when. */
async function leftAfter(fault: Fault, leavesAfterMs: number, fields: object = {}) {
  const time = turnTime();
  try {
    const gateway = limitedGateway(
      { limits: { tokens: { metric: "tokens", window: "day", limit: 10_000 } } },
      [],
      { up0: [fault] },
      { clock: time.clock },
    );
    const leaving = new AbortController();
    const startedMs = time.nowMs();
    setTimeout(() => leaving.abort(), leavesAfterMs);
    await time.until(gateway.chat({ ...CALL, ...fields }, { signal: leaving.signal }));
    expectNothingOpen(gateway);
    const [served] = gateway.upstream.served;
    return { record: gateway.records[0]!, ended: served!.ended, endedMs: served!.endedMs! - startedMs };
  } finally {
    time.stop();
  }
}

describe("a non-streaming answer that has begun when its client leaves", () => {
  test("[d7.7] is read on and charged by the provider's own figures; the record says that the client has left", async () => {
    const { record, ended } = await leftAfter({ kind: "ok", words: 4, gapMs: 1_500 }, 1_000);
    expect([ended, record.status, record.code, record.cancelled, record.usage, record.usageSource]).toEqual([
      "read",
      499,
      "client_closed",
      true,
      { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
      "provider",
    ]);
    expect(record.limits[0]!.settled).toBe(9);
    expect(record.attempts[0]).toMatchObject({
      code: "client_closed",
      usage: { total_tokens: 9 },
      usageSource: "provider",
    });
  });

  test("[d7.7] is read for two seconds at most, and no longer than the call had left", async () => {
    const late = await leftAfter({ kind: "ok", gapMs: 10_000 }, 1_000);
    expect([late.ended, late.endedMs, late.record.usageSource]).toEqual(["cancelled", 3_000, "estimated"]);
    const short = await leftAfter({ kind: "ok", gapMs: 10_000 }, 1_000, { timeout: 1.5 });
    expect([short.ended, short.endedMs]).toEqual(["cancelled", 1_500]);
  });

  test("[d7.7] is read for 256 KiB at most", async () => {
    const { upstream, read } = endless();
    const gateway = limitedGateway({}, [], {}, { upstream });
    const leaving = new AbortController();
    const answer = gateway.chat(CALL, { signal: leaving.signal });
    await until(() => read() >= 5 * ENDLESS.length);
    const before = read();
    leaving.abort();
    await answer;
    expect(read() - before).toBeWithin(1, 256 * 1024 + 2 * ENDLESS.length + 1);
    expect(gateway.records[0]).toMatchObject({ status: 499, code: "client_closed", usageSource: "estimated" });
  });
});

describe("a call that ends early", () => {
  test("[d7.7] ends its upstream request at once where no answer has begun, and where it is a stream", async () => {
    for (const [fault, fields] of [
      [{ kind: "ok", delayMs: 10_000 }, {}],
      [{ kind: "ok", gapMs: 10_000 }, { stream: true }],
    ] as const) {
      const { ended, endedMs, record } = await leftAfter(fault, 1_000, fields);
      expect([ended, endedMs, record.usage?.prompt_tokens, record.usageSource]).toEqual([
        "cancelled",
        1_000,
        6,
        "estimated",
      ]);
    }
  });

  test("[d4.2] uses up a budget, however often its client leaves: no more calls reach the provider than the budget pays for", async () => {
    // 6 tokens of prompt are 6 µUSD, and 2 more are reserved for the answer: 50 µUSD pay for 8 calls
    const gateway = limitedGateway(BUDGET, [], { up0: [{ kind: "stall" }] });
    const statuses: number[] = [];
    for (let call = 0; call < 20; call++) {
      const leaving = new AbortController();
      const answer = gateway.chat(CALL, { signal: leaving.signal });
      const before = gateway.upstream.served.length;
      await until(() => gateway.upstream.served.length > before || gateway.records.length > call);
      leaving.abort();
      statuses.push((await answer).status);
    }
    expect(gateway.upstream.served).toHaveLength(8);
    expect(statuses.filter((status) => status === 429)).toHaveLength(12);
    expect(gateway.records.reduce((sum, { cost }) => sum + (cost?.nanoUsd ?? 0), 0)).toBe(8 * 6_000);
  });

  test("[d4.2] is charged once for each attempt, by its own target's price, in the cost as in the budget", async () => {
    const gateway = limitedGateway(
      { budgets: { money: { usd: "1", window: "day" } } },
      [routeOf("r", ["up0:m", "up1:m", "up2:m"], { timeouts: { firstByteMs: 20 } })],
      { up0: [{ kind: "stall" }], up1: [{ kind: "cut", words: 0 }], up2: [{ kind: "ok" }] },
    );
    expect((await ask(gateway, { ...CALL, model: undefined, route: "r", num_retries: 0 })).status).toBe(200);
    const [record] = gateway.records;
    expect(
      record!.attempts.map(({ usage, usageSource }) => [usage!.prompt_tokens, usage!.completion_tokens, usageSource]),
    ).toEqual([
      [6, 0, "estimated"],
      [6, 0, "estimated"],
      [5, 3, "provider"],
    ]);
    expect([record!.cost!.nanoUsd, record!.limits[0]!.settled]).toEqual([6_000 + 6_000 + 11_000, 23_000]);
  });

  test("[d4.2] is charged for what was generated, also where the provider's figures came before it", async () => {
    const events = [
      { usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }, choices: [] },
      ...Array.from({ length: 40 }, () => ({
        choices: [{ index: 0, delta: { role: "assistant", content: "several words more. " }, finish_reason: null }],
      })),
    ];
    const pieces = events.map((event) =>
      new TextEncoder().encode(
        `data: ${JSON.stringify({ id: "one", created: 1, model: "m", object: "chat.completion.chunk", ...event })}\n\n`,
      ),
    );
    const upstream: UpstreamClient = {
      send: (_, call) => {
        call.onSent?.(true);
        const read = (): Promise<Uint8Array | null> =>
          pieces.length > 0
            ? Promise.resolve(pieces.shift()!)
            : new Promise((_resolve, reject) =>
                call.signal.addEventListener("abort", () => reject(new Error("the client left"))),
              );
        return Promise.resolve({
          status: 200,
          header: () => null,
          body: {
            read,
            bytes: () => Promise.resolve(new Uint8Array(0)),
            text: () => Promise.resolve(""),
            accept: () => {},
            cancel: () => {},
          },
        });
      },
    };
    const gateway = limitedGateway({}, [], {}, { upstream });
    const reader = (await gateway.chat({ ...CALL, stream: true })).body!.getReader();
    for (let event = 0; event < 40; event++) await reader.read();
    await reader.cancel();
    expect(gateway.records[0]).toMatchObject({ usageSource: "estimated", usage: { prompt_tokens: 5 } });
    expect(gateway.records[0]!.usage!.completion_tokens).toBeGreaterThan(100);
  });

  test("[d4.2] is charged for all that the model reads, before and after the first content alike", async () => {
    const words = "Some words that the model is to read. ".repeat(200);
    const base64 = Buffer.from(words).toString("base64");
    const texts: Readonly<Record<string, object>> = {
      tools: { tools: [{ type: "function", function: { name: "f", description: words, parameters: {} } }] },
      response_format: {
        response_format: { type: "json_schema", json_schema: { name: "s", schema: { description: words } } },
      },
      "what is passed through": { documents: [{ text: words }] },
      document: content({ type: "document", source: { type: "base64", media_type: "text/plain", data: base64 } }),
      file: content({ type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64}` } }),
    };
    for (const [name, fields] of Object.entries(texts)) {
      const before = await leftAfter({ kind: "ok", delayMs: 10_000 }, 1_000, { ...fields, stream: true });
      const gateway = limitedGateway({}, [], { up0: [{ kind: "falls_silent", words: 2 }] });
      const reader = (await gateway.chat({ ...CALL, ...fields, stream: true })).body!.getReader();
      await reader.read();
      await reader.cancel();
      const [early, late] = [before.record, gateway.records[0]!].map(({ usage }) => usage!);
      expect([name, early!.prompt_tokens > words.length / 5, late!.completion_tokens > 0]).toEqual([name, true, true]);
      expect([name, late!.prompt_tokens]).toEqual([name, early!.prompt_tokens]);
    }
  });
});

function content(part: object): object {
  return { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, part] }] };
}

// Streams of which the client has seen nothing, because a guard held it back, the provider broke off or the client did not read: what was generated is charged once, and limit, record and cost say the same
// (promises 4.2, 4.7, 7.7, 11.1).
import { expect, test } from "bun:test";
import { policiesFor } from "../../policies/policy-documents.ts";
import { waitFor } from "../../harness/tools/fake-tools.ts";
import { type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { type ScriptedRound, scriptedModel } from "../tools/scripted-rounds.ts";

const ask = { model: "up:m", messages: [{ role: "user", content: "Is it warm?" }], stream: true };
const PRICED = {
  id: "m",
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: { prompt: "0.000001", completion: "0.000002" },
};
const GUARDED = {
  policies: policiesFor({ name: "no-mail", guard: { classes: ["email"], on: "output", action: "mask" } }),
};
const HELD: ScriptedRound = { text: "one_long_word_that_a_guard_holds", usage: false };

function stageOf(rounds: readonly ScriptedRound[], { snapshot, ...options }: StubOptions = {}): Stub {
  const providers = ["up", "other"].map((id) => ({
    ...providerSettings({ id, family: "custom", baseUrl: `http://${id}.test/v1`, credentials: [storedKey("key")] }),
    models: [PRICED],
  }));
  const limitRules = limitSet({
    limits: { tokens: { metric: "tokens", limit: 100_000, window: "minute" } },
    budgets: { money: { usd: 10, window: "day" } },
  });
  return stubGateway({
    upstream: scriptedModel(rounds, { chunk: "event" }),
    providers,
    ...options,
    snapshot: { ...snapshot, limitRules },
  });
}

/** Its first bytes come late, or its end never: `onStall` is called when all before the end was read. */
function slowed(
  upstream: UpstreamClient,
  { delayMs = 0, onStall }: { readonly delayMs?: number; readonly onStall?: () => void },
): UpstreamClient {
  return {
    async send(request, options) {
      const response = await upstream.send(request, options);
      const { body } = response;
      let isFirst = true;
      const read = async (): Promise<Uint8Array | null> => {
        if (isFirst) await waitFor(delayMs, options.signal);
        isFirst = false;
        const bytes = await body.read();
        if (bytes === null && onStall !== undefined) {
          onStall();
          await waitFor(60_000, options.signal);
        }
        return bytes;
      };
      return {
        status: response.status,
        header: (name) => response.header(name),
        body: {
          read,
          bytes: (max) => body.bytes(max),
          text: (max) => body.text(max),
          accept: () => body.accept(),
          cancel: () => body.cancel(),
        },
      };
    },
  };
}

/** What the limits have settled is what the record says. */
function expectOneStory(stage: Stub): void {
  const [record] = stage.records;
  const settled = (unit: string): number | null | undefined =>
    record!.limits.find((limit) => limit.unit === unit)?.settled;
  expect(record!.attempts.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0)).toBe(settled("tokens")!);
  expect(record!.cost?.nanoUsd ?? 0).toBe(settled("nano_usd")!);
  expect(stage.context.limits.open()).toBe(0);
}

test("[d4.2, d3.3] text that a guard still holds back when the provider breaks off is charged, and stands in the record", async () => {
  const stage = stageOf([{ ...HELD, isCut: true }], { snapshot: GUARDED });
  expect((await stage.chat(ask)).status).toBe(502);
  expectOneStory(stage);
  expect(stage.records[0]).toMatchObject({ code: "upstream_incomplete", usageSource: "estimated" });
  expect(stage.records[0]!.usage!.completion_tokens).toBeGreaterThan(2);
});

test("[d4.2, d7.3] where a fallback answers then, both attempts are charged, and the usage is that of the answer", async () => {
  const [cut, good] = [scriptedModel([{ ...HELD, isCut: true }]), scriptedModel([{ text: "Yes." }])];
  const stage = stageOf([], {
    snapshot: GUARDED,
    upstream: { send: (request, call) => (request.url.startsWith("http://up.") ? cut : good).send(request, call) },
  });
  await (await stage.chat({ ...ask, fallbacks: ["other:m"] })).text();
  expectOneStory(stage);
  expect(stage.records[0]).toMatchObject({ status: 200, provider: "other", usage: { total_tokens: 15 } });
  expect(stage.records[0]!.cost!.nanoUsd).toBeGreaterThan(20_000);
});

test("[d7.7, d4.2] text that a guard still holds back when the client leaves is charged, and stands in the record", async () => {
  const stalled = Promise.withResolvers<void>();
  const stage = stageOf([], {
    snapshot: GUARDED,
    upstream: slowed(scriptedModel([{ ...HELD, isCut: true }]), { onStall: stalled.resolve }),
  });
  const leaving = new AbortController();
  const answer = stage.chat(ask, { signal: leaving.signal });
  await stalled.promise;
  leaving.abort();
  expect((await answer).status).toBe(499);
  expectOneStory(stage);
  expect(stage.records[0]!.usage!.completion_tokens).toBeGreaterThan(2);
});

test("[d7.7, d4.2] a stream that begins after its head was sent, and that is not read before the client leaves, is charged", async () => {
  const stage = stageOf([], {
    upstream: slowed(scriptedModel([{ text: "It is warm.", usage: false }]), { delayMs: 60 }),
    limits: { headHoldMs: 20, keepAliveMs: 10_000 },
  });
  const reader = (await stage.chat(ask)).body!.getReader();
  await reader.read();
  await Bun.sleep(120);
  await reader.cancel();
  expectOneStory(stage);
  expect(stage.records[0]).toMatchObject({ code: "client_closed", firstContentMs: null });
  expect(stage.records[0]!.usage!.completion_tokens).toBeGreaterThan(0);
});

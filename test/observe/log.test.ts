// The line of a call holds what callers and providers said only as text of JSON, and only so much of it; an observer that fails takes nothing from others.
import { expect, test } from "bun:test";
import type { CallRecord } from "../../src/core/record/record.ts";
import { callLine, openLog } from "../../src/observe/log.ts";
import { batched } from "../../src/observe/observer.ts";
import { parseJson } from "../../src/wire/json/json.ts";
import { attemptOf, bareRecord } from "../contract/store/call-records.ts";

const figures: Readonly<Record<string, unknown>> = {
  "a text that looks like a line": '1}\n{"level":"info","forged":true',
  "an object": { toString: 1, valueOf: 1 },
  "a number that no double holds": parseJson("12345678901234567890123"),
  "a list": [1, 2],
};
for (const [what, figure] of Object.entries(figures))
  test(`[d11.1] ${what} in place of a provider's token count does not get into the line`, () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: figure },
      completion_tokens_details: { reasoning_tokens: figure },
    };
    const line = callLine(bareRecord({ usage: usage as unknown as CallRecord["usage"], usageSource: "provider" }));
    expect(line).not.toContain("\n");
    const told = JSON.parse(line) as Record<string, unknown>;
    expect(told).toMatchObject({ prompt_tokens: 1, msg: "call" });
    expect(told).not.toContainAnyKeys(["forged", "cached_tokens", "reasoning_tokens"]);
  });

test("[d11.1] figures stand in the line, also zero", () => {
  const usage = {
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  expect(JSON.parse(callLine(bareRecord({ usage, usageSource: "provider" })))).toMatchObject({
    cached_tokens: 0,
    reasoning_tokens: 7,
  });
});

test("[d11.1] free text is cut, so that no call is too long to be logged", () => {
  const long = "x".repeat(1_000_000);
  const attempt = attemptOf({ provider: "openai", status: 400, nativeCode: long });
  const dispositions = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [
      `${index}_${long.slice(0, index === 0 ? 5000 : 10)}`,
      "passed" as const,
    ]),
  );
  const line = callLine(
    bareRecord({
      modelAsked: long,
      errorDetail: long,
      clientRequestId: long,
      nativeFinishReasons: [long],
      attempts: [attempt],
      dispositions,
    }),
  );
  expect(line.length).toBeLessThan(64 * 1024);
  expect(JSON.parse(line)).toMatchObject({
    model_asked: `${long.slice(0, 1024)}… (1000000 characters)`,
    params: { "…": "99872 more" },
  });
});

test("[d11.1, d10.4] rounds and tools stand in the line, and the first of very many tools", () => {
  const run = {
    callId: "call_1",
    server: "s".repeat(1000),
    tool: "t".repeat(1000),
    round: 1,
    startMs: 1,
    totalMs: 3,
    code: "tool_timeout" as const,
    isError: true,
    resultBytes: null,
    spanId: null,
  };
  const line = callLine(bareRecord({ rounds: 2, tools: Array.from({ length: 1000 }, () => run) }));
  expect(line.length).toBeLessThan(128 * 1024);
  const told = JSON.parse(line);
  expect([told.rounds, told.tools.length, told.tools_left_out]).toEqual([2, 128, 872]);
  expect(told.tools[0]).toEqual({
    server: `${"s".repeat(256)}… (1000 characters)`,
    tool: `${"t".repeat(256)}… (1000 characters)`,
    round: 1,
    code: "tool_timeout",
    is_error: true,
    start_ms: 1,
    total_ms: 3,
  });
  expect(JSON.parse(callLine(bareRecord()))).not.toContainAnyKeys(["rounds", "tools"]);
});

test("[d11.1] line ends and control characters of any field are escaped", () => {
  const nasty = 'a\r\n\u001b[2J\u0000"\ud800\\';
  const line = callLine(
    bareRecord({
      modelAsked: nasty,
      clientRequestId: nasty,
      metadata: { [nasty]: nasty },
      nativeFinishReasons: [nasty],
      dispositions: { [nasty]: "passed" },
    }),
  );
  // oxlint-disable-next-line no-control-regex
  expect(line).not.toMatch(/[\u0000-\u001f]/);
  expect(JSON.parse(line)).toMatchObject({ model_asked: nasty, metadata: { [nasty]: nasty } });
});

test("[d2.7] calls without a known token get lines again when the clock was set back", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", output: { write: async (text) => void lines.push(text) } });
  const nowMs = Date.UTC(2026, 0, 1, 12);
  for (const startedAtMs of [nowMs, nowMs - 3_600_000])
    for (let call = 0; call < 20; call++) log.publish(bareRecord({ tokenId: null, status: 401, startedAtMs }));
  await log.close();
  expect(lines.join("").match(/"msg":"call"/g)).toHaveLength(20);
});

test("[d11.4] an observer that throws affects neither the other observers nor the caller", () => {
  const told: string[] = [];
  const faults: unknown[] = [];
  const failing = {
    publish: () => {
      throw new Error("broken");
    },
  };
  const all = batched([failing, { publish: ({ traceId }) => told.push(traceId) }], (fault) => faults.push(fault));
  all.publish(bareRecord({ traceId: "a" }));
  all.publish(bareRecord({ traceId: "b" }));
  all.flush();
  expect(told).toEqual(["a", "b"]);
  expect(faults).toHaveLength(2);
});

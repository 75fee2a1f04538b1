// The line of a call holds what callers and providers said only as text of JSON, and only so much of it; an observer that fails takes nothing from others.
import { expect, test } from "bun:test";
import type { CallRecord } from "../../src/core/record.ts";
import { callLine } from "../../src/observe/log.ts";
import { observers } from "../../src/observe/observer.ts";
import { parseJson } from "../../src/wire/json.ts";

function record(over: Partial<CallRecord> = {}): CallRecord {
  return {
    traceId: "0".repeat(32),
    startedAtMs: 1_767_225_600_000,
    clientRequestId: null,
    otelTraceId: null,
    trace: null,
    rounds: 1,
    tools: [],
    snapshotVersion: 1,
    tokenId: null,
    tenantId: null,
    projectId: null,
    userId: null,
    endUser: null,
    modelAsked: null,
    route: null,
    provider: null,
    model: null,
    stream: false,
    explained: false,
    status: 200,
    code: null,
    errorDetail: null,
    dispositions: {},
    messages: null,
    attempts: [],
    finishReasons: [],
    nativeFinishReasons: [],
    finishInferred: false,
    providerModel: null,
    providerRequestId: null,
    unnamedUsage: null,
    usage: null,
    usageSource: null,
    cost: null,
    callerCost: null,
    limits: [],
    policies: [],
    warnings: [],
    cancelled: false,
    metadata: null,
    firstContentMs: null,
    totalMs: 1,
    ownMs: 1,
    ...over,
  };
}

const figures: Readonly<Record<string, unknown>> = {
  "a text that looks like a line": '1}\n{"level":"info","forged":true',
  "an object": { toString: 1, valueOf: 1 },
  "a number that no double holds": parseJson("12345678901234567890123"),
  "a list": [1, 2],
};
for (const [what, figure] of Object.entries(figures))
  test(`[d11.1] ${what} where a provider should have counted tokens does not get into the line`, () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: figure },
      completion_tokens_details: { reasoning_tokens: figure },
    };
    const line = callLine(record({ usage: usage as unknown as CallRecord["usage"], usageSource: "provider" }));
    expect(line).not.toContain("\n");
    const told = JSON.parse(line) as Record<string, unknown>;
    expect(told).toMatchObject({ prompt_tokens: 1, msg: "call" });
    expect(told).not.toContainAnyKeys(["forged", "cached_tokens", "reasoning_tokens"]);
  });

test("[d11.1] figures stand in the line, zero too", () => {
  const usage = {
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  expect(JSON.parse(callLine(record({ usage, usageSource: "provider" })))).toMatchObject({
    cached_tokens: 0,
    reasoning_tokens: 7,
  });
});

test("[d11.1] whatever is said at will is cut, so that no call is too long to be logged", () => {
  const long = "x".repeat(1_000_000);
  const attempt = {
    provider: "openai",
    vendor: null,
    model: "m",
    status: 400,
    code: null,
    round: 1,
    startMs: 1,
    spanId: null,
    usage: null,
    usageSource: null,
    toldModel: null,
    requestId: null,
    nativeCode: long,
    retryAfterMs: null,
    headMs: null,
    firstContentMs: null,
    totalMs: null,
  };
  const dispositions = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [
      `${index}_${long.slice(0, index === 0 ? 5000 : 10)}`,
      "passed" as const,
    ]),
  );
  const line = callLine(
    record({
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

test("[d11.1, d10.4] rounds and tools stand in the line, and of very many tools the first", () => {
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
  const line = callLine(record({ rounds: 2, tools: Array.from({ length: 1000 }, () => run) }));
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
  expect(JSON.parse(callLine(record()))).not.toContainAnyKeys(["rounds", "tools"]);
});

test("[d11.1] line ends and control characters of any field are escaped", () => {
  const nasty = 'a\r\n\u001b[2J\u0000"\ud800\\';
  const line = callLine(
    record({
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

test("[d11.4] an observer that throws takes neither the record from the others nor the call from its caller", () => {
  const told: string[] = [];
  const faults: unknown[] = [];
  const failing = {
    publish: () => {
      throw new Error("broken");
    },
  };
  const all = observers([failing, { publish: ({ traceId }) => told.push(traceId) }], (fault) => faults.push(fault));
  all.publish(record({ traceId: "a" }));
  all.publish(record({ traceId: "b" }));
  expect(told).toEqual(["a", "b"]);
  expect(faults).toHaveLength(2);
});

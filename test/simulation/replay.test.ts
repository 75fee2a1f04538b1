// Recorded calls that are played again, without a database.
import { expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import { simulatedSnapshot } from "../../src/diagnostics/simulation/prepare-calls.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { observedTimes } from "../../src/simulation/observed-times.ts";
import { testResults } from "../../src/simulation/route-tests.ts";
import { replay, type Replay } from "../../src/simulation/replay.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import type { RecordedCall } from "../../src/store/calls/calls.ts";
import { recordedCall } from "./recorded-call.ts";

const OPENAI = "openai:gpt-4o";
const CLAUDE = "anthropic:claude-haiku-4-5";
const START = Date.UTC(2026, 5, 15, 12);
const MINUTE_MS = 60_000;

/** One call a minute that asks for what Claude does not have. */
const CALLS = Array.from({ length: 6 }, (_, index) =>
  recordedCall({ timeMs: START + index * MINUTE_MS, parameters: ["logprobs"] }),
);

function snapshotWith(route: string): Snapshot {
  const environment = readEnvironment({});
  const text = `routes: { chat: ${route} }`;
  const configuration = parseConfiguration({ file: "test", text, families: PROVIDER_FAMILIES, environment });
  return simulatedSnapshot({ configuration, environment }, [{ id: "default", tenantId: "default", name: "default" }]);
}

function played(route: string, calls: readonly RecordedCall[] = CALLS): Replay {
  const times = observedTimes(calls);
  return replay({
    calls,
    tenantId: "default",
    tokens: new Map(),
    route: "chat",
    snapshot: snapshotWith(route),
    faults: [],
    times,
    seed: 1,
  });
}

test("a target with a condition refuses only the calls that are for it, whichever of them came first", () => {
  const isRefused = { target: null, code: "unsupported_parameter" } as const;
  const isAnswered = { target: OPENAI, code: null };
  for (const [comparison, early, late] of [
    ["<", isRefused, isAnswered],
    [">=", isAnswered, isRefused],
  ] as const) {
    const when = `now ${comparison} timestamp("2026-06-15T12:03:00Z")`;
    const { calls } = played(`{ targets: [{ model: "${CLAUDE}", when: '${when}' }], fallbacks: ["${OPENAI}"] }`);
    expect(calls.map(({ target, code }) => ({ target, code }))).toEqual([early, early, early, late, late, late]);
    expect(calls.map(({ cost }) => cost !== null)).toEqual(calls.map(({ target }) => target !== null));
    expect(calls.find(({ code }) => code !== null)!.refusals).toMatchObject([{ target: CLAUDE, param: "logprobs" }]);
  }
});

test("[d16.1] a target behind two fallbacks has its cost, is among the targets, and is one that such a call can reach", () => {
  const [SMALL, LONGER, LONGEST] = ["openai:gpt-4", OPENAI, "openai:gpt-4.1"] as const;
  const usage = { prompt_tokens: 200_000, completion_tokens: 10, total_tokens: 200_010 };
  const route = `{ targets: ["${SMALL}"], context_window_fallbacks: { "${SMALL}": "${LONGER}", "${LONGER}": "${LONGEST}" } }`;
  const { calls, targets } = played(route, [recordedCall({ timeMs: START, usage, model: "gpt-4.1" })]);
  expect(calls).toMatchObject([{ target: LONGEST, tooLongAt: [SMALL, LONGER] }]);
  expect(calls[0]!.cost).not.toBeNull();
  expect(targets).toEqual([SMALL, LONGER, LONGEST]);
  const tested = { snapshot: snapshotWith(route), tenantId: "default", projectId: "default", name: "chat" };
  expect(testResults([{ name: "never", when: {}, expect: { never: LONGEST } }], tested)).toEqual([
    { name: "never", fault: `Such a call can reach ${LONGEST}.` },
  ]);
});

test("[d16.1] targets of routes that lead round in a circle, with other parameters each time, are found once", () => {
  const route = `{ targets: ["${OPENAI}"], content_policy_fallbacks: [{ route: other, temperature: 0.1 }] },
    other: { targets: ["${CLAUDE}"], fallbacks: [{ route: chat, temperature: 0.2 }] }`;
  const { calls, targets } = played(route, [recordedCall({ timeMs: START })]);
  expect(calls).toMatchObject([{ target: OPENAI, code: null }]);
  expect(targets).toEqual([OPENAI, CLAUDE]);
});

test("[d6.6] functions in the deprecated form are refused where tools are", () => {
  const [call] = CALLS;
  const refusals = ["tools", "functions"].map((name) => {
    const { calls } = played('{ targets: ["cohere:c4ai-aya-expanse-8b"] }', [{ ...call!, parameters: [name] }]);
    return calls[0]!.refusals;
  });
  expect(refusals).toMatchObject([[{ param: "tools" }], [{ param: "tools" }]]);
});

test("[d16.1] a share is decided by the trace id where the conversation, which is not recorded, would decide it", () => {
  const calls = Array.from({ length: 60 }, (_, index) => {
    const traceId = index.toString(16).padStart(32, "0");
    return recordedCall({ timeMs: START + index * MINUTE_MS, traceId });
  });
  const targets = `[{ model: "${CLAUDE}", share: 50 }, "${OPENAI}"]`;
  const targetsBy = (sticky: string) =>
    played(`{ targets: ${targets}, ${sticky} }`, calls).calls.map(({ target }) => target);
  expect(new Set(targetsBy("sticky: prompt"))).toEqual(new Set([CLAUDE, OPENAI]));
  expect(targetsBy("sticky: prompt")).toEqual(targetsBy("retries: 1"));
});

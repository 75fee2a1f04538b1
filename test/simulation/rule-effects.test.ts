// What limits and budgets would do with replayed calls.
import { expect, test } from "bun:test";
import type { ReplayedCall } from "../../src/simulation/replay.ts";
import { ruleEffects } from "../../src/simulation/rule-effects.ts";
import type { RecordedCall } from "../../src/store/calls/calls.ts";
import { limitSet, type Rules } from "../harness/limited.ts";
import { recordedCall } from "./recorded-call.ts";

/** By the name of each rule that would refuse calls: how many. */
function refusedBy(rules: Rules, calls: readonly RecordedCall[], cost: ReplayedCall["cost"]): Record<string, number> {
  const played = calls.map((): ReplayedCall => ({
    target: "openai:gpt-4o",
    code: null,
    attempts: 1,
    refusals: [],
    tooLongAt: [],
    firstContentMs: null,
    totalMs: 1,
    cost,
  }));
  const effects = ruleEffects({ calls: played, targets: ["openai:gpt-4o"], unjudged: 0 }, calls, {
    tenantId: "default",
    route: "chat",
    configuration: { limitRules: limitSet(rules).rulesIn("default"), policies: [] },
    tokens: new Map(),
  });
  return Object.fromEntries(effects.map(({ name, calls: refused }) => [name, refused]));
}

test("[d4.5] a budget of money refuses every call of a model without a price, unless it allows those", () => {
  const budgets = {
    strict: { usd: "1", window: "month" },
    lenient: { usd: "1", window: "month", unpriced: "allow" },
    tried: { usd: "1", window: "month", mode: "audit" },
  };
  const calls = [recordedCall(), recordedCall({ traceId: "1".repeat(32) })];
  expect(refusedBy({ budgets }, calls, null)).toEqual({ strict: 2 });
  expect(refusedBy({ budgets }, calls, { nanoUsd: 1, priceId: "p" })).toEqual({});
  // what is not known to have been used may have cost nothing
  expect(refusedBy({ budgets }, [recordedCall({ usage: null })], null)).toEqual({});
});

test("[d8.9] limits count the total of the provider where that is more than its parts", () => {
  const limits = { few: { metric: "tokens", window: "day", limit: 100 } };
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 120 };
  expect(refusedBy({ limits }, [recordedCall({ usage })], null)).toEqual({ few: 1 });
});

// The sentence that says what decided a call, for each thing that can decide it.
import { describe, expect, test } from "bun:test";
import type { LimitRule } from "../../../../src/core/configured/limit.ts";
import type { LimitOutcome } from "../../../../src/core/record/record.ts";
import { money, type UsualCall, type VerdictFacts, verdictOf } from "../../../../src/http/admin/calls/call-verdict.ts";
import { attemptOf, bareRecord, type CallParts, recordOf } from "../../../contract/store/call-records.ts";

const RULE: LimitRule = {
  id: "b1",
  name: "team-month",
  kind: "budget",
  tenantId: "acme",
  projectId: null,
  scope: {},
  unit: "nano_usd",
  window: "month",
  limit: 12_000_000_000,
  mode: "enforce",
  onStoreFailure: "local_share",
  assumeOutputTokens: 100,
  unpriced: "deny",
  thresholds: [],
};
const OUTCOME: LimitOutcome = {
  id: "b1",
  value: "",
  unit: "nano_usd",
  before: 11_900_000_000,
  reserved: 0,
  settled: 0,
  after: 11_900_000_000,
  wouldRefuse: false,
  refused: "insufficient_quota",
};
const USUAL: UsualCall = {
  calls: 200,
  costNanoUsd: 1_000_000,
  totalMs: 1000,
  firstContentMs: 200,
  promptTokens: 300,
  completionTokens: 100,
};
const REFUSED = attemptOf({
  provider: "a",
  model: "m1",
  status: 529,
  code: "upstream_overloaded",
  nativeCode: "overloaded_error",
  startMs: 2,
  totalMs: 122,
  usage: null,
});
const SERVED = attemptOf({ provider: "b", model: "m2", startMs: 122, totalMs: 500 });

const say = (parts: CallParts, facts: Partial<VerdictFacts> = {}): readonly [string, string] => {
  const { kind, text } = verdictOf({
    record: recordOf(parts),
    settled: true,
    rules: new Map([["b1", RULE]]),
    usual: null,
    costParts: [],
    ...facts,
  });
  return [kind, text];
};
const notes = (parts: CallParts, facts: Partial<VerdictFacts> = {}): readonly string[] =>
  verdictOf({ record: recordOf(parts), settled: true, rules: new Map(), usual: null, costParts: [], ...facts }).notes;

describe("a refusal names what refused, with its figures", () => {
  const failed = { status: 429, code: "insufficient_quota", tokens: null, costNanoUsd: null } as const;

  test("a budget, with what was used and when it resets", () => {
    expect(say({ ...failed, limits: [OUTCOME] })).toEqual([
      "refused",
      'Refused before sending: the budget "team-month" had no room for the call: 11.90 of 12.00 USD were used in the month, and it resets on 2026-02-01 00:00 UTC.',
    ]);
  });
  test("[d11.1] a budget as it was at the time of the call, whatever has become of it", () => {
    const limits = [{ ...OUTCOME, limit: 11_950_000_000 }];
    expect(say({ ...failed, limits })[1]).toContain("11.90 of 11.95 USD were used in the month");
    expect(say({ ...failed, limits }, { rules: new Map() })[1]).toBe(
      'Refused before sending: the budget "b1" had no room for the call: 11.90 of 11.95 USD were used.',
    );
  });
  test("[d7.3] but not where the provider of another target has ended the call with the same code", () => {
    const quota = attemptOf({ provider: "a", model: "m1", status: 402, code: "insufficient_quota", usage: null });
    expect(say({ ...failed, limits: [OUTCOME], attempts: [quota] })[0]).toBe("failed");
  });
  test("a budget that never resets, and one that is not configured any more", () => {
    const total = new Map([["b1", { ...RULE, window: "total" } as const]]);
    expect(say({ ...failed, limits: [OUTCOME] }, { rules: total })[1]).toEndWith("were used, and it never resets.");
    expect(say({ ...failed, limits: [OUTCOME] }, { rules: new Map() })[1]).toBe(
      'Refused before sending: the budget "b1" had no room for the call, with 11.90 USD used.',
    );
  });
  test("a budget after another target had failed", () => {
    expect(say({ ...failed, limits: [OUTCOME], attempts: [REFUSED] })[1]).toStartWith(
      'Refused after a:m1 answered 529 (overloaded_error) after 120 ms: the budget "team-month"',
    );
  });
  test("a rate limit of one value of its scope, and concurrency", () => {
    const limit: LimitRule = {
      ...RULE,
      kind: "limit",
      name: "per-user",
      unit: "requests",
      window: "minute",
      limit: 1000,
    };
    const outcome: LimitOutcome = {
      ...OUTCOME,
      unit: "requests",
      value: "eve",
      before: 1000,
      refused: "rate_limit_exceeded",
    };
    const call = { ...failed, code: "rate_limit_exceeded" } as const;
    expect(say({ ...call, limits: [outcome] }, { rules: new Map([["b1", limit]]) })[1]).toBe(
      'Refused before sending: the limit "per-user" of "eve" had no room for the call: 1,000 of 1,000 requests were used in the minute.',
    );
    const parallel: LimitRule = { ...limit, unit: "concurrency", window: null, limit: 5 };
    expect(
      say(
        { ...call, limits: [{ ...outcome, unit: "concurrency", before: 5, value: "" }] },
        { rules: new Map([["b1", parallel]]) },
      )[1],
    ).toBe('Refused before sending: the limit "per-user" had no room for the call: 5 of 5 calls were running.');
  });
  test("a limit store that is away, and a model without a price", () => {
    const away = { ...OUTCOME, refused: "limit_store_unavailable" } as const;
    expect(say({ ...failed, status: 503, code: "limit_store_unavailable", limits: [away] })[1]).toBe(
      'Refused before sending: the budget "team-month" could not be checked, because its store did not answer.',
    );
    expect(say({ ...failed, status: 403, code: "model_unpriced" })[1]).toBe(
      "Refused before sending: a budget in US dollars applies, but the model has no known price.",
    );
  });
  test("a policy, and what the client sent", () => {
    const policies = [{ name: "no-images", effect: "denied" }] as const;
    expect(say({ ...failed, status: 403, code: "policy_violation", policies })[1]).toBe(
      'Refused before sending: the policy "no-images" forbids the call.',
    );
    expect(say({ ...failed, status: 401, code: "expired_token" })).toEqual([
      "refused",
      "Refused before sending: the access token has expired.",
    ]);
  });
});

describe("a failure names the attempts", () => {
  test("the only one, several, those without an answer, and a wait that was asked for", () => {
    const failed = { status: 502, code: "upstream_error", tokens: null, costNanoUsd: null } as const;
    expect(say({ ...failed, attempts: [REFUSED] })).toEqual([
      "failed",
      "The only attempt failed: a:m1 answered 529 (overloaded_error) after 120 ms.",
    ]);
    const silent = attemptOf({
      provider: "b",
      model: "m2",
      status: null,
      code: "upstream_timeout",
      startMs: 0,
      totalMs: 30_000,
    });
    const limited = attemptOf({
      provider: "c",
      model: "m3",
      status: 429,
      code: "upstream_error",
      startMs: 0,
      totalMs: 15,
      retryAfterMs: 20_000,
    });
    const cut = attemptOf({
      provider: "d",
      model: "m4",
      status: 200,
      code: "upstream_incomplete",
      startMs: 0,
      totalMs: 700,
    });
    expect(say({ ...failed, attempts: [silent, limited, cut] })[1]).toBe(
      "All 3 attempts failed: b:m2 did not answer in time, given up after 30 s, c:m3 answered 429 after 15 ms and asked to wait 20 s and d:m4 failed with upstream_incomplete after 700 ms.",
    );
  });
  test("[d11.1] one of several, where an earlier round or a part of the answer had succeeded or was ended with it", () => {
    const failed = { status: 502, code: "upstream_error", tokens: null, costNanoUsd: null } as const;
    const later = { ...REFUSED, round: 2 };
    expect(say({ ...failed, rounds: 2, attempts: [SERVED, later] })[1]).toStartWith("1 of 2 attempts failed: a:m1 ");
    const ended = { ...SERVED, status: null, code: "superseded" } as const;
    expect(say({ ...failed, attempts: [REFUSED, ended, ended] })[1]).toStartWith("1 of 3 attempts failed: a:m1 ");
  });
  test("a failure without an attempt has the meaning of its code", () => {
    expect(
      verdictOf({
        record: bareRecord({ status: 500, code: null }),
        settled: true,
        rules: new Map(),
        usual: null,
        costParts: [],
      }).text,
    ).toBe("The call ended with status 500.");
    expect(say({ status: 502, code: "tool_server_failed", tokens: null })[1]).toBe(
      "A tool server of the request could not be reached, or does not list its tools.",
    );
  });
});

describe("an answer", () => {
  test("of another target says why the first did not answer", () => {
    expect(say({ attempts: [REFUSED, SERVED] })).toEqual([
      "fallback",
      "Served by b:m2 because a:m1 answered 529 (overloaded_error) after 120 ms.",
    ]);
    expect(say({ attempts: [REFUSED, { ...SERVED, provider: "a", model: "m1" }] })[1]).toStartWith(
      "Served by a:m1 again because",
    );
    expect(say({ attempts: [{ ...REFUSED, code: "superseded", status: null }, SERVED] })).toEqual([
      "hedged",
      "Served by b:m2, which was faster than a:m1.",
    ]);
  });
  test("of several rounds is judged by the last of them", () => {
    expect(say({ attempts: [SERVED, { ...SERVED, round: 2 }] })[0]).toBe("usual");
  });
  test("that was dear names the largest part of its cost, or the tokens", () => {
    const costParts = [
      { what: "uncached prompt tokens", units: 30_111, nanoUsd: 11_040_000 },
      { what: "completion tokens", units: 100, nanoUsd: 960_000 },
    ];
    expect(say({ costNanoUsd: 12_000_000 }, { usual: USUAL, costParts })).toEqual([
      "dear",
      "It cost 0.012 USD, 12 times this route's median: 30,111 uncached prompt tokens are 92 % of it.",
    ]);
    expect(say({ costNanoUsd: 12_000_000, tokens: [30_111, 10] }, { usual: USUAL })[1]).toEndWith(
      "30,111 prompt tokens, where 300 are usual.",
    );
    expect(say({ costNanoUsd: 12_000_000, tokens: [300, 900] }, { usual: USUAL })[1]).toEndWith(
      "900 completion tokens, where 100 are usual.",
    );
  });
  test("that was slow says where the time went", () => {
    const slow = (parts: CallParts): string => say({ totalMs: 8000, ...parts }, { usual: USUAL })[1];
    expect(slow({ firstContentMs: 6000 })).toBe(
      "It took 8,000 ms, 8 times this route's median: 75 % of it passed until the first content.",
    );
    expect(slow({ firstContentMs: 300, tokens: [1, 2000] })).toEndWith(
      "2,000 completion tokens came after the first content.",
    );
    expect(slow({ ownMs: 7000 })).toEndWith("88 % of it was spent in the gateway.");
  });
  test("is usual where neither cost nor time is notable, also where medians are tiny", () => {
    expect(say({ costNanoUsd: 2_000_000, totalMs: 900 }, { usual: USUAL })).toEqual([
      "usual",
      "Served by openai:gpt-4o in 900 ms for 0.0020 USD, as is usual for this route.",
    ]);
    expect(say({ costNanoUsd: 50 }, { usual: { ...USUAL, costNanoUsd: 1 } })[0]).toBe("usual");
    expect(say({ costNanoUsd: null, provider: null })[1]).toBe("Answered in 200 ms.");
  });
  test("from the cache, to a client that left, of a gateway that was killed, and an explanation", () => {
    const cache = {
      outcome: "hit",
      bypass: null,
      key: "k",
      scope: "project",
      ageMs: 180_000,
      savedNanoUsd: 500_000,
    } as const;
    expect(say({ cache })).toEqual([
      "cached",
      "The answer was kept 3 min ago, so that no provider was asked: 200 ms, and 0.00050 USD saved.",
    ]);
    expect(say({ cache: { ...cache, ageMs: null, savedNanoUsd: null } })[1]).toStartWith(
      "Another call that was waiting",
    );
    expect(say({ cancelled: true, costNanoUsd: 1000 })).toEqual([
      "left",
      "The client disconnected after 200 ms, before the answer was complete; what had been used until then cost 0.0000010 USD.",
    ]);
    expect(
      say({ status: 499, code: "client_closed", cancelled: true, firstContentMs: null, costNanoUsd: null })[1],
    ).toBe("The client disconnected after 200 ms, before there was any content.");
    expect(say({ costNanoUsd: 5_000_000_000 }, { settled: false })).toEqual([
      "unsettled",
      "The gateway's process ended before the call did, so it was charged the most that it might have used: 5.00 USD.",
    ]);
    expect(say({ explained: true })[0]).toBe("explained");
  });
});

test("notes say what else is out of the ordinary", () => {
  expect(
    notes({
      usageSource: "estimated",
      costNanoUsd: null,
      callerCost: { nanoUsd: 1, priceId: "request" },
      limits: [{ ...OUTCOME, wouldRefuse: true }],
      policies: [
        { name: "p1", effect: "would_deny" },
        { name: "p2", effect: "masked" },
      ],
      finishReasons: ["length"],
      dispositions: { logprobs: "dropped", temperature: "native", seed: "dropped" },
    }),
  ).toEqual([
    "The provider did not report the usage, or only a part of it, so that the gateway estimated it.",
    "No price of the model is known, so that the call has no cost.",
    "The client sent prices of its own, which are not counted.",
    '"b1" would have refused the call if it were enforced.',
    'The policy "p1" would have forbidden the call if it were enforced.',
    'The policy "p2" masked some of the text.',
    "The answer was cut at the largest number of tokens, or of rounds of tools.",
    "Left out because the target does not take them, or the configuration says so: logprobs and seed.",
  ]);
  expect(notes({})).toEqual([]);
});

test("dollars have two digits that count, and are never zero for something", () => {
  expect([0, 1, 1234, 123_456, 12_345_678, 999_999_999, 12_400_000_000].map(money)).toEqual([
    "0.00 USD",
    "0.000000001 USD",
    "0.0000012 USD",
    "0.00012 USD",
    "0.012 USD",
    "1.00 USD",
    "12.40 USD",
  ]);
});

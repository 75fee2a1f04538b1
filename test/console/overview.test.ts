// What the overview says of failed calls and of cost, and the id that is proposed for a new project.
import { describe, expect, test } from "bun:test";
import type { CallFacet, FailureCause } from "../../console/src/api/types.ts";
import { parametersOf, parseFilter } from "../../console/src/screens/calls/filter.ts";
import { costShares } from "../../console/src/screens/overview/cost-shares.ts";
import { causeWords } from "../../console/src/screens/overview/failure-words.ts";
import { proposedId } from "../../console/src/shell/place-id.ts";

const cause = (parts: Partial<FailureCause>): FailureCause => ({
  status: 429,
  code: "rate_limit_exceeded",
  kind: null,
  subject: null,
  name: null,
  calls: 141,
  ...parts,
});
const found = (one: FailureCause): Readonly<Record<string, string>> =>
  Object.fromEntries(parametersOf(parseFilter(causeWords(one, 313).terms.join(" "))));

describe("what most calls failed of", () => {
  test("[d14.3] a limit, a budget, a policy and a target are named, and the filter finds the calls of each", () => {
    const limit = cause({ kind: "limit", subject: "lim_1", name: "each" });
    expect(causeWords(limit, 313)).toMatchObject({
      count: "141 of 313 calls",
      what: 'The limit "each" refused them',
      code: "rate_limit_exceeded",
      page: "/limits/lim_1",
    });
    expect(found(limit)).toEqual({ code: "rate_limit_exceeded", limit_id: "lim_1" });
    const budget = cause({ code: "insufficient_quota", kind: "budget", subject: "bud_1", name: "month" });
    expect(causeWords(budget, 1313)).toMatchObject({
      count: "141 of 1,313 calls",
      what: 'The budget "month" refused them',
    });
    const policy = cause({
      status: 403,
      code: "policy_violation",
      kind: "policy",
      subject: "no cards",
      name: "no cards",
    });
    expect(causeWords(policy, 313).page).toBe("/policies/no%20cards");
    expect(found(policy)).toEqual({ code: "policy_violation", policy: "no cards" });
    const target = cause({
      status: 502,
      code: "upstream_error",
      kind: "target",
      subject: "mine:ft:a b:c",
      name: "mine:ft:a b:c",
    });
    expect(causeWords(target, 313)).toMatchObject({ what: "mine:ft:a b:c failed", page: "/providers/mine" });
    const target400 = cause({ ...target, status: 400, code: "context_length_exceeded" });
    expect(causeWords(target400, 313).what).toBe("mine:ft:a b:c refused them");
    const left = cause({ ...target, status: 499, code: "client_closed" });
    expect(causeWords(left, 313).what).toBe("The client did not wait for mine:ft:a b:c");
    expect(found(target)).toEqual({ code: "upstream_error", provider: "mine", model: "ft:a b:c" });
  });

  test("[d14.3] where nothing of a name was at fault, the status is told and filtered by", () => {
    expect(causeWords(cause({ status: 499, code: null }), 313)).toMatchObject({
      what: "The client did not wait for an answer",
      code: "499",
      page: null,
    });
    expect(causeWords(cause({ status: 400, code: "invalid_request" }), 313).what).toBe("The gateway refused them");
    expect(found(cause({ status: 499, code: null }))).toEqual({ status: "499" });
    expect(causeWords(cause({ status: 503, code: "no_target" }), 313).what).toBe("The gateway or a provider failed");
  });

  test("[d14.3] a name with marks that turn text round is shown with them", () => {
    expect(causeWords(cause({ kind: "limit", subject: "x", name: "a\u202eb" }), 1).what).toContain("⟨202E⟩");
  });
});

describe("what costs most", () => {
  const facet = (dimension: CallFacet["dimension"], value: string | null, cost: string | null): CallFacet => ({
    dimension,
    value,
    calls: 1,
    errors: 0,
    cost_usd: cost,
  });

  test("[d14.3] each dimension has its values with their part of the whole, and what is free or has no name is left out", () => {
    const facets = [
      facet("user", "ann", "0.75"),
      facet("user", null, "0.25"),
      facet("user", "bob", "0.000000000"),
      facet("model", "m", "1.00"),
      facet("project", "site", "1.00"),
      facet("route", "free", "0"),
      facet("code", "rate_limit_exceeded", null),
    ];
    expect(costShares(facets, "1.00", false).map(({ title, rows }) => [title, rows])).toEqual([
      ["Projects", [{ value: "site", costUsd: "1.00", share: 1 }]],
      ["Users", [{ value: "ann", costUsd: "0.75", share: 0.75 }]],
      ["Models", [{ value: "m", costUsd: "1.00", share: 1 }]],
    ]);
    expect(costShares(facets, "1.00", true).map(({ title }) => title)).toEqual(["Users", "Models"]);
    expect(costShares(facets, "0", false)).toEqual([]);
  });
});

test.each([
  ["Search Team", "search-team"],
  ["  Café & Co  ", "cafe-co"],
  ["v2.1_beta", "v2.1_beta"],
  ["日本", ""],
  ["-x-", "x"],
  ["a".repeat(99), "a".repeat(64)],
])("the id that is proposed for %s is one that the gateway takes", (name, id) => {
  const proposed = proposedId(name);
  expect(proposed).toMatch(/^(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$/);
  expect(proposed).toBe(id);
});

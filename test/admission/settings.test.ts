// The configuration of limits and budgets: what is accepted, what is refused with which message, and which of them
// apply to a call.
import { describe, expect, test } from "bun:test";
import { compileLimits } from "../../src/admission/compile-limits.ts";
import { budgetSchema, limitSchema, nanoUsdOf } from "../../src/admission/settings.ts";
import type { Configured } from "../../src/core/configured/configured.ts";
import type { LimitedTarget } from "../../src/core/configured/limit.ts";

const problems = (schema: typeof limitSchema | typeof budgetSchema, document: unknown): readonly string[] => {
  const read = schema.safeParse(document);
  return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
};

describe("limits", () => {
  test("omitted settings have a default", () => {
    expect(limitSchema.parse({ metric: "requests", window: "minute", limit: 10 })).toEqual({
      metric: "requests",
      window: "minute",
      limit: 10,
      scope: {},
      mode: "enforce",
      on_store_failure: "local_share",
      assume_output_tokens: 4096,
    });
  });
  test.each([
    ["a negative limit", { metric: "requests", window: "minute", limit: -1 }, "limit"],
    ["a limit with a fraction", { metric: "requests", window: "minute", limit: 1.5 }, "limit"],
    ["a limit that is text", { metric: "requests", window: "minute", limit: "10" }, "limit"],
    ["a limit that no count holds", { metric: "tokens", window: "day", limit: 1e15 }, "limit"],
    ["an unknown scope", { metric: "requests", window: "minute", limit: 1, scope: { team: "a" } }, "scope"],
    [
      "an empty value of a scope",
      { metric: "requests", window: "minute", limit: 1, scope: { user: "" } },
      "scope.user",
    ],
    [
      "a line break in a scope",
      { metric: "requests", window: "minute", limit: 1, scope: { user: "a\nb" } },
      "scope.user",
    ],
    ["no window", { metric: "requests", limit: 1 }, "window"],
    ["a budget's window", { metric: "tokens", window: "month", limit: 1 }, "window"],
    ["an unknown metric", { metric: "money", window: "day", limit: 1 }, "metric"],
    ["an unknown key", { metric: "requests", window: "day", limit: 1, burst: 5 }, ""],
  ])("[d4.1] %s is refused at its place", (_, document, path) => {
    const found = problems(limitSchema, document);
    expect([found.length, found[0]?.split(":")[0]]).toEqual([1, path]);
  });
});

describe("budgets", () => {
  test.each([
    ["12.50", 12_500_000_000],
    ["0.000000001", 1],
    ["0", 0],
    [12.5, 12_500_000_000],
    [0.1, 100_000_000],
    ["1000000", 1e15],
  ] as const)("[d4.7] %p US dollars are whole nano-dollars", (usd, nano) => {
    expect(nanoUsdOf(budgetSchema.parse({ usd, window: "month" }).usd!)).toBe(nano);
  });
  test.each([
    ["a negative amount", { usd: "-1", window: "day" }, "usd"],
    ["finer than a nano-dollar", { usd: "0.0000000001", window: "day" }, "usd"],
    ["a number of dollars that is not whole in nano-dollars", { usd: 0.1 + 0.2, window: "day" }, "usd"],
    ["an exponent", { usd: "1e3", window: "day" }, "usd"],
    ["more than can be counted", { usd: "1000001", window: "day" }, "usd"],
    ["neither money nor tokens", { window: "day" }, "usd"],
    ["both", { usd: "1", tokens: 1, window: "day" }, "tokens"],
    ["an hour", { usd: "1", window: "hour" }, "window"],
    ["a threshold above all", { usd: "1", window: "day", thresholds: [101] }, "thresholds.0"],
    ["a threshold of nothing", { usd: "1", window: "day", thresholds: [0] }, "thresholds.0"],
    ["a threshold twice", { usd: "1", window: "day", thresholds: [80, { percent: 80 }] }, "thresholds"],
    [
      "a model without a provider",
      { usd: "1", window: "day", thresholds: [{ percent: 80, degrade_to: "cheap" }] },
      "thresholds.0.degrade_to",
    ],
  ])("[d4.1] %s is refused at its place", (_, document, path) => {
    const found = problems(budgetSchema, document);
    expect([found.length, found[0]?.split(":")[0]]).toEqual([1, path]);
  });
});

const at = (
  tenantId: string | null,
  projectId: string | null,
  id: string,
  limit: object,
): Configured<ReturnType<typeof limitSchema.parse>> => ({
  id,
  name: id,
  tenantId,
  projectId,
  origin: "store",
  setBy: null,
  version: 1,
  document: limitSchema.parse({ metric: "requests", window: "minute", limit: 1, ...limit }),
});
const PLACE: LimitedTarget = { route: "chat", provider: "up", model: "up:big" };

function accountsFound(
  limits: readonly Configured<ReturnType<typeof limitSchema.parse>>[],
  {
    tenant = "t",
    project = "p",
    token = "k",
    user = null as string | null,
    place = PLACE,
    operation = "chat.completions",
  } = {},
): readonly string[] {
  return (
    compileLimits({ limits, budgets: [] }).forCaller(tenant, project, token, operation)?.accountsAt(place, user) ?? []
  ).map(({ rule, value }) => `${rule.tenantId}/${rule.id}=${value}`);
}

describe("what applies to a call", () => {
  test("[d4.1] limits of the file, of the tenant and of the project apply; none of others", () => {
    const all = [
      at(null, null, "file", {}),
      at("t", null, "tenant", {}),
      at("t", "p", "project", {}),
      at("t", "q", "other-project", {}),
      at("o", null, "other-tenant", {}),
      at("o", "p", "other-tenants", {}),
    ];
    expect(accountsFound(all)).toEqual(["t/file=", "t/tenant=", "t/project="]);
    expect(accountsFound(all, { tenant: "o", project: "x" })).toEqual(["o/file=", "o/other-tenant="]);
    expect(compileLimits({ limits: all.slice(1), budgets: [] }).forCaller("nobody", "p", "k")).toBeNull();
  });
  test.each([
    [{ token: "k" }, true],
    [{ token: "x" }, false],
    [{ route: "chat" }, true],
    [{ route: "ch*" }, true],
    [{ route: "direct" }, false],
    [{ provider: "up" }, true],
    [{ provider: "down" }, false],
    [{ model: "up:*" }, true],
    [{ model: "up:small" }, false],
    [{ user: "u1" }, true],
    [{ user: "u*" }, true],
    [{ user: "v" }, false],
    [{ user: "u1", model: "up:big" }, true],
    [{ user: "u1", model: "up:small" }, false],
    [{ operation: "chat.completions" }, true],
    [{ operation: "chat*" }, true],
    [{ operation: "embeddings" }, false],
    [{ operation: "chat.completions", model: "up:small" }, false],
  ] as const)("[d4.1] the scope %p applies: %p", (scope, holds) => {
    expect(accountsFound([at("t", "p", "one", { scope })], { user: "u1" }).length).toBe(holds ? 1 : 0);
  });
  test("`*` gives each value a count of its own; a glob is one count for all values that it matches", () => {
    expect(
      accountsFound(
        [
          at("t", "p", "a", { scope: { user: "*" } }),
          at("t", "p", "b", { scope: { token: "*", user: "*" } }),
          at("t", "p", "c", { scope: { user: "u*" } }),
          at("t", "p", "d", { scope: { operation: "*", user: "*" } }),
        ],
        { user: "u1", operation: "embeddings" },
      ),
    ).toEqual(["t/a=u1", "t/b=k\nu1", "t/c=", "t/d=embeddings\nu1"]);
  });
  test("[d5.8] what names no route, provider, model or end user applies to each call, whatever its body says", () => {
    const limits = [
      at("t", null, "tenant", {}),
      at("t", "p", "token", { scope: { token: "*" } }),
      at("t", "p", "operation", { scope: { operation: "chat*" } }),
      ...["route", "provider", "model", "user"].flatMap((key) => [
        at("t", "p", `${key} named`, { scope: { [key]: "up:big" } }),
        at("t", "p", `each ${key}`, { scope: { [key]: "*" } }),
      ]),
    ];
    const caller = compileLimits({ limits, budgets: [] }).forCaller("t", "p", "k", "chat.completions")!;
    expect(caller.ofEveryCall.map(({ rule: { id }, value }) => [id, value])).toEqual([
      ["tenant", ""],
      ["token", "k"],
      ["operation", ""],
    ]);
    // a call finds the same accounts later
    const later = caller.accountsAt(PLACE, null);
    for (const account of caller.ofEveryCall) expect(later).toContain(account);
  });
  test("[d4.1] an operation that does not exist is refused, because the limit would bound nothing", () => {
    const limit = (operation: string) =>
      limitSchema.safeParse({ metric: "requests", window: "minute", limit: 1, scope: { operation } }).error?.issues[0]
        ?.message;
    for (const known of ["embeddings", "messages*", "*"]) expect(limit(known)).toBeUndefined();
    for (const unknown of ["embedding", "chats*", "unserved"])
      expect(limit(unknown)).toContain("expected the name of an operation (chat.completions, ");
  });
  test("[d1.3 d4.1] a slash after the provider stands for the colon, and only there", () => {
    const limits = ["up/big", "up/*", "*/big", "up:org/big"].map((model) => at("t", "p", model, { scope: { model } }));
    expect(accountsFound(limits)).toEqual(["t/up/big=", "t/up/*="]);
    expect(accountsFound(limits, { place: { ...PLACE, model: "up:org/big" } })).toEqual([
      "t/up/*=",
      "t/*/big=",
      "t/up:org/big=",
    ]);
  });
  test("a call without an end user is not bounded by limits of end users", () => {
    expect(accountsFound([at("t", "p", "a", { scope: { user: "*" } })])).toEqual([]);
  });
  test("a thousand limits of other projects are not examined", () => {
    const others = Array.from({ length: 1_000 }, (_, index) => at("t", `p${index}`, `l${index}`, {}));
    expect(accountsFound([...others, at("t", "p", "own", {})])).toEqual(["t/own="]);
    expect(compileLimits({ limits: others, budgets: [] }).forCaller("t", "p", "k")).toBeNull();
  });
});

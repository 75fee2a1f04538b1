// Budgets that are counted again from the rows of calls: only the windows that budgets have are queried.
import { expect, test } from "bun:test";
import { rebuiltBudgets } from "../../src/admission/rebuilt-budgets.ts";
import type { Spent, SpentQuery } from "../../src/store/calls/calls.ts";
import { limitSet, type Rules } from "../harness/limited.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const SPENT: Spent = {
  values: ["default", "default", "tok_1", "direct", "a", "m", "user-1"],
  calls: 1n,
  tokens: 30n,
  costNanoUsd: 40n,
};

async function rebuilt(rules: Rules): Promise<{ readonly queries: readonly SpentQuery[]; readonly counts: unknown }> {
  const queries: SpentQuery[] = [];
  const spent = async (query: SpentQuery): Promise<readonly Spent[]> => {
    queries.push(query);
    const [user, place] = [SPENT.values.at(-1)!, SPENT.values.slice(0, -1)];
    const further = { operation: "embeddings", end_user: user };
    return [
      { ...SPENT, values: [...place, ...query.by.slice(6).map((name) => further[name as "operation" | "end_user"])] },
    ];
  };
  const counts = await rebuiltBudgets({ spent }, limitSet(rules), NOW);
  return { queries, counts: counts.map(({ id, value, total }) => ({ id, value, total })) };
}

test("a start without budgets queries no calls", async () => {
  expect(await rebuilt({ limits: { one: { metric: "tokens", limit: 1, window: "day" } } })).toEqual({
    queries: [],
    counts: [],
  });
});

test("[d4.2] each window is queried once, separately for budgets of end users", async () => {
  const { queries, counts } = await rebuilt({
    budgets: {
      all: { tokens: 100, window: "day" },
      money: { usd: 1, window: "day", scope: { model: "*" } },
      each: { tokens: 100, window: "total", scope: { user: "*" } },
    },
  });
  expect(queries.map(({ sinceMs, by }) => [sinceMs, by.includes("end_user")])).toEqual([
    [Date.UTC(2026, 0, 15), false],
    [0, true],
  ]);
  expect(counts).toEqual([
    { id: "id_all", value: "", total: 30 },
    { id: "id_money", value: "a:m", total: 40 },
    { id: "id_each", value: "user-1", total: 30 },
  ]);
});

test("[d4.2] budgets of operations count the calls of theirs", async () => {
  const { queries, counts } = await rebuilt({
    budgets: {
      all: { tokens: 100, window: "day" },
      vectors: { tokens: 100, window: "day", scope: { operation: "embeddings" } },
      chat: { tokens: 100, window: "day", scope: { operation: "chat.completions" } },
      each: { tokens: 100, window: "day", scope: { operation: "*", user: "*" } },
    },
  });
  expect(queries.map(({ by }) => by.slice(6))).toEqual([[], ["operation"], ["operation", "end_user"]]);
  expect(counts).toEqual([
    { id: "id_all", value: "", total: 30 },
    { id: "id_vectors", value: "", total: 30 },
    { id: "id_each", value: "embeddings\nuser-1", total: 30 },
  ]);
});

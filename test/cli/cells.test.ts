// Cells of the tables that commands print.
import { expect, test } from "bun:test";
import { cell } from "../../src/cli/things.ts";

test("the cost of calls without a known price is no 0", () => {
  const cost = (fields: Parameters<typeof cell>[0]) => cell(fields, "cost_usd");
  expect(cost({ calls: 3, unpriced: 0, cost_usd: "0" })).toBe("0");
  expect(cost({ calls: 3, unpriced: 3, cost_usd: "0" })).toBe("no price");
  expect(cost({ calls: 3, unpriced: 1, cost_usd: "0.25" })).toBe("0.25 (1 without a price)");
  // of a simulation, whose failed calls cost nothing
  expect(cost({ calls: 3, answered: 2, unpriced: 2, cost_usd: "0" })).toBe("no price");
  // a single call
  expect(cost({ cost_usd: null })).toBe("-");
});

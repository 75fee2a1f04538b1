// Counts in sentences for people.
import { expect, test } from "bun:test";
import { counted as countedThere } from "../../../console/src/format/count.ts";
import { counted } from "../../../src/core/text/counted.ts";

test("a count has the noun in the singular only where it is one", () => {
  expect([0, 1, 2, 1n, "1", "-"].map((count) => counted(count, "call"))).toEqual([
    "0 calls",
    "1 call",
    "2 calls",
    "1 call",
    "1 call",
    "- calls",
  ]);
  expect([1, 2].map((count) => counted(count, "row is", "rows are"))).toEqual(["1 row is", "2 rows are"]);
  expect([1, 1200].map((count) => countedThere(count, "call"))).toEqual(["1 call", "1,200 calls"]);
});

// The condition that names rows exactly.
import { expect, test } from "bun:test";
import { exactly } from "../../src/store/database/pages.ts";

test("a change of exactly named rows is not made where one of the values is missing, because it would reach the rows of others", () => {
  const missing = undefined as unknown as string;
  expect(() => exactly<{ tenant_id: string; owner: string }>({ tenant_id: missing, owner: "ann" })).toThrow(TypeError);
});

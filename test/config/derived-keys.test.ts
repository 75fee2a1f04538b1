// Keys that are derived from a master key, against the test vectors of RFC 5869.
import { expect, test } from "bun:test";
import { derivedKey, tenantKeys } from "../../src/config/derived-keys.ts";

test("a derived key is the one of RFC 5869 (test case 3, with the purpose as info)", () => {
  expect(Buffer.from(derivedKey(new Uint8Array(22).fill(0x0b), "")).toString("hex")).toBe(
    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d",
  );
});

test("each tenant, each purpose and each master key has another key", () => {
  const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const keys = [
    tenantKeys(one, "a")("t"),
    tenantKeys(one, "a")("u"),
    tenantKeys(one, "b")("t"),
    tenantKeys(other, "a")("t"),
  ];
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(4);
  expect(tenantKeys(one, "a")("t")).toEqual(derivedKey(one, "a\0t"));
});

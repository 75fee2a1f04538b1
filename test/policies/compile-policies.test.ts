// Policies of many projects, put together.
import { expect, test } from "bun:test";
import { compilePolicies } from "../../src/policies/compile-policies.ts";
import { growth, MOST_GROWTH } from "../harness/time/cpu-time.ts";
import { configuredPolicy } from "./policy-documents.ts";

test("[d5.8] thousands of policies of a tenant are not put together for each of its projects before the project is called", async () => {
  const made = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      configuredPolicy({ rule: "request.stream" }, { id: `t${index}`, tenantId: "acme" }),
      configuredPolicy({ rule: "request.stream" }, { id: `p${index}`, tenantId: "acme", projectId: `site${index}` }),
    ]).flat();
  expect(await growth(made, (policies) => compilePolicies(policies), 500)).toBeLessThan(MOST_GROWTH);
  const policies = compilePolicies(made(3));
  const namesIn = (project: string) => policies.of("acme", project)?.all.map(({ id }) => id);
  expect(namesIn("site1")).toEqual(["t0", "t1", "t2", "p1"]);
  expect(namesIn("other")).toEqual(["t0", "t1", "t2"]);
  expect(policies.of("other", "other")).toBeNull();
});

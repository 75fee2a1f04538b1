// Policies that are asked again about recorded calls.
import { expect, test } from "bun:test";
import { policyVerdicts } from "../../src/simulation/policy-replay.ts";
import { recordedCall } from "./recorded-call.ts";

test("a policy of one project judges no calls of another, whichever of them came first", () => {
  const [own, other] = [recordedCall({ projectId: "own" }), recordedCall({ projectId: "other" })];
  for (const calls of [
    [own, other, own],
    [other, own, other],
  ]) {
    const policy = {
      name: "none",
      tenantId: "acme",
      projectId: "own",
      document: { effect: "deny", rule: "request.stream == false", mode: "enforce", scope: {} },
    } as const;
    const verdict = policyVerdicts({ tenantId: "acme", tokens: new Map(), policy });
    expect(calls.map(verdict)).toEqual(calls.map((call) => (call === own ? "denied" : "allowed")));
  }
});

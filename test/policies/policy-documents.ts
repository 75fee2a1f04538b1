// Policies for tests: documents as the file holds them, configured and compiled.
import { compilePolicies } from "../../src/policies/compile-policies.ts";
import { type PolicyDocument, policySchema } from "../../src/policies/policy-settings.ts";
import type { Configured } from "../../src/core/configured/configured.ts";
import type { PolicySet, GuardPolicy } from "../../src/core/configured/policy.ts";

export function configuredPolicy(
  document: object,
  place: Partial<Configured<PolicyDocument>> = {},
): Configured<PolicyDocument> {
  const parsed = policySchema.parse(document);
  return {
    id: `pol_${parsed.name ?? "unnamed"}`,
    name: parsed.name ?? null,
    tenantId: null,
    projectId: null,
    origin: "file",
    setBy: null,
    version: 0,
    ...place,
    document: parsed,
  };
}

/** Global. */
export function policiesFor(...documents: readonly object[]): PolicySet {
  return compilePolicies(documents.map((document) => configuredPolicy(document)));
}

export function guardsFor(...documents: readonly object[]): readonly GuardPolicy[] {
  return policiesFor(...documents.map((guard, index) => ({ name: `guard-${index}`, guard }))).of("t", "p")!
    .all as readonly GuardPolicy[];
}

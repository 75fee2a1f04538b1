// Asks one policy of recorded calls again, by what their records say. A rule that needs to know what is not recorded cannot be judged for that
// call, unless its other parts decide.
import { CallFacts } from "../engine/policies/call-facts.ts";
import type { Configured } from "../core/configured/configured.ts";
import { COMMON, type CommonParameter } from "../core/params.ts";
import type { Policy, PolicyTarget } from "../core/configured/policy.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import { compilePolicies } from "../policies/compile-policies.ts";
import type { PolicyDocument } from "../policies/policy-settings.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { NotRecorded, notRecorded, recordedPrincipal, recordedRequest, type RecordedTokens } from "./recorded-facts.ts";
import { wasSent } from "./recorded-parameters.ts";

export type PolicyVerdict = "allowed" | "denied" | "unknown";

type Placed = Pick<Configured<PolicyDocument>, "name" | "tenantId" | "projectId" | "document">;

export interface ReplayedPolicy {
  readonly tenantId: string;
  readonly tokens: RecordedTokens;
  /** `null` where there is none. */
  readonly policy: Placed | null;
}

/**
 * Returns what the policy says of each call of the tenant. It allows every call where it only records, and those of other
 * projects than its own.
 */
export function policyVerdicts({ tenantId, tokens, policy }: ReplayedPolicy): (call: RecordedCall) => PolicyVerdict {
  if (policy === null || policy.document.mode === "audit") return () => "allowed";
  const { document, projectId } = policy;
  const compiled = new Map<string | undefined, Policy>();
  return (call) => {
    if (projectId !== null && call.projectId !== projectId) return "allowed";
    const rule = document.rule === undefined ? undefined : withPresence(document.rule, call);
    const judging = compiled.getOrInsertComputed(rule, () => compiledWith(rule, policy, tenantId));
    return verdictOf(judging, call, tenantId, tokens);
  };
}

const PRESENCE = /\bhas\(\s*request\.parameters\.(\w+)\s*\)/g;

/** Whether a parameter was sent is mostly recorded, and its value is not. */
function withPresence(rule: string, call: RecordedCall): string {
  return rule.replaceAll(PRESENCE, (read: string, name: string) =>
    Object.hasOwn(COMMON, name) ? String(wasSent(name as CommonParameter, call) ?? read) : read,
  );
}

function compiledWith(rule: string | undefined, policy: Placed, tenantId: string): Policy {
  const { name, projectId, document } = policy;
  const set = compilePolicies([
    {
      id: name ?? "policy",
      name,
      origin: "store",
      setBy: null,
      version: 0,
      tenantId: policy.tenantId,
      projectId,
      document: rule === undefined ? document : { ...document, rule },
    },
  ]);
  return set.of(tenantId, projectId ?? "")!.all[0]!;
}

function verdictOf(policy: Policy, call: RecordedCall, tenantId: string, tokens: RecordedTokens): PolicyVerdict {
  const { concerns, concernsTarget, perTarget } = policy;
  if (concerns !== null && !concerns({ tokenId: call.tokenId ?? "", user: call.endUser })) return "allowed";
  const target = targetOf(call);
  if (perTarget && target === null) return "unknown";
  if (concernsTarget !== null && !concernsTarget(target!)) return "allowed";
  // the text that a guard searches is not recorded
  if (policy.kind === "guard") return "unknown";
  const facts = new CallFacts({
    sent: recordedRequest(call),
    operation: call.operation,
    principal: recordedPrincipal(call, tenantId, tokens),
    clientIp: () => notRecorded("client"),
    now: () => call.timeMs,
  });
  facts.currentTarget = target;
  try {
    return policy.rule.denies(facts) ? "denied" : "allowed";
  } catch (thrown) {
    // a rule that cannot be evaluated denies
    return thrown instanceof NotRecorded ? "unknown" : "denied";
  }
}

/** The target that was attempted last. */
function targetOf({ attempts, route, provider, model }: RecordedCall): PolicyTarget | null {
  const last = attempts.at(-1);
  const at = last ?? (provider === null || model === null ? undefined : { provider, model });
  return at === undefined ? null : { provider: at.provider, model: at.model, route: route ?? DIRECT_ROUTE };
}

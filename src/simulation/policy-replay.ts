// Asks one policy of recorded calls again, by what their records say. A rule that needs to know what is not recorded cannot be judged for that
// call, unless its other parts decide.
import { CallFacts } from "../engine/call/call-facts.ts";
import type { ChatRequest } from "../core/chat.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { Principal } from "../core/identity.ts";
import type { JsonObject } from "../core/json.ts";
import type { Policy, PolicyTarget } from "../core/configured/policy.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import { compilePolicies } from "../policies/compile-policies.ts";
import type { PolicyDocument } from "../policies/policy-settings.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import type { RecordedToken } from "../store/search/recorded-calls.ts";
import { simulatedPrincipal } from "./simulated-call.ts";

export type PolicyVerdict = "allowed" | "denied" | "unknown";

/** Something that a rule reads is not in the record. */
class NotRecorded extends Error {}

function unknown(what: string): never {
  throw new NotRecorded(what);
}

type Tokens = ReadonlyMap<string, RecordedToken>;
type Placed = Pick<Configured<PolicyDocument>, "name" | "tenantId" | "projectId" | "document">;

export interface ReplayedPolicy {
  readonly tenantId: string;
  /** By id, those of the calls. */
  readonly tokens: Tokens;
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

/** Whether a parameter was sent is recorded, and its value is not. */
function withPresence(rule: string, { parameters, attempts }: RecordedCall): string {
  return attempts.length === 0
    ? rule
    : rule.replaceAll(PRESENCE, (_, name: string) => (parameters.includes(name) ? "true" : "false"));
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

function verdictOf(policy: Policy, call: RecordedCall, tenantId: string, tokens: Tokens): PolicyVerdict {
  const { concerns, concernsTarget, perTarget } = policy;
  if (concerns !== null && !concerns({ tokenId: call.tokenId ?? "", user: call.endUser })) return "allowed";
  const target = targetOf(call);
  if (perTarget && target === null) return "unknown";
  if (concernsTarget !== null && !concernsTarget(target!)) return "allowed";
  // the text that a guard searches is not recorded
  if (policy.kind === "guard") return "unknown";
  const facts = new CallFacts({
    sent: requestOf(call),
    operation: call.operation,
    principal: principalOf(call, tenantId, tokens),
    clientIp: () => unknown("client"),
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

/** A token that is gone has a role that nobody knows any more. */
function principalOf(call: RecordedCall, tenantId: string, tokens: Tokens): Principal {
  const token = call.tokenId === null ? undefined : tokens.get(call.tokenId);
  const principal = {
    ...simulatedPrincipal({ tenantId, projectId: call.projectId ?? "" }),
    tokenId: call.tokenId ?? "",
    userId: call.userId,
  };
  const hidden = (name: string): PropertyDescriptor => ({ get: () => unknown(name), enumerable: true });
  return token === undefined
    ? Object.defineProperties(principal, { tokenKind: hidden("token.kind"), role: hidden("token.role") })
    : { ...principal, tokenKind: token.kind, role: token.role ?? "developer", permissions: new Set(token.permissions) };
}

/** The request as far as a rule may read it; the rest throws. */
function requestOf({
  parameters,
  attempts,
  messages,
  usage,
  endUser,
  metadata,
  route,
  modelAsked,
  stream,
}: RecordedCall): ChatRequest {
  const params = {} as JsonObject;
  const names = attempts.length === 0 ? UNKNOWN_PARAMETERS : parameters;
  for (const name of names) if (name !== "stream") hide(params, name, `request.parameters.${name}`);
  if (parameters.includes("user")) Object.defineProperty(params, "user", { value: endUser, enumerable: true });
  Object.defineProperty(params, "stream", { value: stream, enumerable: true });
  const held = {
    count: messages?.count ?? 0,
    roles: messages?.roles ?? {},
    promptTokens: usage?.prompt_tokens ?? 0,
    memberFacts: null,
  };
  hide(held, "characters", "request.messages.characters");
  hide(held, "parts", "request.messages.parts");
  if (usage === null) hide(held, "promptTokens", "request.messages.prompt_tokens");
  const named = route === null || route === DIRECT_ROUTE || route === modelAsked ? null : route;
  const request = {
    params,
    messages: [],
    held,
    options: { route: named, model: modelAsked, metadata, toolServers: [] },
  };
  hide(request, "extra", "request.extra");
  return request as unknown as ChatRequest;
}

/** Of a call that ended before a target was chosen, no parameter is known. */
const UNKNOWN_PARAMETERS = [
  "temperature",
  "top_p",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "tool_choice",
  "response_format",
  "reasoning_effort",
  "user",
] as const;

function hide(object: object, name: string, what: string): void {
  Object.defineProperty(object, name, { get: () => unknown(what), enumerable: true, configurable: true });
}

// Compiles configured policies into those of each project, in the order of their evaluation. A project without policies
// costs one look-up in a map, however many others have some. Those of a project are put together at its first call: a
// tenant may have thousands of policies and thousands of projects that inherit them.
import { BoundedCache } from "../core/bounded-cache.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { Configured } from "../core/configured/configured.ts";
import { compileModelPattern } from "../core/target.ts";
import { compileGlob, type Glob } from "../core/text/glob.ts";
import type {
  Policy,
  PolicyCaller,
  PolicyRule,
  PolicySet,
  PolicyTarget,
  ProjectPolicies,
} from "../core/configured/policy.ts";
import { FactError } from "./policy-facts.ts";
import { compileGuard } from "../guards/compile-guard.ts";
import { compileRule } from "./policy-rule.ts";
import type { PolicyDocument } from "./policy-settings.ts";

/** How many tenants and projects have their policies put together at once. */
const MAX_ASKED = 256;

export function compilePolicies(configured: readonly Configured<PolicyDocument>[]): PolicySet {
  const everywhere: Policy[] = [];
  const ofTenants = new Map<string, Policy[]>();
  const ofProjects = new Map<string, Policy[]>();
  for (const one of configured) {
    const policy = compilePolicy(one);
    const { tenantId, projectId } = one;
    if (projectId !== null) ofProjects.getOrInsertComputed(projectId, () => []).push(policy);
    else if (tenantId !== null) ofTenants.getOrInsertComputed(tenantId, () => []).push(policy);
    else everywhere.push(policy);
  }
  const common = everywhere.length === 0 ? null : projectPolicies(everywhere);
  const asked = new BoundedCache<string, ProjectPolicies>(MAX_ASKED);
  return {
    of(tenantId, projectId) {
      const ofTenant = ofTenants.get(tenantId);
      const own = ofProjects.get(projectId);
      if (own === undefined && ofTenant === undefined) return common;
      return asked.getOrMake(JSON.stringify([tenantId, own === undefined ? null : projectId]), () =>
        projectPolicies([...everywhere, ...(ofTenant ?? []), ...(own ?? [])]),
      );
    },
    sourcesOf: (id) => configured.filter(({ tenantId }) => tenantId === null || tenantId === id),
  };
}

export function projectPolicies(all: readonly Policy[]): ProjectPolicies {
  const rules = all.filter((policy) => policy.kind === "rule");
  const guards = all.filter((policy) => policy.kind === "guard");
  return {
    all,
    rules: rules.filter(({ perTarget }) => !perTarget),
    targetRules: rules.filter(({ perTarget }) => perTarget),
    inputGuards: guards.filter(({ guard }) => guard.onInput),
    outputGuards: guards.filter(({ guard }) => guard.onOutput),
    hasServices: guards.some(({ guard }) => guard.service !== null),
  };
}

/** What is configured stays the same object until it changes. */
const compilePolicy = memoizePerObject(compiledPolicy);

function compiledPolicy({
  id,
  name: known,
  document,
  tenantId,
  projectId,
  origin,
  byOperator,
}: Configured<PolicyDocument>): Policy {
  const { mode, message, scope } = document;
  const name = known ?? document.name ?? id;
  const concernsTarget = targetScope(scope);
  const scoped = {
    id,
    name,
    mode,
    message: message ?? `The policy ${name} does not allow this call.`,
    concerns: callerScope(scope),
    concernsTarget,
    perTarget: concernsTarget !== null,
  };
  const owner = { tenantId, projectId, isTrusted: origin === "file" || byOperator === true };
  if (document.guard !== undefined) return { ...scoped, kind: "guard", guard: compileGuard(document.guard, owner) };
  const { rule, mentionsTarget, mentionsNow } = ruleOf(document.rule!);
  return {
    ...scoped,
    kind: "rule",
    perTarget: scoped.perTarget || mentionsTarget,
    rule,
    ...(mentionsNow && { usesTime: true }),
  };
}

/** Stored rules were checked before. A rule that can no longer be compiled denies, like one that fails. */
function ruleOf(text: string): {
  readonly rule: PolicyRule;
  readonly mentionsTarget: boolean;
  readonly mentionsNow: boolean;
} {
  try {
    const rule = compileRule(text);
    return { rule, mentionsTarget: rule.mentions.has("target"), mentionsNow: rule.mentions.has("now") };
  } catch (thrown) {
    const why = `the rule cannot be used: ${(thrown as Error).message}`;
    return {
      rule: {
        denies: () => {
          throw new FactError(why);
        },
      },
      mentionsTarget: false,
      mentionsNow: false,
    };
  }
}

function callerScope({ token, user }: PolicyDocument["scope"]): Policy["concerns"] {
  if (token === undefined && user === undefined) return null;
  const ofToken = globOf(token);
  const ofUser = globOf(user);
  return (caller: PolicyCaller) =>
    ofToken(caller.tokenId) && (user === undefined || (caller.user !== null && ofUser(caller.user)));
}

function targetScope({ route, provider, model }: PolicyDocument["scope"]): Policy["concernsTarget"] {
  if (route === undefined && provider === undefined && model === undefined) return null;
  const ofRoute = globOf(route);
  const ofProvider = globOf(provider);
  const ofModel = model === undefined ? () => true : compileModelPattern(model);
  return ({ provider: id, model: name, otherModels = [], route: by }: PolicyTarget) =>
    ofRoute(by) && ofProvider(id) && [name, ...otherModels].some((each) => ofModel(`${id}:${each}`));
}

function globOf(pattern: string | undefined): Glob {
  return pattern === undefined ? () => true : compileGlob(pattern);
}

// What failed calls failed of, by name: a limit, a budget or a policy that refused them, or the target that failed.
import { z } from "zod";
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { Configured } from "../../../core/configured/configured.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { PolicyDocument } from "../../../policies/policy-settings.ts";
import { tagOf } from "../../../store/calls/call-tags.ts";
import type { FailureSum } from "../../../store/calls/calls.ts";

const MOST_CAUSES = 20;

export const failureCause = z
  .strictObject({
    status: z.int(),
    code: z.string().nullable(),
    kind: z.enum(["limit", "budget", "policy", "target"]).nullable().meta({
      description: "What `subject` is. Null where the caller was at fault, or the gateway itself.",
    }),
    subject: z.string().nullable().meta({
      description: "The id of the limit or budget, the name of the policy, or `<provider>:<model>`.",
    }),
    name: z.string().nullable().meta({ description: "What people call it; the same as `subject` but for limits." }),
    calls: z.int(),
  })
  .meta({ id: "FailureCause" });

type Cause = Pick<z.output<typeof failureCause>, "kind" | "subject" | "name">;

const NO_CAUSE: Cause = { kind: null, subject: null, name: null };
const OF_LIMITS: ReadonlySet<string> = new Set<ErrorCode>(["rate_limit_exceeded", "insufficient_quota"]);
const OF_POLICIES: ReadonlySet<string> = new Set<ErrorCode>(["policy_violation"]);

/** The most frequent first. Limits have names for those who see a tenant or a project. */
export function causesIn(
  sums: readonly FailureSum[],
  at: TenantOrProject | null,
  snapshot: Snapshot,
): readonly z.output<typeof failureCause>[] {
  const rules = new Map(
    (at === null ? [] : snapshot.limitRules.rulesIn(at.tenantId))
      .filter(({ mode }) => mode === "enforce")
      .map((rule) => [tagOf("limit", rule.id), rule]),
  );
  const harmless = new Set(at === null ? [] : harmlessPolicies(at, snapshot));
  const causeOf = ({ code, provider, model, tags, ranTools }: FailureSum): Cause => {
    // when a target was called, the client received its error, even if a rule had refused another target (promise 7.3)
    const isOfRule = provider === null || ranTools === true;
    if (code !== null && OF_LIMITS.has(code) && isOfRule) {
      const rule = tags.map((tag) => rules.get(tag)).find((one) => one !== undefined);
      if (rule !== undefined) return { kind: rule.kind, subject: rule.id, name: rule.name };
    }
    if (code !== null && OF_POLICIES.has(code)) {
      const took = tags.filter((tag) => tag.startsWith(POLICY));
      const policy = took.find((tag) => !harmless.has(tag)) ?? took[0];
      const name = policy?.slice(POLICY.length);
      if (name !== undefined) return { kind: "policy", subject: name, name };
    }
    if (provider === null) return NO_CAUSE;
    const target = `${provider}:${model ?? ""}`;
    return { kind: "target", subject: target, name: target };
  };
  const told = sums.map((sum) => ({
    cause: { status: sum.status, code: sum.code, ...causeOf(sum) },
    calls: sum.calls,
  }));
  const alike = Map.groupBy(told, ({ cause }) => JSON.stringify(cause));
  return [...alike.values()]
    .map((list) => ({ ...list[0]!.cause, calls: list.reduce((sum, { calls }) => sum + calls, 0) }))
    .toSorted((one, other) => other.calls - one.calls)
    .slice(0, MOST_CAUSES);
}

const POLICY = tagOf("policy", "");

/** The tags of policies that report or mask, and only refuse where they fail. */
function harmlessPolicies({ tenantId }: TenantOrProject, { policies }: Snapshot): readonly string[] {
  // the set was compiled from documents of this type
  const all = policies.sourcesOf(tenantId) as readonly Configured<PolicyDocument>[];
  return all
    .filter(({ document: { mode, guard } }) => mode === "audit" || guard?.action === "mask")
    .map(({ id, name, document }) => tagOf("policy", name ?? document.name ?? id));
}

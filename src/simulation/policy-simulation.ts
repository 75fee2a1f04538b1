// Which of the last calls of a place a policy would deny, as it is and with another document, and whose they are. It
// runs in the thread of simulations.
import { scopeOf, type TenantOrProject } from "../auth/grants.ts";
import type { PolicyDocument } from "../policies/policy-settings.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { type ExampleCalls, examplesOf } from "./example-calls.ts";
import type { KeptReads } from "./kept-reads.ts";
import { policyVerdicts, type PolicyVerdict } from "./policy-replay.ts";

const MOST_GROUPS = 20;

export interface PolicyQuestion {
  readonly place: TenantOrProject;
  readonly name: string;
  /** `null` where there is no such policy now. */
  readonly published: PolicyDocument | null;
  /** `null` where the policy is only judged as it is. */
  readonly proposed: PolicyDocument | null;
  /** The most calls. */
  readonly limit: number;
}

export type PolicySimulation = Awaited<ReturnType<typeof policySimulation>>;

interface Judged {
  readonly call: RecordedCall;
  readonly before: PolicyVerdict;
  readonly after: PolicyVerdict;
}

export async function policySimulation({ place, name, published, proposed, limit }: PolicyQuestion, reads: KeptReads) {
  const found = await reads.calls({ ...scopeOf(place), limit });
  const tokens = await reads.tokens([...new Set(found.calls.flatMap(({ tokenId }) => tokenId ?? []))]);
  const verdicts = (document: PolicyDocument | null) =>
    policyVerdicts({
      tenantId: place.tenantId,
      tokens,
      policy: document === null ? null : { name, tenantId: place.tenantId, projectId: place.projectId, document },
    });
  const [now, then] = [verdicts(published), verdicts(proposed ?? published)];
  const judged = found.calls.map((call): Judged => ({ call, before: now(call), after: then(call) }));
  const denied = judged.filter(({ before, after }) => before === "allowed" && after === "denied");
  const allowed = judged.filter(({ before, after }) => before === "denied" && after === "allowed");
  return {
    calls: found.calls.length,
    fromMs: found.calls.at(-1)?.timeMs ?? null,
    toMs: found.calls[0]?.timeMs ?? null,
    withoutRecord: found.withoutRecord,
    /** What the policy of this name really did in these calls. */
    recorded: recordedEffects(found.calls, name),
    now: published === null ? null : counted(judged.map(({ before }) => before)),
    proposed: proposed === null ? null : counted(judged.map(({ after }) => after)),
    newlyDenied: proposed === null ? null : examplesAmong(denied),
    newlyAllowed: proposed === null ? null : examplesAmong(allowed),
    who: whose(denied, allowed),
    asOfMs: found.asOfMs,
  };
}

function counted(all: readonly PolicyVerdict[]) {
  const of = (verdict: PolicyVerdict): number => all.filter((one) => one === verdict).length;
  return { allowed: of("allowed"), denied: of("denied"), unknown: of("unknown") };
}

/** The newest of the calls is the first one. */
function examplesAmong(judged: readonly Judged[]): ExampleCalls {
  return examplesOf(judged.map(({ call }) => call.traceId).toReversed());
}

function recordedEffects(calls: readonly RecordedCall[], name: string) {
  const of = (effect: RecordedCall["policies"][number]["effect"]): number =>
    calls.filter(({ policies }) => policies.some((one) => one.name === name && one.effect === effect)).length;
  return { denied: of("denied"), would_deny: of("would_deny"), masked: of("masked"), failed: of("failed") };
}

function whose(denied: readonly Judged[], allowed: readonly Judged[]) {
  const keyOf = ({ call }: Judged): string => JSON.stringify([call.projectId, call.tokenId]);
  const [losing, gaining] = [Map.groupBy(denied, keyOf), Map.groupBy(allowed, keyOf)];
  return [...new Set([...losing.keys(), ...gaining.keys()])]
    .map((key) => {
      const [projectId, tokenId] = JSON.parse(key) as [string | null, string | null];
      const [newlyDenied, newlyAllowed] = [losing.get(key)?.length ?? 0, gaining.get(key)?.length ?? 0];
      return { projectId, tokenId, newlyDenied, newlyAllowed };
    })
    .toSorted((a, b) => b.newlyDenied + b.newlyAllowed - a.newlyDenied - a.newlyAllowed)
    .slice(0, MOST_GROUPS);
}

// `POST .../policies/{id}/simulate`: which of the last calls a policy would deny, as it is and with another document, and whose they are.
import { z } from "zod";
import { nothingThere, placeText } from "../../auth/grants.ts";
import type { JsonObject } from "../../core/json.ts";
import { policySchema, type PolicyDocument } from "../../policies/policy-settings.ts";
import { policyVerdicts, type PolicyVerdict } from "../../simulation/policy-replay.ts";
import { eachInParts, openPace } from "../../simulation/pace.ts";
import type { Clock } from "../../core/clock.ts";
import type { RecordedCall } from "../../store/calls.ts";
import type { Reader } from "../../store/reader.ts";
import { PLACES } from "./call-shapes.ts";
import { type ConfiguredContext, fromFile } from "./configured-resources.ts";
import { problemsError } from "./input.ts";
import { type AdminCall, type AdminOperation, apart } from "./operation.ts";
import { type AdminCalls, keptCalls, openGate } from "./report-reads.ts";
import { iso, isoOrNull, time } from "./schemas.ts";

const MOST_CALLS = 1000;
const MOST_EXAMPLES = 5;
const MOST_GROUPS = 20;

const body = z
  .strictObject({
    policy: policySchema.optional().meta({ description: "The fields of the policy as they would become." }),
    calls: z.int().min(1).max(MOST_CALLS).default(MOST_CALLS).meta({ description: "How many calls, the newest." }),
  })
  .meta({ id: "PolicySimulationRequest" });
type Body = z.output<typeof body>;

const count = z.int();
const traceIds = z.array(z.string()).meta({ description: "Some of these calls, the newest first." });
const verdicts = z.strictObject({
  allowed: count,
  denied: count,
  unknown: count.meta({ description: "Calls of which the record does not hold what the policy reads." }),
});
const answer = z
  .strictObject({
    policy: z.string(),
    calls: count,
    from: time.nullable(),
    to: time.nullable(),
    without_record: count.meta({
      description: "Calls that are left out, because their details are not kept any more.",
    }),
    recorded: z
      .strictObject({ denied: count, would_deny: count, masked: count, failed: count })
      .meta({ description: "What the policy of this name really did in these calls." }),
    now: verdicts.nullable().meta({
      description: "What the published policy decides about the calls; null when no such policy is published.",
    }),
    proposed: verdicts.nullable().meta({ description: "With the policy of the request; null if it has none." }),
    newly_denied: z.strictObject({ calls: count, trace_ids: traceIds }).nullable(),
    newly_allowed: z.strictObject({ calls: count, trace_ids: traceIds }).nullable(),
    who: z
      .array(
        z.strictObject({
          project_id: z.string().nullable(),
          token_id: z.string().nullable(),
          newly_denied: count,
          newly_allowed: count,
        }),
      )
      .meta({ description: "Whose calls these are, those with the most first; at most 20." }),
    as_of: time,
  })
  .meta({ id: "PolicySimulation" });

type Call = AdminCall<Body, unknown>;

export function policySimulationOperations(
  calls: AdminCalls | null,
  context: ConfiguredContext,
  clock: Clock,
): readonly AdminOperation[] {
  const reads = keptCalls(calls);
  const turn = openGate(1);
  return (["tenant", "project"] as const).map((reach) => {
    const { name: place, base, scopeText } = PLACES[reach];
    return apart({
      id: `simulate${place}Policy`,
      method: "post",
      path: `${base}/policies/{id}/simulate`,
      tag: "policies",
      summary: `Simulate a policy on the last recorded calls of ${scopeText}, as it is and with a change`,
      body,
      answer,
      run: async (call, store) => {
        const { name, document } = await presentPolicy(call, store, context);
        const proposed = call.body.policy ?? null;
        if (document === null && proposed === null)
          throw nothingThere(`policy ${name} in the ${placeText(call.place!)}`);
        if (proposed !== null) await requireStorable(call, store, name, context);
        return { body: await turn(() => simulated(call, { name, document, proposed }, reads, clock)) };
      },
    });
  });
}

interface Question {
  readonly name: string;
  readonly document: PolicyDocument | null;
  readonly proposed: PolicyDocument | null;
}

async function presentPolicy(
  call: Call,
  store: Reader,
  context: ConfiguredContext,
): Promise<Omit<Question, "proposed">> {
  const key = call.params["id"]!;
  const { tenantId, projectId } = call.place!;
  const byId = await store.findResource("policy", key);
  const isOwn = byId?.tenantId === tenantId && byId.projectId === projectId;
  const stored = isOwn ? byId : await store.findResourceByName("policy", call.place!, key);
  const found = fromFile(call, "policy", key, context) ?? stored;
  const parsed = policySchema.safeParse(found?.document);
  return { name: found?.name ?? key, document: parsed.success ? parsed.data : null };
}

async function requireStorable(call: Call, store: Reader, name: string, { rules }: ConfiguredContext): Promise<void> {
  const document = call.body.policy as unknown as JsonObject;
  const problems = await rules.policies!.problems({ call, name, document, reader: store });
  if (problems.length > 0) throw problemsError(problems.map((one) => ({ ...one, path: ["policy", ...one.path] })));
}

interface Judged {
  readonly call: RecordedCall;
  readonly before: PolicyVerdict;
  readonly after: PolicyVerdict;
}

async function simulated(
  { body: { calls: limit }, place, snapshot }: Call,
  { name, document, proposed }: Question,
  reads: AdminCalls,
  clock: Clock,
): Promise<JsonObject> {
  const { tenantId, projectId } = place!;
  const found = await reads.recordedCalls({ tenantId, ...(projectId !== null && { projectId }), limit });
  const placed = (one: PolicyDocument | null) =>
    policyVerdicts({ tenantId, snapshot, policy: one === null ? null : { name, tenantId, projectId, document: one } });
  const [now, then] = [placed(document), placed(proposed ?? document)];
  const judged: Judged[] = [];
  await eachInParts(found.calls, openPace(clock), (call) => {
    judged.push({ call, before: now(call), after: then(call) });
  });
  const denied = judged.filter(({ before, after }) => before === "allowed" && after === "denied");
  const allowed = judged.filter(({ before, after }) => before === "denied" && after === "allowed");
  return {
    policy: name,
    calls: found.calls.length,
    from: isoOrNull(found.calls.at(-1)?.timeMs ?? null),
    to: isoOrNull(found.calls[0]?.timeMs ?? null),
    without_record: found.withoutRecord,
    recorded: recordedOutcomes(found.calls, name),
    now: document === null ? null : counted(judged.map(({ before }) => before)),
    proposed: proposed === null ? null : counted(judged.map(({ after }) => after)),
    newly_denied: proposed === null ? null : examplesOf(denied),
    newly_allowed: proposed === null ? null : examplesOf(allowed),
    who: whose(denied, allowed),
    as_of: iso(found.asOfMs),
  };
}

function counted(all: readonly PolicyVerdict[]): JsonObject {
  const of = (verdict: PolicyVerdict): number => all.filter((one) => one === verdict).length;
  return { allowed: of("allowed"), denied: of("denied"), unknown: of("unknown") };
}

function examplesOf(judged: readonly Judged[]): JsonObject {
  return { calls: judged.length, trace_ids: judged.slice(0, MOST_EXAMPLES).map(({ call }) => call.traceId) };
}

function recordedOutcomes(calls: readonly RecordedCall[], name: string): JsonObject {
  const of = (effect: RecordedCall["policies"][number]["effect"]): number =>
    calls.filter(({ policies }) => policies.some((one) => one.name === name && one.effect === effect)).length;
  return { denied: of("denied"), would_deny: of("would_deny"), masked: of("masked"), failed: of("failed") };
}

function whose(denied: readonly Judged[], allowed: readonly Judged[]): readonly JsonObject[] {
  const keyOf = ({ call }: Judged): string => JSON.stringify([call.projectId, call.tokenId]);
  const [losing, gaining] = [Map.groupBy(denied, keyOf), Map.groupBy(allowed, keyOf)];
  return [...new Set([...losing.keys(), ...gaining.keys()])]
    .map((key) => {
      const [project_id, token_id] = JSON.parse(key) as [string | null, string | null];
      const [lost, gained] = [losing.get(key)?.length ?? 0, gaining.get(key)?.length ?? 0];
      return { project_id, token_id, newly_denied: lost, newly_allowed: gained };
    })
    .toSorted((a, b) => b.newly_denied + b.newly_allowed - a.newly_denied - a.newly_allowed)
    .slice(0, MOST_GROUPS);
}

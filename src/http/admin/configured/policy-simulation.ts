// `POST .../policies/{id}/simulate`: which of the last calls a policy would deny, as it is and with another document, and whose they are.
import { z } from "zod";
import { nothingThere, placeText } from "../../../auth/grants.ts";
import type { JsonObject } from "../../../core/json.ts";
import { policySchema } from "../../../policies/policy-settings.ts";
import type { Simulations } from "../../../simulation/simulations.ts";
import type { Reader } from "../../../store/reader.ts";
import { type ConfiguredContext, findInUse } from "./configured-resources.ts";
import { requireStorable } from "./desired-document.ts";
import { type AdminCall, type AdminOperation, apart, PLACES_BELOW } from "../operation.ts";
import { keptSimulations } from "../report-reads.ts";
import { orNull, time, simulatedCalls, traceIds } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const body = z
  .strictObject({
    policy: policySchema.optional().meta({ description: "The fields of the policy as they would become." }),
    calls: simulatedCalls,
  })
  .meta({ id: "PolicySimulationRequest" });
type Body = z.output<typeof body>;

const count = z.int();
const verdicts = z
  .strictObject({
    allowed: count,
    denied: count,
    unknown: count.meta({ description: "Calls of which the record does not hold what the policy reads." }),
  })
  .meta({ id: "PolicyVerdicts" });
const changedCalls = z.strictObject({ calls: count, trace_ids: traceIds }).meta({ id: "ChangedCalls" });
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
    now: orNull(verdicts, "What the published policy decides about the calls; null when no such policy is published."),
    proposed: orNull(verdicts, "With the policy of the request; null if it has none."),
    newly_denied: changedCalls.nullable(),
    newly_allowed: changedCalls.nullable(),
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

type Call = AdminCall<Body>;

export function policySimulationOperations(
  simulations: Simulations | null,
  context: ConfiguredContext,
): readonly AdminOperation[] {
  return PLACES_BELOW.map(({ name: place, base, scopeText }) =>
    apart({
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
        if (proposed !== null) {
          const desired = { name, document: proposed as unknown as JsonObject };
          await requireStorable(call, context.rules.policies!, "policy", desired, store);
        }
        const made = await keptSimulations(simulations).policy({
          place: call.place!,
          name,
          published: document,
          proposed,
          limit: call.body.calls,
        });
        const recorded = { ...made.recorded, wouldDeny: made.recorded.would_deny };
        return { body: shownAs(answer, { ...made, policy: name, recorded }) };
      },
    }),
  );
}

/** Returns the name and the document of the policy as it is now; the document is `null` if the policy does not exist. */
async function presentPolicy(call: Call, store: Reader, context: ConfiguredContext) {
  const key = call.params["id"]!;
  const found = await findInUse(call, store, "policy", key, context);
  const parsed = policySchema.safeParse(found?.document);
  return { name: found?.name ?? key, document: parsed.success ? parsed.data : null };
}

// What becomes of each top-level member of a request for one row and one combination of model exceptions. It is
// computed once, and the encoder only looks it up.

// Decides (the request): Under which name is a parameter sent? Rule: By `renames` in the provider's row
// (`providers/openai-compatible/rows/`).
import type { BlockType } from "../../core/chat.ts";
import { COMMON_PARAMETERS, type CommonParameter, GATEWAY, NEVER_UNSUPPORTED } from "../../core/params.ts";
import { type CapabilityTable, capabilityOf } from "../../core/capability.ts";
import type { CallIdForm } from "../conversation/tool-calls.ts";
import type { BlockRewrite, OpenAICompatibleRow, ParameterRewrite, RowDifferences } from "./row.ts";

/**
 * `parameter`: a common parameter that is sent under `wireName`. `absent`: a field that only the gateway acts on, or
 * that the row does not support.
 */
export type MemberPlan =
  | { readonly kind: "model" | "messages" | "absent" | "stream_options" | "function_call" }
  | { readonly kind: "parameter" | "token_bound"; readonly wireName: string };

export interface WirePlan {
  /** Every common parameter and every field of the gateway. Other members pass through. */
  readonly members: ReadonlyMap<string, MemberPlan>;
  readonly rewrites: readonly (readonly [CommonParameter, ParameterRewrite])[];
  readonly blocks: ReadonlyMap<BlockType, BlockRewrite>;
  readonly textAsString: boolean;
  readonly cacheBreakpoints: boolean;
  /** `null` when ids of tool calls are sent unchanged. */
  readonly callIds: CallIdForm | null;
  /** `null` when tool calls need no reasoning beside them. */
  readonly reasoningBesideCalls: string | null;
}

const TOKEN_BOUNDS: ReadonlySet<string> = new Set<CommonParameter>(["max_tokens", "max_completion_tokens"]);

/**
 * Returns the plan for a model. A plan is kept for each combination of model exceptions that occurs, not for each
 * model.
 */
export function wirePlans(row: OpenAICompatibleRow, capabilities: CapabilityTable): (model: string) => WirePlan {
  const exceptions = row.models ?? [];
  if (exceptions.length === 0) {
    const plan = makePlan([row], capabilities, "");
    return () => plan;
  }
  const plans = new Map<number, WirePlan>();
  return (model) => {
    let combination = 0;
    for (let index = 0; index < exceptions.length; index++)
      if (exceptions[index]!.models.test(model)) combination |= 1 << index;
    return plans.getOrInsertComputed(combination, () =>
      makePlan([...exceptions.filter((_, index) => (combination & (1 << index)) !== 0), row], capabilities, model),
    );
  };
}

/**
 * `differences` are the exceptions that match, in order, followed by the row. The first that names a feature applies.
 */
function makePlan(differences: readonly RowDifferences[], capabilities: CapabilityTable, model: string): WirePlan {
  const members = new Map<string, MemberPlan>(Object.keys(GATEWAY).map((name) => [name, { kind: "absent" }]));
  for (const name of COMMON_PARAMETERS) {
    const wireName = differences.find((some) => some.renames?.[name] !== undefined)?.renames?.[name] ?? name;
    // Other unsupported parameters were already refused or dropped when the request was fitted.
    const absent = NEVER_UNSUPPORTED.has(name) && capabilityOf(capabilities, name, model).support === "unsupported";
    members.set(
      name,
      absent
        ? { kind: "absent" }
        : name === "stream_options"
          ? { kind: name }
          : { kind: TOKEN_BOUNDS.has(name) ? "token_bound" : "parameter", wireName },
    );
  }
  members.set("model", { kind: "model" });
  members.set("messages", { kind: "messages" });
  members.set("function_call", { kind: "function_call" });
  return {
    members,
    rewrites: [...merged(differences, "rewrites")] as WirePlan["rewrites"],
    blocks: merged(differences, "blocks") as WirePlan["blocks"],
    textAsString: differences.some((some) => some.textAsString === true),
    cacheBreakpoints: differences.some((some) => some.cacheBreakpoints === true),
    callIds: differences.find((some) => some.callIds !== undefined)?.callIds ?? null,
    reasoningBesideCalls:
      differences.find((some) => some.reasoningBesideCalls !== undefined)?.reasoningBesideCalls ?? null,
  };
}

function merged(
  differences: readonly RowDifferences[],
  field: "rewrites" | "blocks",
): ReadonlyMap<string, ParameterRewrite | BlockRewrite> {
  return new Map(differences.toReversed().flatMap((some) => Object.entries(some[field] ?? {})));
}

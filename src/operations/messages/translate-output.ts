// What a request says of the form and the effort of its answer: `thinking`, `output_config`, and the older
// `output_format`. https://platform.claude.com/docs/en/build-with-claude/effort, .../adaptive-thinking
import type { Untranslated } from "../../core/chat.ts";
import { isObject, isWholeNumber, type Json, type JsonObject } from "../../core/json.ts";
import { invalid, objectAt } from "../../core/refusals.ts";
import { given } from "./fields.ts";
import { invalidPart } from "../../engine/request/vendor-judged.ts";
import { asked, orLeft } from "./untranslated.ts";

const EFFORTS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];
const MIN_BUDGET = 1_024;
/** The largest budgets of the efforts low and medium. */
const LOW_BUDGET = 4_096;
const MEDIUM_BUDGET = 16_384;

/**
 * `advisory` of the result are parameters that may be left out where the target lacks them, and `places` are where the
 * parameters stand that do not stand in their usual place.
 */
export function translateOutput(body: JsonObject, left: Untranslated[]) {
  const config = given(body, "output_config") ?? {};
  if (!isObject(config)) throw invalid("output_config", "an object", config);
  for (const name of Object.keys(config))
    if (name !== "effort" && name !== "format" && given(config, name) !== undefined)
      left.push(asked(`output_config.${name}`, `the member ${name}`));
  const { effort, isAdvisory } = effortOf(body, given(config, "effort"), left);
  const newer = given(config, "format");
  const format = newer ?? given(body, "output_format");
  const formatPath = newer === undefined ? "output_format" : "output_config.format";
  const thinking = given(body, "thinking");
  return {
    /** Whether the client asks for a summary of the thinking, which some models write only then. */
    isSummarized: isObject(thinking) && thinking["display"] === "summarized",
    params: {
      ...(effort !== null && { reasoning_effort: effort }),
      ...(format !== undefined && responseFormat(format, formatPath, left)),
    },
    advisory: effort !== null && isAdvisory ? (["reasoning_effort"] as const) : [],
    places: {
      ...(isAdvisory && { reasoning_effort: "thinking" }),
      ...(format !== undefined && { response_format: formatPath }),
    },
  };
}

interface Effort {
  /** null leaves it to the model. */
  readonly effort: string | null;
  readonly isAdvisory: boolean;
}

/** An effort that was asked for by name is not left out, but one that stands for a budget or for no thinking is. */
function effortOf(body: JsonObject, named: Json | undefined, left: Untranslated[]): Effort {
  if (named !== undefined && typeof named !== "string") {
    left.push(invalidPart(invalid("output_config.effort", `one of ${EFFORTS.join(", ")}`, named)));
    return { effort: null, isAdvisory: false };
  }
  const isKnown = named !== undefined && EFFORTS.includes(named);
  if (named !== undefined && !isKnown) left.push(asked("output_config.effort", `the effort ${named.slice(0, 64)}`));
  const asNamed = { effort: isKnown ? named : null, isAdvisory: false };
  const thinking = given(body, "thinking");
  if (thinking === undefined) return asNamed;
  if (!isObject(thinking)) throw invalid("thinking", "an object with a type", thinking);
  const { type } = thinking;
  if (typeof type !== "string") throw invalid("thinking.type", "a string", type);
  for (const name of Object.keys(thinking))
    if (!["type", "budget_tokens", "display"].includes(name) && given(thinking, name) !== undefined)
      left.push(asked(`thinking.${name}`, `the member ${name}`));
  if (type === "disabled") return { effort: "none", isAdvisory: true };
  if (type === "adaptive") return asNamed;
  if (type === "enabled") {
    const budget = orLeft(left, 0, () => checkedBudget(thinking["budget_tokens"], body["max_tokens"]));
    return named !== undefined ? asNamed : { effort: effortFor(budget), isAdvisory: true };
  }
  left.push(asked("thinking.type", `thinking of type ${type.slice(0, 64)}`));
  return asNamed;
}

function checkedBudget(budget: Json | undefined, maxTokens: Json | undefined): number {
  const path = "thinking.budget_tokens";
  if (!isWholeNumber(budget, MIN_BUDGET)) throw invalid(path, `an integer of at least ${MIN_BUDGET}`, budget);
  if (typeof maxTokens === "number" && budget >= maxTokens) throw invalid(path, "less than max_tokens", budget);
  return budget;
}

function effortFor(budget: number): string {
  return budget <= LOW_BUDGET ? "low" : budget <= MEDIUM_BUDGET ? "medium" : "high";
}

/** The vendor keeps to every schema, which chat completions call strict. */
function responseFormat(format: Json, path: string, left: Untranslated[]): JsonObject {
  if (!isObject(format)) throw invalid(path, "an object with a type", format);
  if (typeof format["type"] !== "string") throw invalid(`${path}.type`, '"json_schema"', format["type"]);
  if (format["type"] !== "json_schema") {
    left.push(asked(`${path}.type`, `the format ${format["type"].slice(0, 64)}`));
    return {};
  }
  const schema = objectAt(format, "schema", path);
  return { response_format: { type: "json_schema", json_schema: { name: "output", schema, strict: true } } };
}

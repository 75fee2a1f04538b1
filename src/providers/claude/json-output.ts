// Plans `response_format`: the vendor's own JSON schema output where the model has it, or else a tool that the model
// has to call and whose input is the answer (promise 6.8).
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs

// Decides (the request): How is a parameter emulated? By: `planJsonOutput`. Rule: By the encoder of each provider, of
// which this is an example.
import type { ResponseFormat } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { ModelFacts } from "./models.ts";

export type JsonOutput =
  | { readonly kind: "format"; readonly format: JsonObject }
  /** `tool` is in the wire form, and the input of its call is the answer. */
  | { readonly kind: "tool"; readonly tool: JsonObject & { readonly name: string } }
  | null;

/** What a decoder has to know about the request. */
export interface JsonOutputMemo {
  /** The tool whose input is the answer's text. `null` when JSON output is not emulated. */
  readonly answerTool: string | null;
}

export function answerToolOf(memo: unknown): string | null {
  return typeof memo === "object" && memo !== null && "answerTool" in memo ? (memo as JsonOutputMemo).answerTool : null;
}

export interface JsonOutputSituation {
  readonly facts: Pick<ModelFacts, "jsonSchema" | "forcedTools">;
  /** Whether the vendor refuses a forced tool in this request. */
  readonly forcingRefused: boolean;
  /** Names that the tool for the answer may not have. */
  readonly toolNames: readonly unknown[];
}

/** Throws GatewayError `unsupported_value` when neither way is possible. */
export function planJsonOutput(
  format: ResponseFormat | undefined,
  { facts, forcingRefused, toolNames }: JsonOutputSituation,
): JsonOutput {
  if (format === undefined || format.type === "text") return null;
  const requested = format.type === "json_schema" ? format.json_schema : null;
  // As everywhere, null means "not set".
  const schema = requested?.schema ?? undefined;
  const forcing = facts.forcedTools && !forcingRefused;
  // Without strict the caller expects that every schema is accepted, and tools accept every schema.
  if (facts.jsonSchema && schema !== undefined && (requested?.strict === true || !forcing || isEnforceable(schema)))
    return { kind: "format", format: { type: "json_schema", schema } };
  if (!forcing) throw refusal(format.type, facts);
  return { kind: "tool", tool: answerTool(schema, requested?.description, toolNames) };
}

function refusal(type: string, facts: JsonOutputSituation["facts"]): GatewayError {
  const why = facts.forcedTools
    ? "cannot be combined with reasoning on this model, because it takes a forced tool call"
    : "needs a forced tool call, which this model does not take";
  const cure = facts.jsonSchema ? " Use json_schema with a schema instead." : "";
  return unsupportedValue("response_format", `response_format ${type} ${why}.${cure}`);
}

const OPEN_SCHEMA: JsonObject = { type: "object", additionalProperties: true };

function answerTool(
  schema: JsonObject | undefined,
  description: string | undefined,
  usedNames: readonly unknown[],
): JsonObject & { readonly name: string } {
  let name = "respond_with_json";
  while (usedNames.includes(name)) name += "_";
  return {
    name,
    description: description ?? "Give the answer. The input of this tool is the whole answer, as JSON.",
    input_schema: schema ?? OPEN_SCHEMA,
  };
}

/** Keywords that the vendor's schema compiler refuses. */
const REFUSED_KEYWORDS = new Set(
  `minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern maxItems uniqueItems minProperties maxProperties
  not oneOf patternProperties if then else prefixItems contains`.split(/\s+/),
);
const NAMED_SCHEMAS = new Set(["properties", "$defs", "definitions"]);

/** True for a schema within the vendor's subset. */
function isEnforceable(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isEnforceable);
  if (!isObject(schema)) return true;
  if (isObjectSchema(schema) && schema["additionalProperties"] !== false) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (REFUSED_KEYWORDS.has(keyword)) return false;
    if (keyword === "enum" || keyword === "const" || keyword === "default" || keyword === "examples") return true;
    return NAMED_SCHEMAS.has(keyword) && isObject(value)
      ? Object.values(value).every(isEnforceable)
      : isEnforceable(value);
  });
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
}

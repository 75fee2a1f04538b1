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
/** Keywords that hold values of an answer and no schemas. */
const VALUES = new Set(["enum", "const", "default", "examples"]);
const NAMED_SCHEMAS = new Set(["properties", "$defs", "definitions"]);

const FORMATS = new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "));

const DEFINED = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** True for a schema within the vendor's subset, which has no recursion. */
export function isEnforceable(schema: Json | undefined): boolean {
  return isWithin(schema) && !(isObject(schema) && isRecursive(definitionsOf(schema)));
}

function isWithin(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isWithin);
  if (!isObject(schema)) return true;
  if (isObjectSchema(schema) && schema["additionalProperties"] !== false) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (REFUSED_KEYWORDS.has(keyword)) return false;
    if (keyword === "minItems") return value === 0 || value === 1;
    if (keyword === "format") return typeof value === "string" && FORMATS.has(value);
    if (keyword === "$ref") return typeof value === "string" && DEFINED.test(value);
    if (VALUES.has(keyword)) return true;
    return NAMED_SCHEMAS.has(keyword) && isObject(value) ? Object.values(value).every(isWithin) : isWithin(value);
  });
}

function definitionsOf({ $defs, definitions }: JsonObject): JsonObject {
  return { ...(isObject(definitions) && definitions), ...(isObject($defs) && $defs) };
}

/** Takes away definitions that refer only to what is taken away already: in a recursion some are left. */
function isRecursive(definitions: JsonObject): boolean {
  const users = new Map<string, string[]>(Object.keys(definitions).map((name) => [name, []]));
  const waiting = new Map<string, number>();
  for (const [user, schema] of Object.entries(definitions)) {
    const used = [...referredTo(schema!)].filter((name) => users.has(name));
    waiting.set(user, used.length);
    for (const name of used) users.get(name)!.push(user);
  }
  const taken = [...waiting].filter(([, count]) => count === 0).map(([name]) => name);
  for (const name of taken)
    for (const user of users.get(name)!) {
      const count = waiting.get(user)! - 1;
      waiting.set(user, count);
      if (count === 0) taken.push(user);
    }
  return taken.length < users.size;
}

/** The definitions to which a schema refers. */
function referredTo(schema: Json, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(schema)) for (const part of schema as readonly Json[]) referredTo(part, found);
  else if (isObject(schema))
    for (const [keyword, value] of Object.entries(schema)) {
      const name = keyword === "$ref" && typeof value === "string" ? DEFINED.exec(value)?.[1] : undefined;
      if (name !== undefined) found.add(name);
      else if (!VALUES.has(keyword)) referredTo(value!, found);
    }
  return found;
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
}

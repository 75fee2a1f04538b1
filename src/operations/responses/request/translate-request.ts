// Translates a request of the Responses API to a chat completion. https://platform.openai.com/docs/api-reference/responses
// docs/responses.md has the table of members for users.
import { invalid } from "../../../core/refusals.ts";
import type { Translation, Translator } from "../../../engine/request/translated-form.ts";
import type { Advisory } from "../../../core/chat.ts";
import {
  isObject,
  isSet,
  isText,
  isWholeNumber,
  type Json,
  type JsonObject,
  leastJsonLength,
  listIn,
  textOrEmpty,
} from "../../../core/json.ts";
import { KEEPING_BOUNDS } from "../../../engine/keeping/kept-store.ts";
import {
  type EarlierResponses,
  isEmptyReasoning,
  isReference,
  listedItems,
  NOTHING_EARLIER,
} from "../keeping/kept-responses.ts";
import { countTranslator } from "../../counted-requests.ts";
import { repeatedMembers } from "./repeated-members.ts";
import type { KeptInput, RequestMemo } from "../request-memo.ts";
import { type TranslatedChoice, translatedChoice } from "./translate-choice.ts";
import { addToolsOfInput, translatedInput } from "./translated-input.ts";
import { TranslatedTools } from "./translated-tools.ts";
import { UntranslatedParts } from "./untranslated-parts.ts";

const NAMES: Translator["names"] = {
  messages: "input",
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
  response_format: "text.format",
  verbosity: "text.verbosity",
  reasoning_effort: "reasoning.effort",
  logprobs: "include",
};

const BLOCK_NAMES = { text: "input_text", image_url: "input_image", file: "input_file", document: "input_file" };

/** `earlier` is what the caller may refer to; `null` where nothing is kept. */
export function responsesTranslator(earlier: EarlierResponses | null): Translator {
  return {
    translate: (body) => translatedRequest(body, earlier),
    names: NAMES,
    blockNames: BLOCK_NAMES,
    leavesServers: true,
    hasOneAnswer: true,
  };
}

export function inputTokensTranslator(earlier: EarlierResponses | null): Translator {
  return countTranslator("responses.input_tokens", {
    translate: (body) => translatedRequest({ input: [], ...body }, earlier),
    names: NAMES,
    blockNames: BLOCK_NAMES,
    leavesServers: true,
  });
}

/** Members with the same name and meaning in a chat completion. */
const SAME = [
  "model",
  "stream",
  "temperature",
  "top_p",
  "parallel_tool_calls",
  "service_tier",
  "prompt_cache_key",
  "safety_identifier",
  "user",
  "metadata",
] as const;

/** Members that are translated by functions of their own. */
const TRANSLATED: ReadonlySet<string> = new Set([
  ...SAME,
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "text",
  "reasoning",
  "include",
  "top_logprobs",
  "max_output_tokens",
]);

/** Hints, and values that ask for nothing: the answer means the same without them. */
const ADVISORY: ReadonlySet<string> = new Set(["stream_options", "prompt_cache_retention", "client_metadata"]);

/** What a client that is known by `client_metadata` sends for its models by itself (promise 12.14). */
const MODEL_SETTINGS: readonly Advisory[] = ["verbosity", "parallel_tool_calls"].map((name) => ({
  name,
  deviation: "default_model_settings",
}));

const LOGPROBS = "message.output_text.logprobs";
const ENCRYPTED_REASONING = "reasoning.encrypted_content";
/** The most log probabilities of one position in a chat completion. */
const MAX_TOP_LOGPROBS = 5;

/** Members that name what stands before the input. */
const EARLIER = ["previous_response_id", "conversation", "prompt"] as const;

function translatedRequest(sent: JsonObject, earlier: EarlierResponses | null): Translation {
  const { body, before } = withEarlier(sent, earlier);
  const left = new UntranslatedParts();
  const tools = new TranslatedTools(left);
  const { input } = body;
  tools.add(body["tools"], "tools");
  addToolsOfInput(before, tools, "previous_response_id");
  addToolsOfInput(input, tools, "input");
  // only the model acts on a choice, so that a vendor that speaks the form judges it itself
  const { choice, allowed } = left.orNoted<TranslatedChoice>({ choice: undefined, allowed: null }, () =>
    translatedChoice(body["tool_choice"], tools, left),
  );
  const isOpen = EARLIER.some((name) => isSet(body[name]));
  const { messages, origins, approved, asked } = translatedInput(input, body["instructions"], {
    left,
    tools,
    isOpen,
    before,
    isRedacted: earlier?.isRedacted ?? NOTHING_EARLIER.isRedacted,
  });
  const keeps = earlier !== null && body["store"] !== false;
  noteMembers(body, left, keeps);
  const includes = translatedIncludes(body["include"], left);
  const hasDefaults = isObject(body["client_metadata"]);
  const chat: Record<string, Json> = { messages };
  for (const name of SAME) if (isSet(body[name])) chat[name] = body[name]!;
  checkMetadata(body["metadata"]);
  const offered = tools.tools;
  if (offered.length > 0) chat["tools"] = offered;
  // providers refuse these without tools
  else delete chat["parallel_tool_calls"];
  if (choice !== undefined && (offered.length > 0 || (choice !== "auto" && choice !== "none")))
    chat["tool_choice"] = choice;
  Object.assign(
    chat,
    translatedBound(body, left),
    left.orNoted({}, () => translatedText(body["text"], left)),
    left.orNoted({}, () => translatedReasoning(body["reasoning"], hasDefaults, left)),
  );
  const showsLogprobs = includes.has(LOGPROBS);
  Object.assign(
    chat,
    left.orNoted({}, () => translatedLogprobs(body["top_logprobs"], showsLogprobs, left)),
  );
  const memo: RequestMemo = {
    model: textOrEmpty(body["model"]),
    repeated: repeatedMembers(sent),
    tools: tools.clientTools,
    allowed,
    listed: new Set([...listedServers(before), ...listedServers(input)]),
    showsLogprobs,
    mayBeKept: body["store"] !== false,
    kept: keeps ? keptInput(before, body, earlier) : null,
    isBackground: keeps && body["background"] === true,
    showsCarriers: includes.has(ENCRYPTED_REASONING),
  };
  const summary = summaryAskedFor(body["reasoning"]);
  const translation = {
    chat,
    origins: { messages: origins, tools: tools.paths },
    untranslated: left.list,
    advisory: hasDefaults ? MODEL_SETTINGS : [],
    approved,
    asked,
    memo,
    ...(typeof body["max_tool_calls"] === "number" && { maxToolCalls: body["max_tool_calls"] }),
    ...(memo.kept !== null && !memo.showsCarriers && { keepsReasoning: true as const }),
    ...(summary !== null && { reasoningSummary: summary }),
    ...(isPrewarming(body["prompt_cache_options"]) && { asksForNothing: true as const }),
  };
  // no provider is asked for it: the gateway does it
  const own: JsonObject = memo.isBackground ? { background: undefined } : {};
  if (body === sent) return memo.isBackground ? { ...translation, replaced: own } : translation;
  return { ...translation, replaced: { input: itemsInPlace(body, before), previous_response_id: undefined, ...own } };
}

/** Returns the request without references to what is kept, and the items that stand before its input. */
function withEarlier(
  sent: JsonObject,
  earlier: EarlierResponses | null,
): { readonly body: JsonObject; readonly before: readonly JsonObject[] } {
  if (earlier === null) return { body: sent, before: [] };
  const { previous_response_id: id, ...others } = sent;
  const before = typeof id === "string" ? earlier.itemsOf(id) : null;
  const body = before === null ? sent : others;
  const { input } = body;
  if (!Array.isArray(input)) return { body, before: before ?? [] };
  let isFilled = false;
  const items = (input as readonly Json[]).flatMap((item): readonly Json[] => {
    const kept = isReference(item) || isEmptyReasoning(item) ? earlier.item(item.id) : null;
    isFilled ||= kept !== null;
    return kept ?? [item];
  });
  return { body: isFilled ? { ...body, input: items } : body, before: before ?? [] };
}

/** A provider that speaks the form itself is sent the items in place of what refers to them. */
function itemsInPlace({ input }: JsonObject, before: readonly JsonObject[]): readonly Json[] {
  const own: readonly Json[] = typeof input === "string" ? [{ role: "user", content: input }] : listIn(input);
  return [...before, ...own];
}

function keptInput(before: readonly JsonObject[], body: JsonObject, { hides }: EarlierResponses): KeptInput {
  const { items, supplied } = listedItems(itemsInPlace(body, before), hides);
  // the input of a long request comes from another thread, and is read in the thread that serves calls
  if (leastJsonLength(items, KEEPING_BOUNDS.objectBytes) > KEEPING_BOUNDS.objectBytes)
    return { items: [], hidden: [], supplied: [], isTooLarge: true };
  return { items, supplied, hidden: items.flatMap((item, at) => (hides(item) ? [at] : [])) };
}

/** Returns the labels of the servers whose tools an item lists, because an earlier response had it. */
function listedServers(items: Json | readonly JsonObject[] | undefined): readonly string[] {
  if (!Array.isArray(items)) return [];
  return (items as readonly Json[]).flatMap((item) =>
    isObject(item) && item["type"] === "mcp_list_tools" && typeof item["server_label"] === "string"
      ? [item["server_label"]]
      : [],
  );
}

/** Notes the members of the body that have no counterpart in a chat completion. */
function noteMembers(body: JsonObject, left: UntranslatedParts, keeps: boolean): void {
  for (const name in body) {
    const value = body[name];
    if (TRANSLATED.has(name) || !isSet(value)) continue;
    if (ADVISORY.has(name)) left.always(name);
    else noteMember(name, value, left, keeps);
  }
}

function noteMember(name: string, value: Json, left: UntranslatedParts, keeps: boolean): void {
  switch (name) {
    case "store":
      if (typeof value !== "boolean") throw invalid(name, "true or false", value);
      if (value && !keeps) left.always(name);
      return;
    case "background":
      if (typeof value !== "boolean") throw invalid(name, "true or false", value);
      if (value && !keeps)
        left.never(
          name,
          "needs a response that is kept, and this one is not",
          "Leave store: false out where responses are kept, or wait for the answer.",
        );
      return;
    // https://developers.openai.com/api/docs/guides/background: a later window costs less, and is the vendor's own
    case "background_options":
      if (!isObject(value) || !isSet(value["completion_window"]) || value["completion_window"] === "soonest")
        return left.always(name);
      return left.asked(name, "asks for a later answer at a lower price, which only the vendor's own background has");
    case "prompt_cache_options":
      if (!isPrewarming(value)) return left.always(name);
      return left.never(
        `${name}.prewarm`,
        "prepares a prompt cache and asks for no answer, which only a provider with the Responses API can do",
        "Leave it out, or use a model of such a provider.",
      );
    case "truncation":
      if (value !== "auto" && value !== "disabled") left.invalid(invalid(name, '"auto" or "disabled"', value));
      else if (value === "auto") left.always(name);
      return;
    case "max_tool_calls":
      if (!isWholeNumber(value, 1)) throw invalid(name, "an integer of at least 1", value);
      return;
    case "previous_response_id":
      if (typeof value !== "string") throw invalid(name, "the id of a response", value);
      return left.never(
        name,
        `names no response that this gateway has kept for this caller: ${JSON.stringify(value.slice(0, 64))}`,
        "Responses are kept for an hour at most. Send the whole conversation in input.",
      );
    case "conversation":
      return left.never(
        name,
        "needs a conversation that was kept, and this gateway keeps none",
        "Send the whole conversation in input.",
      );
    case "prompt":
      return left.never(
        name,
        "names a template that only its own provider has",
        "Send its text in instructions and input.",
      );
    default:
      return left.asked(name.slice(0, 64));
  }
}

/** https://developers.openai.com/api/docs/guides/prompt-caching */
function isPrewarming(options: Json | undefined): boolean {
  return isObject(options) && options["prewarm"] === true;
}

function checkMetadata(metadata: Json | undefined): void {
  if (!isObject(metadata)) return;
  for (const name in metadata)
    if (typeof metadata[name] !== "string") throw invalid(`metadata.${name.slice(0, 64)}`, "a string", metadata[name]);
}

/** Limits count the bound, so that it has to be a whole number everywhere. */
function translatedBound({ max_output_tokens: bound }: JsonObject, left: UntranslatedParts): JsonObject {
  if (!isSet(bound)) return {};
  const refusal = invalid("max_output_tokens", "an integer of at least 1", bound);
  if (!isWholeNumber(bound, 0)) throw refusal;
  if (bound === 0) left.invalid(refusal);
  return { max_completion_tokens: bound };
}

function translatedText(text: Json | undefined, left: UntranslatedParts): JsonObject {
  if (!isSet(text)) return {};
  if (!isObject(text)) throw invalid("text", "an object", text);
  const { format, verbosity, ...others } = text;
  for (const name in others) if (isSet(others[name])) left.asked(`text.${name.slice(0, 64)}`);
  if (isSet(verbosity) && typeof verbosity !== "string") throw invalid("text.verbosity", "a string", verbosity);
  return { ...translatedFormat(format, left), ...(typeof verbosity === "string" && { verbosity }) };
}

function translatedFormat(format: Json | undefined, left: UntranslatedParts): JsonObject {
  if (!isSet(format)) return {};
  if (!isObject(format)) throw invalid("text.format", "an object with a type", format);
  const { type, name, schema, strict, description } = format;
  switch (type) {
    case "text":
      return {};
    case "json_object":
      return { response_format: { type } };
    case "json_schema": {
      if (typeof name !== "string" || name === "") throw invalid("text.format.name", "a name", name);
      if (!isObject(schema)) throw invalid("text.format.schema", "an object", schema);
      if (isSet(strict) && typeof strict !== "boolean") throw invalid("text.format.strict", "true or false", strict);
      if (isSet(description) && typeof description !== "string")
        throw invalid("text.format.description", "a string", description);
      const described = {
        ...(typeof description === "string" && { description }),
        ...(typeof strict === "boolean" && { strict }),
      };
      return { response_format: { type, json_schema: { name, schema, ...described } } };
    }
    default:
      if (typeof type !== "string") throw invalid("text.format.type", '"text", "json_object" or "json_schema"', type);
      left.asked(
        "text.format",
        `has the type ${JSON.stringify(type.slice(0, 64))}, which has no counterpart at this provider`,
      );
      return {};
  }
}

/** The wish to be shown the reasoning, under its present or its older name. */
function summaryAskedFor(reasoning: Json | undefined): string | null {
  const { summary, generate_summary: older } = isObject(reasoning) ? reasoning : {};
  return [summary, older].find(isText) ?? null;
}

/**
 * Reasoning is shown as a summary wherever the provider shows it. `hasDefaults`: members may be those that a named client
 * sends by itself.
 */
function translatedReasoning(reasoning: Json | undefined, hasDefaults: boolean, left: UntranslatedParts): JsonObject {
  if (!isSet(reasoning)) return {};
  if (!isObject(reasoning)) throw invalid("reasoning", "an object", reasoning);
  const { effort, summary: _summary, generate_summary: _older, context, mode, ...others } = reasoning;
  for (const name in others) if (isSet(others[name])) left.asked(`reasoning.${name.slice(0, 64)}`);
  if (context === "all_turns" && hasDefaults)
    left.deviating("reasoning.context", "default_model_settings", "has no counterpart at this provider");
  else if (isSet(context) && context !== "auto") left.asked("reasoning.context");
  if (isSet(mode) && mode !== "standard") left.asked("reasoning.mode");
  if (isSet(effort) && typeof effort !== "string") throw invalid("reasoning.effort", "a string", effort);
  return typeof effort === "string" ? { reasoning_effort: effort } : {};
}

function translatedIncludes(include: Json | undefined, left: UntranslatedParts): ReadonlySet<string> {
  if (!isSet(include)) return new Set();
  if (!Array.isArray(include)) throw invalid("include", "an array of strings", include);
  const found = new Set<string>();
  (include as readonly Json[]).forEach((value, index) => {
    if (typeof value !== "string") throw invalid(`include[${index}]`, "a string", value);
    found.add(value);
    // what belongs to tools that are absent changes nothing
    if (value !== LOGPROBS && value !== ENCRYPTED_REASONING) left.always(`include[${index}]`);
  });
  return found;
}

function translatedLogprobs(top: Json | undefined, isShown: boolean, left: UntranslatedParts): JsonObject {
  if (isSet(top) && !isWholeNumber(top, 0, 20)) throw invalid("top_logprobs", "an integer from 0 to 20", top);
  const count = typeof top === "number" ? top : 0;
  if (!isShown) {
    if (count > 0) left.always("top_logprobs");
    return {};
  }
  if (count > MAX_TOP_LOGPROBS)
    left.asked("top_logprobs", `is above ${MAX_TOP_LOGPROBS}, the most that this provider can be asked for`);
  return { logprobs: true, ...(count > 0 && { top_logprobs: Math.min(count, MAX_TOP_LOGPROBS) }) };
}

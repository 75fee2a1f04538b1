// The translation of a request to a chat completion (promise 12.4): https://platform.claude.com/docs/en/api/messages
import { hash } from "node:crypto";
import { invalid } from "../../core/refusals.ts";
import { LEAST_BODY_BOUNDS } from "../../core/request/body-bounds.ts";
import type { Untranslated } from "../../core/chat.ts";
import { isObject, isWholeNumber, type Json, type JsonObject } from "../../core/json.ts";
import type { GatewayError } from "../../core/errors.ts";
import { type CommonParameter } from "../../core/params.ts";
import type { Translation, Translator } from "../../engine/request/translated-form.ts";
import { countTranslator } from "../counted-requests.ts";
import { citationEdits } from "./citations.ts";
import { bad, given } from "./fields.ts";
import { placedBlocks } from "./translate-content.ts";
import { translateOutput } from "./translate-output.ts";
import { toolsOfServers, translateTools } from "./translate-tools.ts";
import { systemMessage, translateTurns } from "./translate-turns.ts";
import { invalidPart } from "../../engine/request/vendor-judged.ts";
import { advice, asked, deviating, never as refused } from "./untranslated.ts";

/** What the answer needs of the request. */
export interface MessagesMemo {
  /** As the client wrote it; null where a route chooses the model. */
  readonly model: string | null;
  /** The client's names of tools by those that the model gets, where they differ. */
  readonly toolNames: Readonly<Record<string, string>>;
}

/** Members of a body that this file translates or that stand for nothing. */
const TRANSLATED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "stop_sequences",
  "stream",
  "metadata",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "service_tier",
  "cache_control",
  "context_management",
  "thread",
]);
/** A part of the conversation is sent with it, so that nothing says the same without it. */
const THREAD = "thread";

const NAMES: Translator["names"] = {
  max_completion_tokens: "max_tokens",
  stop: "stop_sequences",
  user: "metadata.user_id",
  reasoning_effort: "output_config.effort",
  response_format: "output_config.format",
  parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
};

const BLOCK_NAMES = { image_url: "image", file: "document" };

export const MESSAGES_TRANSLATOR: Translator = {
  translate: (body) => translate(body, true),
  names: NAMES,
  blockNames: BLOCK_NAMES,
  hasOneAnswer: true,
};

/** Requests whose tokens are counted have no bound of their answer. */
export const COUNT_TRANSLATOR = countTranslator("messages.count_tokens", {
  translate: (body) => translate(body, false),
  names: NAMES,
  blockNames: BLOCK_NAMES,
});

function translate(body: JsonObject, needsBound: boolean): Translation {
  const left: Untranslated[] = [];
  const model = given(body, "model");
  if (model !== undefined && typeof model !== "string") throw invalid("model", "a string", model);
  const isServers = toolsOfServers(body);
  const turns = translateTurns(body["messages"], isServers, left);
  const system = systemOf(body, left);
  const tools = translateTools(body, isServers, left);
  const output = translateOutput(body, left);
  leaveOthers(body, left);
  const advisory: CommonParameter[] = [...output.advisory];
  const chat: JsonObject = {
    ...(model !== undefined && { model }),
    messages: [...system, ...turns.messages],
    ...boundOf(body, needsBound, left),
    ...samplingOf(body, left),
    ...tierOf(body, advisory, left),
    ...userOf(body, left),
    ...tools.params,
    ...output.params,
  };
  // no vendor takes back citations that the gateway has made
  const removed = citationEdits(body);
  const memo: MessagesMemo = { model: model ?? null, toolNames: tools.names };
  return {
    chat,
    origins: {
      messages: [...system.map(() => "system"), ...turns.origins],
      parts: [...system.map(() => null), ...turns.parts],
      tools: tools.origins,
      params: output.places,
    },
    untranslated: left,
    advisory: advisory.map((name) => ({ name })),
    memo,
    ...(removed.length > 0 && { removed }),
    ...(output.isSummarized && { reasoningSummary: "auto" }),
  };
}

function systemOf(body: JsonObject, left: Untranslated[]): readonly JsonObject[] {
  const system = given(body, "system");
  if (system === undefined) return [];
  const message = systemMessage(placedBlocks(system, "system"), left);
  return message === null ? [] : [message];
}

/** Limits count the bound, so that it has to be a whole number everywhere. */
function boundOf(body: JsonObject, isNeeded: boolean, left: Untranslated[]): JsonObject {
  const bound = given(body, "max_tokens");
  if (bound === undefined && !isNeeded) return {};
  const refusal = (): GatewayError => invalid("max_tokens", "an integer of at least 1", bound);
  if (bound !== undefined && !isWholeNumber(bound, 0)) throw refusal();
  if (bound === undefined || bound === 0) left.push(invalidPart(refusal()));
  return bound === undefined ? {} : { max_tokens: bound };
}

/** As many as any list of a known field may have. */
const MAX_STOPS = LEAST_BODY_BOUNDS.maxItems;

function samplingOf(body: JsonObject, left: Untranslated[]): JsonObject {
  const params: Record<string, Json> = {};
  const temperature = given(body, "temperature");
  if (temperature !== undefined) {
    if (typeof temperature !== "number" || temperature < 0 || temperature > 1)
      left.push(invalidPart(invalid("temperature", "a number from 0 to 1", temperature)));
    params["temperature"] = temperature;
  }
  for (const name of ["top_p", "top_k", "stream"] as const) {
    const value = given(body, name);
    if (value !== undefined) params[name] = value;
  }
  const stop = given(body, "stop_sequences");
  if (stop !== undefined) {
    if (!Array.isArray(stop) || !(stop as readonly Json[]).every((one) => typeof one === "string"))
      left.push(invalidPart(invalid("stop_sequences", "an array of strings", stop)));
    else if (stop.length > MAX_STOPS)
      throw bad("stop_sequences", `may have at most ${MAX_STOPS} items; got ${stop.length}.`);
    params["stop"] = stop;
  }
  return params;
}

/** The vendor's default is that of every provider; to stay at the standard tier is what a provider without tiers does. */
function tierOf(body: JsonObject, advisory: CommonParameter[], left: Untranslated[]): JsonObject {
  const tier = given(body, "service_tier");
  if (tier === undefined || tier === "auto") return {};
  if (tier !== "standard_only") {
    left.push(asked("service_tier", "this tier"));
    return {};
  }
  advisory.push("service_tier");
  return { service_tier: "default" };
}

/** Some providers bound the identifier of a user at this length. */
const MAX_USER = 64;

/** A longer identifier, such as the JSON that some clients send, becomes its SHA-256. */
function userOf(body: JsonObject, left: Untranslated[]): JsonObject {
  const metadata = given(body, "metadata");
  if (metadata === undefined) return {};
  if (!isObject(metadata)) throw invalid("metadata", "an object", metadata);
  const user = given(metadata, "user_id");
  if (user === undefined) return { metadata };
  if (typeof user !== "string") {
    left.push(invalidPart(invalid("metadata.user_id", "a string", user)));
    return { metadata };
  }
  return {
    metadata,
    user: user.length <= MAX_USER ? user : hash("sha256", user, "hex"),
  };
}

/** Edits of the context only make later turns cheaper, except for one that writes a summary. */
const CHEAPER = /^clear_/;

function leaveOthers(body: JsonObject, left: Untranslated[]): void {
  if (given(body, "cache_control") !== undefined) left.push(advice("cache_control"));
  const management = given(body, "context_management");
  if (management !== undefined) {
    const edits = isObject(management) ? given(management, "edits") : undefined;
    const isAdvice =
      edits === undefined ||
      (Array.isArray(edits) &&
        (edits as readonly Json[]).every(
          (edit) => isObject(edit) && typeof edit["type"] === "string" && CHEAPER.test(edit["type"]),
        ));
    left.push(
      isAdvice
        ? deviating("context_management", "an edit of the context", "default_context_edits")
        : asked("context_management", "an edit that writes a summary"),
    );
  }
  if (given(body, THREAD) !== undefined)
    left.push(refused(THREAD, "a conversation that the vendor keeps", "send the whole conversation without it"));
  for (const name of Object.keys(body))
    if (!TRANSLATED.has(name) && given(body, name) !== undefined)
      left.push(asked(name.slice(0, 64), `the member ${name.slice(0, 64)}`));
}

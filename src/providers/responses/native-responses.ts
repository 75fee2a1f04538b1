// The Responses API for clients that speak it themselves: their own body goes out with another model, and answers and
// streams are read for their figures only. https://platform.openai.com/docs/api-reference/responses
import { toolsOfItems } from "../../core/request/held-body.ts";
import { decodeCount } from "../native/native-count.ts";
import type { NativeForm, NativeOperation } from "../interface/native-operation.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { encryptedItem } from "./reasoning-items.ts";
import type { ResponsesRules } from "./rules.ts";

/**
 * https://platform.openai.com/docs/guides/tools: tools that the client runs. `shell` and `tool_search` say themselves
 * where they run.
 */
const CLIENT_TOOLS = /^(function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview)$/;

export const RESPONSES_FORM: NativeForm = {
  parameters: {
    temperature: ["temperature"],
    top_p: ["top_p"],
    max_tokens: ["max_output_tokens"],
    max_completion_tokens: ["max_output_tokens"],
    reasoning_effort: ["reasoning", "effort"],
    verbosity: ["text", "verbosity"],
    parallel_tool_calls: ["parallel_tool_calls"],
    service_tier: ["service_tier"],
    prompt_cache_key: ["prompt_cache_key"],
    safety_identifier: ["safety_identifier"],
    user: ["user"],
  },
  privileged: ["prompt"],
  privilegedInTools: ["server_url", "connector_id"],
  isClientTool: ({ execution, environment }, type) =>
    CLIENT_TOOLS.test(type) ||
    (type === "tool_search" && execution === "client") ||
    (type === "shell" && isLocal(environment)),
  furtherTools: toolsOfItems,
  vendorIds: [
    "file_id",
    "file_ids",
    "container",
    "container_id",
    "vector_store_ids",
    "previous_response_id",
    // https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics
    "comparison_response_id",
    "conversation",
    "prompt",
  ],
  referenceTypes: ["item_reference"],
  emptyReferenceTypes: { reasoning: ["encrypted_content", "content"], image_generation_call: ["result"] },
  // the answer would have to be fetched from the vendor, with its id there
  ownMembers: ["background", "background_options"],
  reasoningBack: encryptedItem,
  prompt: ({ tools, instructions, input, prompt, conversation, previous_response_id: before }) =>
    prompt == null && conversation == null && before == null ? { tools, system: instructions, turns: input } : null,
  reasoningSeals: { reasoning: "encrypted_content" },
  storeMember: "store",
  reasoningMember: { name: "include", item: "reasoning.encrypted_content" },
};

function isLocal(environment: unknown): boolean {
  return (
    typeof environment === "object" && environment !== null && "type" in environment && environment.type === "local"
  );
}

/** `encodeRequest` is added by the provider, which knows the address. */
export function nativeResponses(failureOf: ResponsesRules["failureOf"]): Omit<NativeOperation, "encodeRequest"> {
  const rules: ResponsesRules = { reasoningFormat: "unread", carriedAs: "unread", failureOf };
  return {
    source: "https://platform.openai.com/docs/api-reference/responses",
    form: RESPONSES_FORM,
    framing: "sse",
    clientHeaders: ["openai-beta"],
    clientQuery: [],
    answerHeaders: ["openai-version", "openai-processing-ms"],
    decodeResponse: (body, _context, value) => decodeResponse(body, rules, value),
    openStream: () => openStream(rules),
  };
}

const { storeMember: _stores, reasoningMember: _includes, ...COUNT_FORM } = RESPONSES_FORM;

/** https://developers.openai.com/api/reference/cli/resources/responses/subresources/input_tokens */
const COUNTED: ReadonlySet<string> = new Set([
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "truncation",
]);

/** Counts of tokens before a call. Nothing is stored, so that the body gets no `store`. */
export function nativeInputTokens(failureOf: ResponsesRules["failureOf"]): Omit<NativeOperation, "encodeRequest"> {
  return {
    ...nativeResponses(failureOf),
    source: "https://developers.openai.com/api/reference/cli/resources/responses/subresources/input_tokens",
    form: COUNT_FORM,
    counted: COUNTED,
    decodeResponse: (body, _context, value) => decodeCount(body, (answer) => failureOf(answer, body), value),
  };
}

// What a client has to get of a scripted answer, whole: the same words from every wire family, and the few fields in which they differ.
import { expect } from "bun:test";
import type { Family } from "./family-gateway.ts";

export const TRACE_ID = /^[0-9a-f]{32}$/;
/** The provider's id of the answer. */
const IDS = { openai: "chatcmpl-scripted", anthropic: "msg_scripted", gemini: "scripted" } as const;
const NATIVE_WORDS = {
  anthropic: { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal", function_call: "tool_use" },
  gemini: { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY", function_call: "STOP" },
} as const;

type Finish = keyof (typeof NATIVE_WORDS)["gemini"];

/** What is the same on a plain answer and on every chunk. */
export function expectedFrame({ wire, model }: Family) {
  return {
    id: IDS[wire],
    created: wire === "openai" ? 1_767_000_000 : (expect.any(Number) as number),
    model,
    route: "direct",
    x_gateway_trace_id: expect.stringMatching(TRACE_ID) as string,
    ...(wire === "openai" && { system_fingerprint: "fp_scripted" }),
  };
}

/** `native` is there where a same-shaped word is not enough: the provider's own. */
export function expectedEnd({ wire }: Family, finish: Finish, native: Finish = finish) {
  return { finish_reason: finish, ...(wire !== "openai" && { native_finish_reason: NATIVE_WORDS[wire][native] }) };
}

export function expectedUsage({ wire }: Family, prompt: number, completion: number, reasoning = 0) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(wire === "gemini" && { prompt_tokens_details: { cached_tokens: 0 } }),
    ...((wire === "gemini" || (wire === "openai" && reasoning > 0)) && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Gemini has no ids of calls: the gateway makes them. */
export function expectedCallId({ wire }: Family, id: string): string {
  return wire === "gemini" ? (expect.stringMatching(/^call_[a-zA-Z0-9_-]{1,59}$/) as string) : id;
}

export function expectedCall(family: Family, id: string, name: string, input: object) {
  return { id: expectedCallId(family, id), type: "function", function: { name, arguments: JSON.stringify(input) } } as const;
}

/** Reasoning as a client that knows more than its text gets it: signed where the provider signs. */
export function expectedDetails({ wire }: Family, text: string) {
  return wire === "anthropic" ? { reasoning_details: [{ type: "reasoning.text", text, signature: "c2lnbmVk", format: "anthropic-claude-v1", index: 0 }] } : {};
}

// The grammar of streams of the Responses API: which members each event has, and in which order events stand.
import { expect } from "bun:test";
import type { SentEvent } from "./responses-calls.ts";

/** The members that Open Responses requires of a response object. */
export const REQUIRED = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "user",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
];

/** The members of each event beside its type and number. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  "response.created": ["response"],
  "response.in_progress": ["response"],
  "response.completed": ["response"],
  "response.incomplete": ["response"],
  "response.failed": ["response"],
  "response.output_item.added": ["item", "output_index"],
  "response.output_item.done": ["item", "output_index"],
  "response.content_part.added": ["content_index", "item_id", "output_index", "part"],
  "response.content_part.done": ["content_index", "item_id", "output_index", "part"],
  "response.output_text.delta": ["content_index", "delta", "item_id", "logprobs", "output_index"],
  "response.output_text.done": ["content_index", "item_id", "logprobs", "output_index", "text"],
  "response.output_text.annotation.added": [
    "annotation",
    "annotation_index",
    "content_index",
    "item_id",
    "output_index",
  ],
  "response.refusal.delta": ["content_index", "delta", "item_id", "output_index"],
  "response.refusal.done": ["content_index", "item_id", "output_index", "refusal"],
  "response.reasoning_summary_part.added": ["item_id", "output_index", "part", "summary_index"],
  "response.reasoning_summary_part.done": ["item_id", "output_index", "part", "summary_index"],
  "response.reasoning_summary_text.delta": ["delta", "item_id", "output_index", "summary_index"],
  "response.reasoning_summary_text.done": ["item_id", "output_index", "summary_index", "text"],
  "response.function_call_arguments.delta": ["delta", "item_id", "output_index"],
  "response.function_call_arguments.done": ["arguments", "item_id", "name", "output_index"],
  "response.custom_tool_call_input.delta": ["delta", "item_id", "output_index"],
  "response.custom_tool_call_input.done": ["input", "item_id", "output_index"],
  error: ["code", "error", "message", "param"],
};

/** Checks the grammar of a stream, and returns its response object. */
export function endOf(events: readonly SentEvent[]): Record<string, any> {
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
  let open: { readonly index: number; readonly id: string } | null = null;
  const done: object[] = [];
  for (const { type, sequence_number: _number, ...members } of events) {
    expect([type, Object.keys(members).toSorted()]).toEqual([type, [...MEMBERS[type]!]]);
    if (members["response"] !== undefined) {
      for (const name of REQUIRED) expect([type, name, name in members["response"]]).toEqual([type, name, true]);
      expect(members["response"].id).toBe(events[0]!["response"].id);
    } else if (type === "response.output_item.added") {
      expect([open, members["output_index"]]).toEqual([null, done.length]);
      open = { index: members["output_index"], id: members["item"].id };
    } else if (type === "response.output_item.done") {
      expect([open!.index, open!.id]).toEqual([members["output_index"], members["item"].id]);
      done.push(members["item"]);
      open = null;
    } else if (type !== "error")
      expect([type, members["output_index"], members["item_id"]]).toEqual([type, open!.index, open!.id]);
  }
  const { type, response } = events.at(-1)!;
  expect(type).toBe(`response.${response.status}`);
  if (response.status !== "failed") expect(response.output).toEqual(done);
  return response as Record<string, any>;
}

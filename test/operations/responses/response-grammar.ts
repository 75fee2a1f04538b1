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

/** What belongs to the open part of an item, by the beginning of the names of its events. */
interface OpenPart {
  readonly kind: "output_text" | "refusal" | "reasoning_summary_text";
  text: string;
  isDone: boolean;
}

/** The events of one item: its parts are announced, and each text is told whole after its pieces. */
class ItemGrammar {
  readonly index: number;
  readonly id: string;
  readonly #type: string;
  #part: OpenPart | null = null;
  #arguments = "";
  #isToldWhole = false;

  constructor({ output_index: index, item }: Record<string, any>) {
    expect(item.status).toBe(item.type === "reasoning" ? item.status : "in_progress");
    if (item.type === "message") expect(item.content).toEqual([]);
    this.index = index;
    this.id = item.id;
    this.#type = item.type;
  }

  read(type: string, members: Record<string, any>): void {
    expect([type, members["output_index"], members["item_id"]]).toEqual([type, this.index, this.id]);
    const [, name, what] = /^response\.(\w+)\.(\w+)$/.exec(type) ?? [];
    switch (`${name === "content_part" || name === "reasoning_summary_part" ? "part" : "text"} ${what}`) {
      case "part added":
        expect([type, this.#part]).toEqual([type, null]);
        this.#part = { kind: kindOf(members["part"].type), text: "", isDone: false };
        return;
      case "part done":
        expect([type, this.#part?.isDone]).toEqual([type, true]);
        expect(members["part"].text ?? members["part"].refusal).toBe(this.#part!.text);
        this.#part = null;
        return;
      case "text delta":
        if (this.#isCall) this.#arguments += members["delta"];
        else {
          expect([type, this.#part?.kind]).toEqual([type, name as OpenPart["kind"]]);
          this.#part!.text += members["delta"];
        }
        return;
      case "text done": {
        const whole = members["text"] ?? members["refusal"] ?? members["arguments"] ?? members["input"];
        expect([type, whole]).toEqual([type, this.#isCall ? this.#arguments : this.#part!.text]);
        if (this.#isCall) this.#isToldWhole = true;
        else this.#part!.isDone = true;
      }
    }
  }

  end({ output_index: index, item }: Record<string, any>): void {
    expect([index, item.id, item.type, this.#part]).toEqual([this.index, this.id, this.#type, null]);
    if (!this.#isCall) return;
    expect([item.type, this.#isToldWhole]).toEqual([item.type, true]);
    expect(item.arguments ?? item.input).toBe(this.#arguments);
  }

  get #isCall(): boolean {
    return this.#type === "function_call" || this.#type === "custom_tool_call";
  }
}

function kindOf(part: string): OpenPart["kind"] {
  return part === "summary_text" ? "reasoning_summary_text" : (part as OpenPart["kind"]);
}

/** Checks the grammar of a stream, and returns its response object. */
export function endOf(events: readonly SentEvent[]): Record<string, any> {
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
  let open: ItemGrammar | null = null;
  const done: object[] = [];
  for (const { type, sequence_number: _number, ...members } of events) {
    expect([type, Object.keys(members).toSorted()]).toEqual([type, [...MEMBERS[type]!]]);
    if (members["response"] !== undefined) {
      for (const name of REQUIRED) expect([type, name, name in members["response"]]).toEqual([type, name, true]);
      expect(members["response"].id).toBe(events[0]!["response"].id);
    } else if (type === "response.output_item.added") {
      expect([open, members["output_index"]]).toEqual([null, done.length]);
      open = new ItemGrammar(members);
    } else if (type === "response.output_item.done") {
      open!.end(members);
      done.push(members["item"]);
      open = null;
    } else if (type !== "error") open!.read(type, members);
  }
  const { type, response } = events.at(-1)!;
  expect(type).toBe(`response.${response.status}`);
  if (response.status !== "failed") expect(response.output).toEqual(done);
  return response as Record<string, any>;
}

// Answers and streams of providers that speak the Messages API themselves: they pass with the client's own word for the
// model, and with what the API requires where a compatible server has left it out.
// https://platform.claude.com/docs/en/api/messages, https://platform.claude.com/docs/en/build-with-claude/streaming
import type { NativeAnswers, NativeEvents } from "../../engine/answer-form.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { isCount } from "../../core/record/token-count.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { editedJson } from "../../wire/json/json-edit.ts";
import { parseEvent } from "../../providers/answers/sent-json.ts";
import { requireKeptItems } from "../../providers/content-blocks/turn-chunks.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { dataLines } from "../written-events.ts";
import { eventText } from "./message-events.ts";

/**
 * `model` is the client's own word for it; null leaves the provider's. `id` is that of a message whose provider gave none, or
 * whose answer another call has had too.
 */
export function nativeMessages(model: string | null, id: string): NativeAnswers {
  return {
    edits: (message, isRepeated) => messageEdits(message, { model, id, isRepeated }),
    stream: (_, isRepeated) => new MessageEvents({ model, id, isRepeated }),
  };
}

interface OwnMembers {
  readonly model: string | null;
  readonly id: string;
  readonly isRepeated: boolean;
}

/** What clients read of every message without looking whether it is there. */
function messageEdits(message: Json, { model, id, isRepeated }: OwnMembers): JsonEdit[] {
  const sent = isObject(message) ? message : {};
  const edits: JsonEdit[] = model === null ? [] : [{ path: ["model"], value: model }];
  const supply = (name: string, value: Json): void => {
    if (sent[name] === undefined) edits.push({ path: [name], value });
  };
  if (isRepeated) edits.push({ path: ["id"], value: id });
  else supply("id", id);
  supply("type", "message");
  supply("role", "assistant");
  supply("content", []);
  supply("stop_reason", null);
  supply("stop_sequence", null);
  const { usage } = sent;
  for (const name of ["input_tokens", "output_tokens"])
    if (!isObject(usage) || !isCount(usage[name])) edits.push({ path: ["usage", name], value: 0 });
  return edits;
}

/** The block that a piece belongs to, as it begins. */
const BLOCKS_OF_DELTAS: ReadonlyMap<unknown, JsonObject & { readonly type: string }> = new Map([
  ["text_delta", { type: "text", text: "" }],
  ["citations_delta", { type: "text", text: "" }],
  ["thinking_delta", { type: "thinking", thinking: "", signature: "" }],
  ["signature_delta", { type: "thinking", thinking: "", signature: "" }],
]);

/** The block that is in progress. */
interface OpenBlock {
  /** Its place among the blocks of the message, by which clients find it. */
  readonly index: number;
  readonly type: string;
  /** What every event of it has that passes without being read; `null` where its number has to be written anew. */
  readonly plain: readonly [index: string, type: string] | null;
  /** The input with which a call began. It comes as a piece where no piece has come. */
  input: Json;
  /** The length of the event that brought the input. */
  readonly inputCharacters: number;
}

class MessageEvents implements NativeEvents {
  readonly #own: OwnMembers;
  #opening = "";
  #hasStarted = false;
  #hasContent = false;
  #block: OpenBlock | null = null;
  /** The event with which the block began, until another event comes: a second one would begin it twice. */
  #begunWith: string | null = null;
  #begun = 0;
  #hasCalls = false;
  /** The event with the stop reason, which waits for the next one: clients add up the figures of several. */
  #last: JsonObject | null = null;
  /** As the provider wrote it; `null` where several have come. */
  #lastData: string | null = null;
  #lastCharacters = 0;
  #hasStopped = false;

  constructor(own: OwnMembers) {
    this.#own = own;
  }

  get opening(): string {
    return this.#opening;
  }
  get hasContent(): boolean {
    return this.#hasContent;
  }

  /** The input of a call is written as a piece by the event that ends its block. */
  repeats(_event: SseEvent, characters: number): boolean {
    return this.#block !== null && this.#block.input !== null && this.#block.inputCharacters >= characters;
  }

  pass(event: SseEvent): string {
    // what comes after the end belongs to no message
    if (this.#hasStopped) return "";
    const { event: name, data } = event;
    // nearly all events of a stream are deltas of a block that has begun
    const plain = this.#block?.plain ?? null;
    if (plain !== null && name === "content_block_delta" && data.includes(plain[0]) && data.includes(plain[1])) {
      this.#begunWith = null;
      return sentText(name, data);
    }
    const value = parseEvent(event);
    const type = isObject(value) && typeof value["type"] === "string" ? value["type"] : name;
    const passed = this.#passed(type, data, isObject(value) ? value : {});
    this.#begunWith = type === "content_block_start" ? data : null;
    return passed;
  }

  end(): string {
    return this.#hasStopped ? "" : this.#ended() + sentText("message_stop", '{"type":"message_stop"}');
  }

  #passed(type: string, data: string, value: JsonObject): string {
    if (type === "message_start") return this.#start(data, value);
    if (!this.#hasStarted) {
      // nothing has begun that could end
      if (type === "message_stop") return "";
      if (type === "ping") {
        // one says as much as the many that a provider may send
        if (this.#opening === "") this.#opening = sentText(type, data);
        return "";
      }
      this.#start('{"type":"message_start","message":{}}', {});
    }
    switch (type) {
      case "content_block_start":
        return data === this.#begunWith ? "" : this.#stopBlock() + this.#startBlock(data, value);
      case "content_block_delta":
        return this.#delta(data, value);
      case "content_block_stop":
        return this.#stopBlock(data, value);
      case "message_delta":
        return this.#stopBlock() + this.#end(data, value);
      case "message_stop":
        this.#hasStopped = true;
        return this.#ended() + sentText(type, data);
      default:
        return sentText(type, data);
    }
  }

  /** Returns nothing, because the event belongs to the opening. A second one would begin a second message. */
  #start(data: string, { message }: JsonObject): "" {
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    const edits = messageEdits(message ?? null, this.#own);
    this.#opening += sentText(
      "message_start",
      editedJson(
        data,
        edits.map(({ path, value }) => ({ path: ["message", ...path], value })),
      ),
    );
    return "";
  }

  #startBlock(data: string, { index, content_block: block }: JsonObject): string {
    const { type, input } = isObject(block) ? block : {};
    const hasInput = type === "tool_use" && isObject(input) && Object.keys(input).length > 0;
    const opened = this.#open(textOrEmpty(type), index, hasInput ? input : null, data.length);
    const edits: JsonEdit[] = numberEdits(opened, index);
    if (hasInput) edits.push({ path: ["content_block", "input"], value: {} });
    return sentText("content_block_start", edited(data, edits));
  }

  #open(type: string, index: Json | undefined, input: Json, characters: number): OpenBlock {
    const own = this.#begun++;
    if (type === "tool_use") this.#hasCalls = true;
    // what is neither text nor reasoning is whole with its beginning, such as the call of a tool
    if (type !== "text" && type !== "thinking") this.#hasContent = true;
    const piece = type === "tool_use" ? "input_json_delta" : `${type}_delta`;
    const plain = index === own && input === null ? ([`"index":${own},`, `"${piece}"`] as const) : null;
    this.#block = { index: own, type, plain, input, inputCharacters: characters };
    return this.#block;
  }

  #delta(data: string, { index, delta }: JsonObject): string {
    const begun = this.#openBlock(isObject(delta) ? delta : {});
    if (this.#block === null) return begun + sentText("content_block_delta", data);
    // what it began with is said again in pieces
    if (isObject(delta) && delta["type"] === "input_json_delta" && delta["partial_json"] !== "")
      this.#block.input = null;
    return begun + sentText("content_block_delta", edited(data, numberEdits(this.#block, index)));
  }

  /** Returns the beginning of a block whose provider has left it out, and the end of the one before it. */
  #openBlock({ type }: JsonObject): string {
    const block = BLOCKS_OF_DELTAS.get(type);
    const isOpen = this.#block !== null && (!OWN_TYPES.has(this.#block.type) || this.#block.type === block?.type);
    if (block === undefined || isOpen) return "";
    const stopped = this.#stopBlock();
    const { index } = this.#open(block.type, null, null, 0);
    return stopped + eventText({ type: "content_block_start", index, content_block: block });
  }

  /** Returns the end of the block, which the provider may have left out. */
  #stopBlock(data?: string, { index }: JsonObject = {}): string {
    const block = this.#block;
    if (block === null) return "";
    this.#block = null;
    const piece = { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    const input =
      block.input === null ? "" : eventText({ type: "content_block_delta", index: block.index, delta: piece });
    const stop =
      data === undefined
        ? eventText({ type: "content_block_stop", index: block.index })
        : sentText("content_block_stop", edited(data, numberEdits(block, index)));
    return input + stop;
  }

  /** Returns nothing, because the event waits for the end of the message. */
  #end(data: string, value: JsonObject): "" {
    this.#lastCharacters += data.length;
    requireKeptItems(this.#lastCharacters);
    const before = this.#last;
    this.#last = before === null ? value : merged(before, value);
    this.#lastData = before === null ? data : null;
    return "";
  }

  /** Returns what comes before the end of a message, whether it has come or not. */
  #ended(): string {
    const stopped = this.#stopBlock();
    if (this.#last === null) {
      const reason = this.#hasCalls ? "tool_use" : "end_turn";
      const delta = { stop_reason: reason, stop_sequence: null };
      return stopped + eventText({ type: "message_delta", delta, usage: { output_tokens: 0 } });
    }
    const { delta, usage } = this.#last;
    const edits: JsonEdit[] = [];
    if (!isObject(delta)) edits.push({ path: ["delta"], value: { stop_reason: null, stop_sequence: null } });
    if (!isObject(usage) || !isCount(usage["output_tokens"]))
      edits.push({ path: ["usage", "output_tokens"], value: 0 });
    return stopped + sentText("message_delta", edited(this.#lastData ?? JSON.stringify(this.#last), edits));
  }
}

/** Blocks that have pieces of a type of their own. */
const OWN_TYPES: ReadonlySet<string> = new Set(["text", "thinking", "tool_use"]);

function numberEdits({ index: own }: OpenBlock, index: Json | undefined): JsonEdit[] {
  return index === own ? [] : [{ path: ["index"], value: own }];
}

function edited(data: string, edits: readonly JsonEdit[]): string {
  return edits.length === 0 ? data : editedJson(data, edits);
}

/** The later of two events replaces what it names of the earlier one. */
function merged(before: JsonObject, after: JsonObject): JsonObject {
  const both = (name: string): JsonObject => {
    const [first, second] = [before[name], after[name]];
    return isObject(first) && isObject(second) ? { [name]: { ...first, ...second } } : {};
  };
  return { ...before, ...after, ...both("delta"), ...both("usage") };
}

/** Returns an event as the provider wrote its data. */
function sentText(name: string, data: string): string {
  return `event: ${name}\ndata: ${dataLines(data)}\n\n`;
}

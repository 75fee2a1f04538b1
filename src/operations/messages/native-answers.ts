// Answers and streams of providers that speak the Messages API themselves: they pass with the client's own word for the
// model, and with what the API requires where a compatible server has left it out.
// https://platform.claude.com/docs/en/api/messages, https://platform.claude.com/docs/en/build-with-claude/streaming
import type { NativeAnswers, NativeEvents } from "../../chat/answer-form.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { editedJson } from "../../wire/json-edit.ts";
import { parseJson } from "../../wire/json.ts";
import type { SseEvent } from "../../wire/sse.ts";

/**
 * `model` is the client's own word for it; null leaves the provider's. `id` is that of a message whose provider gave none.
 */
export function nativeMessages(model: string | null, id: string): NativeAnswers {
  return {
    body: (text) => editedJson(text, messageEdits(parseJson(text), model, id)),
    stream: () => new MessageEvents(model, id),
  };
}

/** What clients read of every message without looking whether it is there. */
function messageEdits(message: Json, model: string | null, id: string): JsonEdit[] {
  const sent = isObject(message) ? message : {};
  const edits: JsonEdit[] = model === null ? [] : [{ path: ["model"], value: model }];
  const supply = (name: string, value: Json): void => {
    if (sent[name] === undefined) edits.push({ path: [name], value });
  };
  supply("id", id);
  supply("type", "message");
  supply("role", "assistant");
  supply("content", []);
  supply("stop_reason", null);
  supply("stop_sequence", null);
  const { usage } = sent;
  for (const name of ["input_tokens", "output_tokens"])
    if (!isObject(usage) || typeof usage[name] !== "number") edits.push({ path: ["usage", name], value: 0 });
  return edits;
}

const DELTA_BLOCKS: Readonly<Record<string, JsonObject>> = {
  text_delta: { type: "text", text: "" },
  thinking_delta: { type: "thinking", thinking: "", signature: "" },
};

class MessageEvents implements NativeEvents {
  readonly #model: string | null;
  readonly #id: string;
  #opening = "";
  #hasStarted = false;
  #hasContent = false;
  /** The index of the block that is in progress; `null` between blocks. */
  #block: Json = null;
  #hasBlock = false;
  #hasCalls = false;
  #hasDelta = false;
  #hasStopped = false;

  constructor(model: string | null, id: string) {
    this.#model = model;
    this.#id = id;
  }

  get opening(): string {
    return this.#opening;
  }
  get hasContent(): boolean {
    return this.#hasContent;
  }

  pass(event: SseEvent): string {
    // nearly all events of a stream are deltas of a block that has begun
    if (this.#hasBlock && event.event === "content_block_delta") return eventText(event.event, event.data);
    const value = parseJson(event.data);
    const type = isObject(value) && typeof value["type"] === "string" ? value["type"] : event.event;
    return this.#passed(type, event.data, isObject(value) ? value : {});
  }

  end(): string {
    return this.#hasStopped ? "" : this.#ended() + eventText("message_stop", '{"type":"message_stop"}');
  }

  #passed(type: string, data: string, value: JsonObject): string {
    if (type === "message_start") return this.#start(data, value);
    if (!this.#hasStarted) {
      if (type === "ping") {
        this.#opening += eventText(type, data);
        return "";
      }
      this.#start('{"type":"message_start","message":{}}', {});
    }
    switch (type) {
      case "content_block_start":
        return this.#stopBlock() + this.#startBlock(data, value);
      case "content_block_delta":
        return this.#openBlock(value) + eventText(type, data);
      case "content_block_stop":
        this.#hasBlock = false;
        return eventText(type, data);
      case "message_delta":
        return this.#stopBlock() + this.#delta(data, value);
      case "message_stop":
        if (this.#hasStopped) return "";
        return this.#ended() + this.#stop(data);
      default:
        return eventText(type, data);
    }
  }

  /** Returns nothing, because the event belongs to the opening. A second one would begin a second message. */
  #start(data: string, { message }: JsonObject): "" {
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    const edits = messageEdits(message ?? null, this.#model, this.#id);
    this.#opening += eventText(
      "message_start",
      editedJson(
        data,
        edits.map(({ path, value }) => ({ path: ["message", ...path], value })),
      ),
    );
    return "";
  }

  #startBlock(data: string, { index, content_block: block }: JsonObject): string {
    this.#block = index ?? null;
    this.#hasBlock = true;
    const type = isObject(block) ? block["type"] : undefined;
    if (type === "tool_use") this.#hasCalls = true;
    // what is neither text nor reasoning is whole with its beginning, such as the call of a tool
    if (type !== "text" && type !== "thinking") this.#hasContent = true;
    return eventText("content_block_start", data);
  }

  /** Returns the beginning of a block whose provider has left it out. */
  #openBlock({ index, delta }: JsonObject): string {
    if (this.#hasBlock) return "";
    const block = isObject(delta) && typeof delta["type"] === "string" ? DELTA_BLOCKS[delta["type"]] : undefined;
    if (block === undefined) return "";
    this.#block = index ?? 0;
    this.#hasBlock = true;
    return written({ type: "content_block_start", index: this.#block, content_block: block });
  }

  /** Returns the end of a block whose provider has left it out. */
  #stopBlock(): string {
    if (!this.#hasBlock) return "";
    this.#hasBlock = false;
    return written({ type: "content_block_stop", index: this.#block });
  }

  #delta(data: string, { delta, usage }: JsonObject): string {
    this.#hasDelta = true;
    const edits: JsonEdit[] = [];
    if (!isObject(delta)) edits.push({ path: ["delta"], value: { stop_reason: null, stop_sequence: null } });
    if (!isObject(usage) || typeof usage["output_tokens"] !== "number")
      edits.push({ path: ["usage", "output_tokens"], value: 0 });
    return eventText("message_delta", editedJson(data, edits));
  }

  /** Returns what has to come before the end of a message and did not come. */
  #ended(): string {
    const stopped = this.#stopBlock();
    if (this.#hasDelta) return stopped;
    this.#hasDelta = true;
    return (
      stopped +
      written({
        type: "message_delta",
        delta: { stop_reason: this.#hasCalls ? "tool_use" : "end_turn", stop_sequence: null },
        usage: { output_tokens: 0 },
      })
    );
  }

  #stop(data: string): string {
    this.#hasStopped = true;
    return eventText("message_stop", data);
  }
}

function written(event: JsonObject & { readonly type: string }): string {
  return eventText(event.type, JSON.stringify(event));
}

/** Returns the text of an event; data of several lines has several fields. */
function eventText(name: string, data: string): string {
  return `event: ${name}\ndata: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}\n\n`;
}

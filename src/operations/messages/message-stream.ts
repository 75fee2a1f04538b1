// The stream of a message, written from strict chunks. Blocks never overlap: where a provider interleaves several calls,
// those behind the first wait until its input is complete.
// https://platform.claude.com/docs/en/build-with-claude/streaming

// Decides (the answer): Which events does a stream of `/messages` have, and in which order? By: `MessageWriter`. Also:
// `message-events.ts`; those of `/responses`: `operations/responses/answer/response-writer.ts`. Rule: Blocks one after the
// other; the arguments of a tool call in as many deltas as the provider sent, and whole where it sends them whole.
import type { StreamWriter } from "../../engine/stream/stream-writer.ts";
import type { ChatChunk, ChunkChoice, ChunkDelta, ReasoningDetail, ToolCallDelta, Usage } from "../../core/chat.ts";
import { type Json, type JsonObject, isText, leastJsonLength } from "../../core/json.ts";
import { MAX_KEPT, requireKeptItems } from "../../providers/content-blocks/turn-chunks.ts";
import {
  type AnswerFacts,
  inputOf,
  messageEnd,
  messageUsage,
  redactedBlock,
  signatureOf,
  toolUse,
} from "./answer-facts.ts";
import { CallInput } from "./call-input.ts";
import { webCitations } from "./citations.ts";
import { blockDelta, blockStart, blockStop, citationDelta, eventText, PING } from "./message-events.ts";

interface Call {
  /** The index of the call among the calls of the answer. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly input: CallInput;
}

/** A block that is written now, or that waits. */
type Block =
  | { readonly kind: "text" | "thinking"; text: string }
  | { readonly kind: "tool_use"; readonly call: Call }
  | { readonly kind: "redacted"; readonly detail: ReasoningDetail }
  | { readonly kind: "signature"; readonly signature: string };

/** What a writer leaves to that of the next round. */
interface Progress {
  /** The number of blocks that have begun. */
  readonly begun: number;
  readonly open: Block | null;
  readonly hasCalls: boolean;
  readonly refusal: string;
  readonly citations: readonly JsonObject[];
}

const NOTHING_YET: Progress = { begun: 0, open: null, hasCalls: false, refusal: "", citations: [] };

export class MessageWriter implements StreamWriter {
  readonly #facts: AnswerFacts;
  #begun: number;
  /** The block whose deltas are written as they come. */
  #open: Block | null;
  #waiting: Block[] = [];
  /** The characters of what was kept for later events. */
  #kept = 0;
  #hasCalls: boolean;
  #hasContent = false;
  #refusal: string;
  /** Citations that came while no text was open. */
  #citations: JsonObject[];
  #stopSequence: Json | undefined;

  constructor(facts: AnswerFacts, { begun, open, hasCalls, refusal, citations }: Progress = NOTHING_YET) {
    this.#facts = facts;
    this.#begun = begun;
    this.#open = open;
    this.#hasCalls = hasCalls;
    this.#refusal = refusal;
    this.#citations = [...citations];
  }

  get hasContent(): boolean {
    return this.#hasContent;
  }

  get repeatsEvents(): boolean {
    return this.#waiting.length === 0;
  }

  get kept(): number {
    return this.#kept;
  }

  get place(): number {
    return this.#begun * 2 + (this.#open === null ? 0 : 1);
  }

  write(chunk: ChatChunk): string {
    let out = "";
    for (const choice of choicesIn(chunk)) {
      if (choice["stop_sequence"] !== undefined) this.#stopSequence = choice["stop_sequence"];
      if (choice.delta !== undefined) out += this.#delta(choice.delta);
    }
    if (out !== "") this.#hasContent = true;
    return out;
  }

  activity(): string {
    this.#hasContent = true;
    return PING;
  }

  end(chunk: ChatChunk, total: Usage): string {
    let out = this.write(chunk);
    out += this.#flush(true) + this.#close();
    const last = choicesIn(chunk).at(-1);
    const ending = messageEnd({
      finishReason: last?.finish_reason,
      native: last?.native_finish_reason,
      stopSequence: this.#stopSequence,
      refusal: this.#refusal,
      hasCalls: this.#hasCalls,
    });
    out += eventText({ type: "message_delta", delta: ending, usage: messageUsage(total) });
    return out + eventText({ type: "message_stop" });
  }

  continued(): MessageWriter {
    return new MessageWriter(this.#facts, {
      begun: this.#begun,
      open: this.#open,
      hasCalls: this.#hasCalls,
      refusal: this.#refusal,
      citations: this.#citations,
    });
  }

  #delta(delta: ChunkDelta): string {
    const { content, reasoning_content: reasoning, reasoning_details: details, refusal, tool_calls: calls } = delta;
    if (isText(content)) return this.#piece("text", content);
    if (isText(reasoning)) return this.#piece("thinking", reasoning);
    if (isText(refusal)) {
      this.#keep(refusal.length);
      this.#refusal += refusal;
      this.#hasContent = true;
      return "";
    }
    let out = this.#cited(webCitations(delta["annotations"]));
    if (Array.isArray(calls)) for (const call of calls as readonly ToolCallDelta[]) out += this.#call(call);
    if (Array.isArray(details)) for (const one of details as readonly ReasoningDetail[]) out += this.#detail(one);
    return out;
  }

  #piece(kind: "text" | "thinking", piece: string): string {
    if (this.#mustWait()) return this.#wait(kind, piece);
    let out = "";
    if (this.#open?.kind !== kind) out = this.#begin({ kind, text: "" });
    return out + blockDelta(this.#begun - 1, kind, piece) + this.#cited([]);
  }

  #cited(citations: readonly JsonObject[]): string {
    if (citations.length > 0) this.#keep(leastJsonLength(citations, MAX_KEPT));
    this.#citations.push(...citations);
    if (this.#open?.kind !== "text" || this.#citations.length === 0) return "";
    const out = this.#citations.map((citation) => citationDelta(this.#begun - 1, citation)).join("");
    this.#citations = [];
    return out;
  }

  /** The text of a detail has come before it in pieces, unless the provider sends it nowhere else. */
  #detail(detail: ReasoningDetail): string {
    const signature = signatureOf(detail);
    if (signature === "" && redactedBlock(detail) === null) return "";
    if (this.#mustWait()) this.#keep(leastJsonLength(detail, MAX_KEPT));
    if (signature === "") return this.#now({ kind: "redacted", detail });
    const isThinking = (this.#mustWait() ? this.#waiting.at(-1) : this.#open)?.kind === "thinking";
    const text = isThinking ? "" : this.#now({ kind: "thinking", text: detail.text ?? "" });
    return text + this.#now({ kind: "signature", signature });
  }

  #call(delta: ToolCallDelta): string {
    const { index = 0, id, function: called } = delta;
    const text = called?.arguments ?? "";
    this.#keep(text.length);
    if (typeof called?.name === "string") {
      this.#hasCalls = true;
      return this.#now({
        kind: "tool_use",
        call: { index, id: id ?? "", name: called.name, input: new CallInput(text) },
      });
    }
    if (text === "") return "";
    if (this.#open?.kind === "tool_use" && this.#open.call.index === index) {
      this.#open.call.input.add(text);
      const out = this.#input(this.#open.call);
      return this.#waiting.length > 0 ? out + this.#flush(false) : out;
    }
    const waiting = this.#waiting.find((block) => block.kind === "tool_use" && block.call.index === index);
    // the input of a call that has ended was complete: what follows it can only be white space
    if (waiting?.kind !== "tool_use") return "";
    waiting.call.input.add(text);
    return "";
  }

  /** Whether the call that is written now needs more input before another block may begin. */
  #mustWait(): boolean {
    return this.#waiting.length > 0 || (this.#open?.kind === "tool_use" && !this.#open.call.input.isComplete);
  }

  #wait(kind: "text" | "thinking", piece: string): string {
    this.#keep(piece.length);
    const last = this.#waiting.at(-1);
    if (last?.kind === kind) last.text += piece;
    else this.#waiting.push({ kind, text: piece });
    return "";
  }

  /** Throws MalformedAnswer for more than a stream may hold. */
  #keep(characters: number): void {
    this.#kept += characters;
    requireKeptItems(this.#kept);
  }

  /** Writes a block that has come whole, or the beginning of a call, unless it has to wait. */
  #now(block: Block): string {
    if (!this.#mustWait()) return this.#whole(block);
    this.#waiting.push(block);
    return "";
  }

  #whole(block: Block): string {
    switch (block.kind) {
      case "signature": {
        const out = blockDelta(this.#begun - 1, "signature", block.signature);
        return out + this.#close(true);
      }
      case "redacted":
        return this.#begin(block) + this.#close();
      case "tool_use":
        return this.#begin(block) + this.#input(block.call);
      default: {
        const { text } = block;
        const begun = this.#begin(block) + (text === "" ? "" : blockDelta(this.#begun - 1, block.kind, text));
        return begun + this.#cited([]);
      }
    }
  }

  /** Returns the delta for what has come of an input, as far as it is an object. */
  #input({ input }: Call): string {
    const text = input.takeUnwritten();
    return text === "" ? "" : blockDelta(this.#begun - 1, "tool_use", text);
  }

  #begin(block: Exclude<Block, { readonly kind: "signature" }>): string {
    const out = this.#close();
    this.#open = block;
    return out + blockStart(this.#begun++, this.#startOf(block));
  }

  #startOf(block: Exclude<Block, { readonly kind: "signature" }>) {
    switch (block.kind) {
      case "text":
        return { type: "text", text: "" };
      case "thinking":
        return { type: "thinking", thinking: "", signature: "" };
      case "redacted":
        return redactedBlock(block.detail)!;
      default:
        return toolUse(block.call.id, block.call.name, {}, this.#facts);
    }
  }

  /** Every block of reasoning has one signature: an empty one where its provider does not sign. */
  #close(isSigned = false): string {
    const block = this.#open;
    if (block === null) return "";
    this.#open = null;
    return this.#rest(block, isSigned) + blockStop(this.#begun - 1);
  }

  #rest(block: Block, isSigned: boolean): string {
    if (block.kind === "thinking") return isSigned ? "" : blockDelta(this.#begun - 1, "signature", "");
    return block.kind === "tool_use" && !block.call.input.isWritten
      ? blockDelta(this.#begun - 1, "tool_use", JSON.stringify(inputOf(block.call.input.text)))
      : "";
  }

  /** Writes what waits, up to a call whose input is not complete; all of it at the end. */
  #flush(isEnd: boolean): string {
    let out = "";
    while (this.#waiting.length > 0) {
      if (!isEnd && this.#open?.kind === "tool_use" && !this.#open.call.input.isComplete) break;
      out += this.#whole(this.#waiting.shift()!);
    }
    return out;
  }
}

/** A message has one answer: further choices of a provider have no place in it. */
function choicesIn({ choices }: ChatChunk): readonly ChunkChoice[] {
  return choices.filter(({ index }) => (index ?? 0) === 0);
}

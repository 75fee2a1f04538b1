// Makes the items of a response from the pieces of a chat completion, streamed or not. Items follow one another: while a
// call is not complete, what comes beside it waits, so that no event belongs to an item that is not open. Their state is
// not that of items which are read from a stream: pieces come once and in order, and nothing has to be matched.
import { isCarrier } from "../../../engine/carriers/reasoning-carrier.ts";
import { JsonProgress } from "../../../engine/stream/json-progress.ts";
import { BETWEEN_ROUNDS } from "../../../engine/tools/multi-round-answer.ts";
import { newRandomId } from "../../../core/ids.ts";
import { isObject, type Json, type JsonObject, leastJsonLength } from "../../../core/json.ts";
import { MAX_KEPT, requireFewPlaces, requireKeptItems } from "../../../providers/content-blocks/turn-chunks.ts";
import { MalformedAnswer } from "../../../providers/interface/upstream-failure.ts";
import {
  type CalledTool,
  type CallItem,
  ID_PREFIXES,
  isWhole,
  itemJson,
  type MessageItem,
  type OpenItem,
  type ReasoningItem,
  type ServedItem,
  type TextPart,
} from "./item-parts.ts";
import type { ItemEvents } from "./item-events.ts";
import type { HiddenCarrier } from "../keeping/hidden-carriers.ts";
import { type RequestMemo, TOGETHER } from "../request-memo.ts";

export class AnswerItems {
  readonly #memo: RequestMemo;
  /** `null` when the answer is not streamed. */
  readonly #events: ItemEvents | null;
  /** Items that are complete. */
  readonly #done: JsonObject[];
  /** The first is the one whose events are being written; the others wait. */
  readonly #open: OpenItem[];
  /** Calls that are complete, and calls that may not be made, by their index in the chat completion. */
  readonly #closedCalls: Set<number>;
  readonly #refusedCalls: Set<number>;
  /** What the client did not ask for of the carriers. */
  readonly hidden: HiddenCarrier[];
  /** Citations that came before their text. */
  #citations: JsonObject[] = [];
  /** The length of the content of the chat completion. */
  #length = 0;
  #hasReasoning = false;
  /** Whether the next piece of each begins with what separates it from that of the rounds before. */
  readonly #separates: Record<"text" | "reasoning", boolean>;
  #place = 0;
  /** The round of the last call that the gateway ran. */
  #servedIn: number | null = null;
  #doneCharacters = 0;
  /** The characters that have come of a stream, all of which are kept for its last events. */
  #kept = 0;
  /** The items, their parts and the hidden carriers that have begun. */
  #begun = 0;
  /** The tools of tool servers, by the names of their functions. */
  #offered: ReadonlyMap<string, CalledTool>;

  constructor(memo: RequestMemo, events: ItemEvents | null, before: AnswerItems | null = null) {
    this.#memo = memo;
    this.#events = events;
    this.#done = before === null ? [] : before.#done.slice();
    this.#open = before === null ? [] : before.#open.map(copied);
    // each round numbers its calls from the first
    this.#closedCalls = new Set();
    this.hidden = before === null ? [] : before.hidden.slice();
    this.#refusedCalls = new Set();
    this.#offered = before === null ? new Map() : before.#offered;
    // only the texts of a stream come as the client of chat completions gets them
    const joins = before !== null && events !== null;
    this.#separates = { text: joins && before.#length > 0, reasoning: joins && before.#hasReasoning };
    if (before === null) return;
    this.#servedIn = before.#servedIn;
    this.#citations = before.#citations.slice();
    this.#length = before.#length;
    this.#doneCharacters = before.#doneCharacters;
    this.#kept = before.#kept;
    this.#begun = before.#begun;
    this.#hasReasoning = before.#hasReasoning;
    const [current] = this.#open;
    if (current !== undefined) events?.continueAt(current, this.#done.length);
  }

  /** Whether a piece of text like the last one adds nothing but its text to the one item that is open. */
  get isGrowing(): boolean {
    const [item] = this.#open;
    if (this.#open.length !== 1 || item === undefined || this.#citations.length > 0) return false;
    return item.kind === "message" ? item.parts.length > 0 : item.kind === "reasoning" && item.carrier === null;
  }

  /** Adds text to the one item that is open, where it is growing. Its delta was written. Throws as other pieces do. */
  grow(piece: string): void {
    this.#keep(piece.length);
    const item = this.#open[0];
    if (item?.kind === "message") {
      const part = item.parts.at(-1)!;
      part.text += piece;
      if (part.type === "output_text") this.#length += piece.length;
    } else if (item?.kind === "reasoning") item.text += piece;
  }

  /** Changes with the part that is open. */
  get place(): number {
    return this.#place;
  }

  /** The characters of all items, which their last events repeat. */
  get characters(): number {
    return this.#open.reduce((sum, item) => sum + charactersIn(item), this.#doneCharacters);
  }

  /** The characters of all that is kept. */
  get kept(): number {
    return this.#kept;
  }

  /** The items so far. */
  get shown(): readonly JsonObject[] {
    return [...this.#done, ...this.#open.map((item) => itemJson(item, "incomplete"))];
  }

  /** Throws MalformedAnswer for more than a stream may hold. */
  addReasoning(piece: string): void {
    this.#keep(piece.length);
    this.#hasReasoning = true;
    const last = this.#open.at(-1);
    const own = last?.kind === "reasoning" && !this.#isSealed(last) ? last : null;
    const text = this.#separated("reasoning", piece, own !== null);
    if (own === null) return this.#begin({ kind: "reasoning", id: `rs_${newRandomId()}`, text, carrier: null });
    own.text += text;
    if (this.#isCurrent(own)) this.#events?.delta(text);
  }

  /** Adds what the provider needs back of the reasoning before it, or of what follows. */
  addCarrier(carrier: string): void {
    this.#keep(carrier.length);
    const { showsCarriers, kept } = this.#memo;
    const last = this.#open.at(-1);
    const own = last?.kind === "reasoning" && !this.#isSealed(last) ? last : null;
    if (!showsCarriers) {
      if (kept === null) return;
      this.#begins();
      this.hidden.push({ at: this.#done.length + this.#open.length, item: own?.id ?? null, carrier });
    } else if (own !== null) own.carrier = carrier;
    else this.#begin({ kind: "reasoning", id: `rs_${newRandomId()}`, text: "", carrier });
  }

  /** Throws MalformedAnswer for more than a stream may hold. */
  addText(type: TextPart["type"], piece: string, logprobs: readonly Json[]): void {
    this.#keep(piece.length + (logprobs.length === 0 ? 0 : leastJsonLength(logprobs, MAX_KEPT)));
    const last = this.#open.at(-1);
    const text = type === "output_text" ? this.#counted(piece, last?.kind === "message") : piece;
    const part: TextPart = {
      type,
      text,
      annotations: [],
      logprobs: logprobs.slice(),
      start: this.#length - (type === "output_text" ? text.length : 0),
    };
    if (type === "output_text") part.annotations.push(...this.#citations.splice(0).map((one) => placed(one, part)));
    if (last?.kind !== "message") return this.#begin({ kind: "message", id: `msg_${newRandomId()}`, parts: [part] });
    const current = last.parts.at(-1)!;
    if (current.type === type) {
      current.text += text;
      for (const entry of logprobs) current.logprobs.push(entry);
    } else {
      this.#begins();
      last.parts.push(part);
      this.#place += 1;
      if (this.#isCurrent(last)) this.#events?.openPart(last, this.#done.length);
    }
    if (this.#isCurrent(last) && text !== "") this.#events?.delta(text, logprobs);
  }

  /** What does not come as a stream is bounded where it is read. */
  #keep(characters: number): void {
    this.#kept += characters;
    if (this.#events !== null) requireKeptItems(this.#kept);
  }

  /** Counts what takes memory although it may have no text. */
  #begins(): void {
    this.#begun += 1;
    if (this.#events !== null) requireFewPlaces(this.#begun);
  }

  #counted(piece: string, continues: boolean): string {
    this.#length += piece.length;
    return this.#separated("text", piece, continues);
  }

  /** Returns a piece without what separates it from that of the rounds before, where it begins an item. */
  #separated(of: "text" | "reasoning", piece: string, continues: boolean): string {
    const separates = this.#separates[of] && piece.startsWith(BETWEEN_ROUNDS);
    if (piece !== "") this.#separates[of] = false;
    return separates && !continues ? piece.slice(BETWEEN_ROUNDS.length) : piece;
  }

  /** Throws MalformedAnswer for more than a stream may hold. */
  addCitations(citations: readonly JsonObject[]): void {
    this.#keep(leastJsonLength(citations, MAX_KEPT));
    const last = this.#open.at(-1);
    const part = last?.kind === "message" ? last.parts.at(-1)! : null;
    if (part?.type !== "output_text") return void this.#citations.push(...citations);
    for (const citation of citations) {
      part.annotations.push(placed(citation, part));
      if (this.#isCurrent(last!))
        this.#events?.annotated(last as MessageItem, this.#done.length, part.annotations.length - 1);
    }
  }

  beginCall(index: number, callId: string, name: string): void {
    if (this.#memo.allowed !== null && !this.#memo.allowed.has(name)) return void this.#refusedCalls.add(index);
    const tool = this.#toolOf(name);
    const id = tool.kind === "approval" ? callId : `${ID_PREFIXES[tool.kind]}${newRandomId()}`;
    this.#begin({ kind: "call", id, index, callId, tool, text: "", progress: new JsonProgress(), isValid: null });
  }

  /** Sets what the tools of tool servers are called, before any call is added. */
  offers(tools: ReadonlyMap<string, CalledTool>): void {
    this.#offered = tools;
  }

  /** Adds the tools that a server has listed. */
  addList(server: string, tools: readonly JsonObject[], error: string | null): void {
    this.#begin({ kind: "list", id: `mcpl_${newRandomId()}`, server, tools, error });
  }

  /** Adds a call that the gateway has begun to run. A call that the client has approved was an item of its own before. */
  beginServed(called: Pick<ServedItem, "callId" | "server" | "name" | "text">, round: number): void {
    const { callId } = called;
    const isApproved = round === 0;
    const isTogether = this.#servedIn === round;
    this.#servedIn = round;
    const id = isApproved ? `mcp_${newRandomId()}` : isTogether ? callId + TOGETHER : callId;
    this.#begin({ kind: "served", id, ...called, approvedAs: isApproved ? callId : null, result: null });
  }

  endServed(callId: string, text: string, isError: boolean): void {
    const item = this.#open.find((one) => one.kind === "served" && one.callId === callId) as ServedItem | undefined;
    if (item === undefined) return;
    item.result = { text, isError };
    if (this.#isCurrent(item)) this.#closeFirst(false);
    this.#advance();
  }

  /** Throws MalformedAnswer for a piece of a call that was complete, and for more than a stream may hold. */
  addArguments(index: number, piece: string): void {
    if (piece === "" || this.#refusedCalls.has(index)) return;
    this.#keep(piece.length);
    const call = this.#open.find((item) => item.kind === "call" && item.index === index) as CallItem | undefined;
    if (call === undefined) {
      if (this.#closedCalls.has(index) && piece.trim() === "") return;
      throw new MalformedAnswer("The provider's stream has arguments of a tool call that was complete.");
    }
    call.text += piece;
    // what is not written as events has come whole
    if (this.#events !== null) call.progress.add(piece);
    if (!this.#isCurrent(call)) return;
    if (call.tool.kind === "function") this.#events?.delta(piece);
    if (this.#open.length > 1) this.#advance();
  }

  /** Closes what is open, and returns all items. The last one is incomplete where the answer is. */
  end(isIncomplete: boolean): readonly JsonObject[] {
    while (this.#open.length > 0) this.#closeFirst(isIncomplete && this.#open.length === 1);
    const last = this.#done.at(-1);
    if (isIncomplete && last?.["status"] === "completed" && last["type"] !== "mcp_call")
      this.#done[this.#done.length - 1] = { ...last, status: "incomplete" };
    return this.#done;
  }

  #begin(item: OpenItem): void {
    this.#begins();
    this.#open.push(item);
    this.#place += 1;
    if (this.#open.length === 1) this.#events?.open(item, this.#done.length);
    else this.#advance();
  }

  #isSealed({ id, carrier }: ReasoningItem): boolean {
    return carrier !== null || this.hidden.some(({ item }) => item === id);
  }

  #isCurrent(item: OpenItem): boolean {
    return this.#open[0] === item;
  }

  /** Closes items from the first on, as long as they are complete and another one waits. */
  #advance(): void {
    while (this.#open.length > 1) {
      const current = this.#open[0]!;
      if (current.kind === "call" && this.#events !== null && !isWhole(current)) return;
      if (current.kind === "served" && current.result === null) return;
      this.#closeFirst(false);
    }
  }

  #closeFirst(isIncomplete: boolean): void {
    const item = this.#open.shift()!;
    this.#place += 1;
    const at = this.#done.length;
    const hasEnded = !isIncomplete || (item.kind === "served" && item.result !== null);
    const status = hasEnded ? "completed" : "incomplete";
    if (item.kind === "call") {
      this.#closedCalls.add(item.index);
      if (item.text === "" && !isIncomplete) {
        item.text = "{}";
        if (item.tool.kind === "function") this.#events?.delta(item.text);
      }
    }
    this.#events?.close(item, at, status);
    this.#done.push(itemJson(item, status));
    this.#doneCharacters += charactersIn(item);
    const [next] = this.#open;
    if (next !== undefined) this.#events?.open(next, this.#done.length);
  }

  #toolOf(name: string): CalledTool {
    return this.#memo.tools.get(name) ?? this.#offered.get(name) ?? { kind: "function", name, namespace: null };
  }
}

function charactersIn(item: OpenItem): number {
  if (item.kind === "message") return item.parts.reduce((sum, { text }) => sum + text.length, 0);
  return item.kind === "list" ? 0 : item.text.length;
}

/** A citation with its places in the text of its part. */
function placed(citation: JsonObject, { start }: TextPart): JsonObject {
  const { start_index: from, end_index: to } = citation;
  if (start === 0 || typeof from !== "number" || typeof to !== "number") return citation;
  return { ...citation, start_index: Math.max(0, from - start), end_index: Math.max(0, to - start) };
}

function copied(item: OpenItem): OpenItem {
  if (item.kind === "call") return { ...item, progress: new JsonProgress(item.progress) };
  if (item.kind !== "message") return { ...item };
  return {
    ...item,
    parts: item.parts.map((part) => ({
      ...part,
      annotations: part.annotations.slice(),
      logprobs: part.logprobs.slice(),
    })),
  };
}

/** Returns the carriers among the blocks of reasoning that the engine has sealed. */
export function carriersIn(details: Json | undefined): readonly string[] {
  if (!Array.isArray(details)) return [];
  return (details as readonly Json[]).flatMap((detail) => {
    const { signature, data } = isObject(detail) ? detail : {};
    return isCarrier(signature) ? [signature] : isCarrier(data) ? [data] : [];
  });
}

/** Returns citations as Responses has them: without the object around their members. */
export function flatCitations(annotations: Json | undefined): readonly JsonObject[] {
  if (!Array.isArray(annotations)) return [];
  return (annotations as readonly Json[]).flatMap((annotation) => {
    if (!isObject(annotation)) return [];
    const { type, url_citation: citation, ...others } = annotation;
    return type === "url_citation" && isObject(citation)
      ? [{ type, ...citation }]
      : [{ type: type ?? null, ...others }];
  });
}

/** Returns log probabilities as Responses has them. */
export function flatLogprobs(logprobs: Json | undefined): readonly JsonObject[] {
  const entries = isObject(logprobs) ? logprobs["content"] : null;
  if (!Array.isArray(entries)) return [];
  const token = ({ token: text, logprob, bytes }: JsonObject): JsonObject => ({
    token: text ?? "",
    bytes: bytes ?? [],
    logprob: logprob ?? 0,
  });
  return (entries as readonly JsonObject[]).map((entry) => ({
    ...token(entry),
    top_logprobs: ((entry["top_logprobs"] as readonly JsonObject[] | undefined) ?? []).map(token),
  }));
}

// Joins the rounds of one answer as its client sees them, streamed or not: each round adds to the same texts, and
// numbering continues where the previous round ended. Each round is also kept by itself, as the assistant message that
// goes back to the model.
import type { FinishReason, Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { TextMember } from "../../core/delta-members.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { TurnOrder, withOrder } from "../../core/request/turn-order.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { movedCitations } from "../answer/strict-fields.ts";
import { joinedExtra } from "../carriers/joined-extra.ts";
import { ANY_TEXT } from "../stream/tool-call-deltas.ts";
import type { StreamWriter } from "../stream/stream-writer.ts";

/** Separates the texts of two rounds in the joined text that the client gets. */
export const BETWEEN_ROUNDS = "\n\n";

/** A tool call of the round, while its pieces arrive. */
export interface AccumulatedCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
  extra: Json | undefined;
  /** Calls that are not shown to the client run in the gateway. */
  readonly isShown: boolean;
  /** Whether it calls a tool that takes any text, which stands in `arguments`. */
  readonly takesText: boolean;
}

/** Where in the answer the next round begins. */
interface AnswerPosition {
  readonly lengths: Readonly<Record<TextMember, number>>;
  /** The first index that no reasoning block of the answer has yet. */
  readonly nextDetail: number;
  readonly callIds: ReadonlySet<string>;
}

/** Which tool calls the client sees. */
interface ShownCalls {
  /** Tells whether calls of this function go to the client. */
  readonly isShown: (name: string) => boolean;
  /** The client used the deprecated form of functions, which has room for only one call in an answer. */
  readonly onlyOne: boolean;
}

export class MultiRoundAnswer {
  /** The writer of the last round, if rounds are streamed; `null` before the first round has ended. */
  writer: StreamWriter | null = null;
  readonly #shown: ShownCalls;
  #position: AnswerPosition = {
    lengths: { content: 0, reasoning_content: 0, refusal: 0 },
    nextDetail: 0,
    callIds: new Set(),
  };
  #rounds = 0;

  constructor(isShown: ShownCalls["isShown"], onlyOne: boolean) {
    this.#shown = { isShown, onlyOne };
  }

  /** Begins one attempt at the next round. */
  begin(): RoundAccumulator {
    return new RoundAccumulator(this.#position, this.#shown, this.#rounds + 1, this.writer);
  }

  /** Continues the answer after the attempt that succeeded. */
  continueAfter(round: RoundAccumulator): void {
    this.#position = round.end;
    this.#rounds += 1;
  }
}

/** The most tool calls of one round; the limit is that of any stream. */
const MAX_CALLS = 1024;
/** The characters of a round that are kept, so that an endless answer of a provider cannot fill the memory. */
const MAX_TURN = 16 * 1024 * 1024;

/** Collects what one round adds, piece by piece. */
export class RoundAccumulator {
  /** The writer whose events the round continues, if rounds are streamed; `null` in the first round. */
  readonly writerBefore: StreamWriter | null;
  /** The first round has number 1. */
  readonly round: number;
  readonly calls: AccumulatedCall[] = [];
  /** The ids of all tool calls of this answer. */
  readonly callIds: Set<string>;
  readonly #before: AnswerPosition;
  readonly #shown: ShownCalls;
  readonly #texts: Record<TextMember, string> = { content: "", reasoning_content: "", refusal: "" };
  /** The lengths of the round's texts, including the parts that are not kept. */
  readonly #lengths: Record<TextMember, number> = { content: 0, reasoning_content: 0, refusal: 0 };
  #kept = 0;
  readonly #details: ReasoningDetail[] = [];
  #extra: JsonObject = {};
  #nextDetail: number;
  readonly #order = new TurnOrder();

  constructor(before: AnswerPosition, shown: ShownCalls, round: number, writerBefore: StreamWriter | null) {
    this.#before = before;
    this.#shown = shown;
    this.round = round;
    this.writerBefore = writerBefore;
    this.callIds = new Set(before.callIds);
    this.#nextDetail = before.nextDetail;
  }

  /** The number of characters of the round. */
  get kept(): number {
    return this.#kept;
  }

  /** True from the second round on. */
  get continues(): boolean {
    return this.round > 1;
  }
  /** Whether the round has calls that run in the gateway. */
  get hasHidden(): boolean {
    return this.calls.some(({ isShown }) => !isShown);
  }

  /** Adds a piece of a text, and returns it as the client sees it. */
  text(name: TextMember, piece: string): string {
    const begins = this.#lengths[name] === 0 && this.#before.lengths[name] > 0 && piece !== "";
    this.#lengths[name] += piece.length;
    if (this.#keeps(piece.length)) this.#texts[name] += piece;
    this.#noteOrder();
    return begins ? BETWEEN_ROUNDS + piece : piece;
  }

  /** Adds reasoning blocks, and returns them as the client sees them. Clients join blocks with the same index. */
  details(details: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
    const first = this.#before.nextDetail;
    for (const detail of details) this.#keepDetail(detail);
    this.#noteOrder();
    return details.map((detail) => {
      if (typeof detail.index !== "number") return detail;
      this.#nextDetail = Math.max(this.#nextDetail, first + detail.index + 1);
      return first === 0 ? detail : { ...detail, index: first + detail.index };
    });
  }

  #noteOrder(): void {
    const { content, reasoning_content: reasoning } = this.#texts;
    this.#order.note({
      text: content.length,
      reasoning: reasoning.length,
      details: this.#details.length,
      calls: this.calls.length,
    });
  }

  /** Counts characters of the round, and tells whether they may be kept. */
  #keeps(characters: number): boolean {
    this.#kept += characters;
    return this.#kept <= MAX_TURN;
  }

  /** Joins the pieces of one block, so that the turn has it as one. */
  #keepDetail(detail: ReasoningDetail): void {
    if (!this.#keeps(JSON.stringify(detail).length)) return;
    const last = this.#details.at(-1);
    if (
      last === undefined ||
      last.type !== detail.type ||
      last.index !== detail.index ||
      last.signature ||
      detail.index === undefined ||
      detail.type === "reasoning.encrypted"
    ) {
      this.#details.push(detail);
      return;
    }
    const joined: Record<string, Json | undefined> = { ...last, ...detail };
    for (const name of ["text", "summary"] as const)
      if (last[name] !== undefined || detail[name] !== undefined)
        joined[name] = (last[name] ?? "") + (detail[name] ?? "");
    this.#details[this.#details.length - 1] = joined as unknown as ReasoningDetail;
  }

  /** Keeps the members that vendors add to the message for their own use. */
  addExtraContent(extra: Json | undefined): void {
    if (!isObject(extra) || !this.#keeps(JSON.stringify(extra).length)) return;
    this.#extra = joinedExtra(this.#extra, extra);
  }

  /** Shifts citations, whose positions count the characters of the whole text. */
  annotations(annotations: readonly Json[]): readonly Json[] {
    const before = this.#before.lengths.content;
    if (before === 0) return annotations;
    const shift = before + BETWEEN_ROUNDS.length;
    return movedCitations(annotations, (position) => position + shift);
  }

  /** Returns an id that no other call of the answer has, for one that no other call of the round has. */
  callId(id: string): string {
    let unique = id;
    for (let number = this.round; this.callIds.has(unique); number++) unique = `${id}_${number}`;
    this.callIds.add(unique);
    return unique;
  }

  /**
   * Adds a function call; `id` must come from `callId`. Returns null if the client has no room for the call. Throws
   * `upstream_invalid_response` for too many calls.
   */
  addCall(id: string, name: string, text: string, extra: Json | undefined, takesText = false): AccumulatedCall | null {
    const isShown = takesText || this.#shown.isShown(name);
    if (isShown && this.#shown.onlyOne && this.calls.some((call) => call.isShown)) return null;
    if (this.calls.length >= MAX_CALLS)
      throw new GatewayError(
        "upstream_invalid_response",
        `The provider's answer has more than ${MAX_CALLS} tool calls.`,
      );
    // not judged here: `turn` refuses a round that is too long
    this.#kept += text.length;
    const call: AccumulatedCall = { id, name, arguments: text, extra, isShown, takesText };
    this.calls.push(call);
    this.#noteOrder();
    return call;
  }

  /** Throws MalformedAnswer when the round is too long. */
  addArguments(call: AccumulatedCall, text: string): void {
    if (!this.#keeps(text.length))
      throw new MalformedAnswer(
        "The arguments of tool calls in the provider's answer are longer than the gateway accepts.",
      );
    call.arguments += text;
  }

  /**
   * Returns the round as the assistant message that goes back to the model. Throws `upstream_invalid_response` if it has
   * calls that the gateway runs and is too long.
   */
  turn(finish: FinishReason | null): Message {
    if (this.#kept > MAX_TURN && this.hasHidden)
      throw new GatewayError(
        "upstream_invalid_response",
        "The provider's answer has too much text beside its tool calls to be sent back in the next round.",
      );
    const { content, reasoning_content: reasoning, refusal } = this.#texts;
    // a call that was cut off before its arguments has none
    const calls = this.calls.map(
      ({ id, name, arguments: text, extra, takesText }) =>
        ({
          id,
          ...(takesText
            ? { type: ANY_TEXT, custom: { name, input: text } }
            : { type: "function", function: { name, arguments: text === "" && finish !== "length" ? "{}" : text } }),
          ...(isObject(extra) && { extra_content: extra }),
        }) as ToolCall,
    );
    const message: Message = {
      role: "assistant",
      content: content === "" && calls.length > 0 ? null : content,
      ...(refusal !== "" && { refusal }),
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(Object.keys(this.#extra).length > 0 && { extra_content: this.#extra }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return withOrder(message, this.#order.pieces);
  }

  /** Where in the answer the round that follows begins. */
  get end(): AnswerPosition {
    const { lengths } = this.#before;
    const after = (name: TextMember): number =>
      lengths[name] + this.#lengths[name] + (lengths[name] > 0 && this.#lengths[name] > 0 ? BETWEEN_ROUNDS.length : 0);
    return {
      lengths: { content: after("content"), reasoning_content: after("reasoning_content"), refusal: after("refusal") },
      nextDetail: this.#nextDetail,
      callIds: this.callIds,
    };
  }
}

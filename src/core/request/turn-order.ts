// The order of the pieces of one turn of the model, where the members of one message cannot express it: text between two
// calls, reasoning behind text. It is known beside the message and is no member of it, so that neither answers of chat
// completions nor requests to providers have it. JSON loses it: who sends turns to another
// thread sends their orders as well (`ordersOf`). A turn that was changed meanwhile has its pieces in the usual order.
import { type Json, type JsonObject, listIn, textOrEmpty } from "../json.ts";

/** How much of each member one piece has: characters of texts, and entries of lists. Content may be either. */
export interface TurnPiece {
  readonly text: number;
  readonly reasoning: number;
  readonly details: number;
  readonly calls: number;
}

const ORDER = Symbol("the order of a turn");

/** Returns the message with the order, unless the usual one says the same: reasoning, text, calls. */
export function withOrder<Message extends object>(message: Message, pieces: readonly TurnPiece[]): Message {
  return isUsual(pieces) ? message : { ...message, [ORDER]: pieces };
}

/** Returns `to` with the order that `from` has. */
export function withOrderOf<Message extends object>(to: Message, from: object): Message {
  const order = orderOf(from);
  return order === null ? to : { ...to, [ORDER]: order };
}

type Order = readonly TurnPiece[] | null;

/** Returns the orders of messages that go elsewhere as JSON; `null` for a message in the usual order. */
export function ordersOf(messages: readonly object[]): readonly Order[] {
  return messages.map(orderOf);
}

/** Returns messages that came as JSON with the orders that `ordersOf` has returned for them. */
export function withOrders<Message extends object>(
  messages: readonly Message[],
  orders: readonly Order[],
): readonly Message[] {
  return messages.map((message, index) => (orders[index] == null ? message : { ...message, [ORDER]: orders[index] }));
}

function orderOf(message: object): Order {
  return (message as { readonly [ORDER]?: readonly TurnPiece[] })[ORDER] ?? null;
}

function isUsual(pieces: readonly TurnPiece[]): boolean {
  let reached = 0;
  for (const { text, calls } of pieces) {
    const place = calls > 0 ? 2 : text > 0 ? 1 : 0;
    if (place < reached) return false;
    reached = place;
  }
  return true;
}

/** Notes what each of the vendor's blocks adds to a turn. */
export class TurnOrder {
  readonly pieces: TurnPiece[] = [];
  #sum: TurnPiece = { text: 0, reasoning: 0, details: 0, calls: 0 };

  /** Called after each block with all that has come. Blocks of the same kind that follow one another are one piece. */
  note(sum: TurnPiece): void {
    const added = combined(sum, this.#sum, -1);
    this.#sum = sum;
    if (kindOf(added) === "nothing") return;
    const last = this.pieces.at(-1);
    if (last !== undefined && kindOf(last) === kindOf(added))
      this.pieces[this.pieces.length - 1] = combined(last, added, 1);
    else this.pieces.push(added);
  }
}

function kindOf({ text, calls, reasoning, details }: TurnPiece): string {
  if (calls > 0) return "calls";
  if (text > 0) return "text";
  return reasoning > 0 || details > 0 ? "reasoning" : "nothing";
}

function combined(one: TurnPiece, other: TurnPiece, sign: 1 | -1): TurnPiece {
  return {
    text: one.text + sign * other.text,
    reasoning: one.reasoning + sign * other.reasoning,
    details: one.details + sign * other.details,
    calls: one.calls + sign * other.calls,
  };
}

/** Returns the message with an order in which each of its details has become so many. */
export function withDetailCounts<Message extends object>(message: Message, counts: readonly number[]): Message {
  const order = orderOf(message);
  if (order === null) return message;
  let at = 0;
  const pieces = order.map((piece) => {
    const own = counts.slice(at, at + piece.details);
    at += piece.details;
    return { ...piece, details: own.reduce((sum, count) => sum + count, 0) };
  });
  return { ...message, [ORDER]: pieces };
}

/**
 * Returns the pieces of a turn whose texts are joined to one content, of which each piece counts the parts. `lengths` are those
 * of the parts.
 */
export function inCharacters(pieces: readonly TurnPiece[], lengths: readonly number[]): readonly TurnPiece[] {
  let at = 0;
  return pieces.map((piece) => {
    const own = lengths.slice(at, at + piece.text);
    at += piece.text;
    return { ...piece, text: own.reduce((sum, length) => sum + length, 0) };
  });
}

/**
 * Returns the message in pieces, in the order of generation; the message itself where it has the usual order, or another
 * content than when it was read. What has no place of its own stands in the last piece.
 */
export function turnPieces<Whole extends JsonObject>(message: Whole): readonly Whole[] {
  const order = orderOf(message);
  const content = contentOf(message["content"]);
  const reasoning = textOrEmpty(message["reasoning_content"]);
  const details = listIn(message["reasoning_details"]);
  const calls = listIn(message["tool_calls"]);
  const known = order === null ? null : orderWithin(order, { text: content.length, reasoning: reasoning.length });
  const whole = known?.reduce((sum, piece) => combined(sum, piece, 1));
  const isSame =
    whole !== undefined &&
    whole.text === content.length &&
    whole.reasoning === reasoning.length &&
    (whole.details <= details.length || details.length === 0) &&
    whole.calls === calls.length;
  if (!isSame) return [message];
  const at = { text: 0, reasoning: 0, details: 0, calls: 0 };
  const pieces = known!.map((piece, index): JsonObject => {
    const isLast = index === known!.length - 1;
    const of = {
      content: content.slice(at.text, at.text + piece.text),
      reasoning_content: reasoning.slice(at.reasoning, at.reasoning + piece.reasoning),
      reasoning_details: details.slice(at.details, isLast ? undefined : at.details + piece.details),
      tool_calls: calls.slice(at.calls, at.calls + piece.calls),
      annotations: listIn(message["annotations"]).filter((one) => isAt(one, at.text, at.text + piece.text)),
    };
    at.text += piece.text;
    at.reasoning += piece.reasoning;
    at.details += piece.details;
    at.calls += piece.calls;
    return of;
  });
  const { content: _content, reasoning_content: _reasoning, [ORDER]: _order, ...rest } = message as Ordered;
  const last = pieces.length - 1;
  return pieces.map((piece, index) => (index === last ? { ...rest, ...piece } : piece)) as unknown as readonly Whole[];
}

type Ordered = JsonObject & { readonly [ORDER]?: unknown };

/** A text that stands in one piece alone may have been masked, and reasoning may have been left out. */
function orderWithin(
  order: readonly TurnPiece[],
  lengths: Pick<TurnPiece, "text" | "reasoning">,
): readonly TurnPiece[] {
  const isAlone = (name: "text" | "reasoning"): boolean => order.filter((piece) => piece[name] > 0).length === 1;
  const lengthOf = (piece: TurnPiece, name: "text" | "reasoning"): number => {
    if (piece[name] === 0) return 0;
    return isAlone(name) || lengths[name] === 0 ? lengths[name] : piece[name];
  };
  return order.map((piece) => ({
    ...piece,
    text: lengthOf(piece, "text"),
    reasoning: lengthOf(piece, "reasoning"),
  }));
}

/** Whether a citation is about this part of the content. */
function isAt(annotation: Json, start: number, end: number): boolean {
  const cited = (annotation as JsonObject)["url_citation"] as JsonObject | undefined;
  const from = cited?.["start_index"];
  return typeof from === "number" ? from >= start && from < end : end > start;
}

function contentOf(value: Json | undefined): string | readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : textOrEmpty(value);
}

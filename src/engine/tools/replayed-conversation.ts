// Restores the rounds of earlier answers, which clients send back in `x_gateway_mcp.replay`, to their places in the
// conversation, and checks them (promise 10.3). The field holds what precedes the message that it belongs to: the
// results of approved calls, then each turn with calls that ran here, followed by their results. Images of tool results
// follow all results of their turn, including the results that the client provides.
import type { ImagePart, Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject, type Json } from "../../core/json.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { BETWEEN_ROUNDS } from "./multi-round-answer.ts";

/** Bounds the calls of one turn, because they are compared with each other. */
const MAX_CALLS = 1000;

export const ROUNDS_FIELD = "x_gateway_mcp";

export interface Replayed {
  readonly messages: readonly Message[];
  /** The indexes of messages with images from tool results. */
  readonly toolImages: ReadonlySet<number>;
}

/**
 * Removes the field from every message and, if `replays`, inserts the messages that it holds. `check` is the check that
 * every message of a request must pass. Throws `invalid_request` with the path.
 */
export function withReplays(
  messages: readonly Message[],
  replays: boolean,
  check: (message: Message, path: string) => void,
): Replayed {
  const built = new Conversation();
  messages.forEach((message, index) => {
    const { [ROUNDS_FIELD]: rounds, ...rest } = message;
    const own = rest as Message;
    const path = `messages[${index}].${ROUNDS_FIELD}`;
    const replay = rounds === undefined || rounds === null ? [] : replayOf(message, rounds, path, check);
    if (replay.length === 0 || !replays) built.add(own);
    else built.addWith(replay, own, `${path}.replay`);
  });
  return built.end();
}

function replayOf(
  { role, tool_calls: own }: Message,
  rounds: Json,
  path: string,
  check: (message: Message, path: string) => void,
): readonly Message[] {
  if (!isObject(rounds)) throw invalid(path, "an object", rounds);
  const replay = rounds["replay"] ?? null;
  if (replay === null) return [];
  if (!Array.isArray(replay)) throw invalid(`${path}.replay`, "an array", replay);
  if (replay.length > 0 && role !== "assistant")
    throw invalidRequest(`${path}.replay`, `${path}.replay is allowed only in messages of role assistant.`);
  if ((own?.length ?? 0) > MAX_CALLS)
    throw invalidRequest(path, `A message with ${ROUNDS_FIELD}.replay may have at most ${MAX_CALLS} tool calls.`);
  return replay.map((item: Json, index) => {
    const at = `${path}.replay[${index}]`;
    if (!isObject(item)) throw invalid(at, "an object", item);
    check(item as Message, at);
    const { [ROUNDS_FIELD]: _rounds, ...message } = item as Message;
    checkForm(message, at);
    return message;
  });
}

function checkForm({ role, tool_calls: calls, content, tool_call_id: id }: Message, path: string): void {
  if (role === "tool") {
    if (typeof id !== "string") throw invalid(`${path}.tool_call_id`, "a string", id);
  } else if (role === "assistant") {
    if (!Array.isArray(calls) || calls.length === 0 || calls.length > MAX_CALLS)
      throw invalidRequest(
        `${path}.tool_calls`,
        `${path}.tool_calls must contain the tool calls of the turn (1 to ${MAX_CALLS}).`,
      );
    calls.forEach((call: ToolCall, index) => {
      const isCall = isObject(call.function)
        ? typeof call.function.arguments === "string"
        : (call.type ?? "function") !== "function";
      if (!isCall || typeof call.id !== "string")
        throw invalidRequest(
          `${path}.tool_calls[${index}]`,
          `${path}.tool_calls[${index}] must be a function call with id, name and arguments.`,
        );
    });
  } else if (role !== "user" || !isOfImages(content))
    throw invalidRequest(
      path,
      `${path} must be an assistant message with tool calls, a tool result, or images of tool results.`,
    );
}

/** Images must be data URIs, so that a replay cannot make the gateway or a provider fetch an address. */
function isOfImages(content: Message["content"]): boolean {
  if (!Array.isArray(content)) return false;
  return content.every(
    (part: Json) =>
      isObject(part) &&
      (part["type"] === "text" ||
        (part["type"] === "image_url" &&
          isObject(part["image_url"]) &&
          (part as ImagePart).image_url.url.startsWith("data:"))),
  );
}

/** Builds the conversation. It tracks which calls wait for results, and which images follow those results. */
class Conversation {
  readonly #messages: Message[] = [];
  readonly #toolImages = new Set<number>();
  readonly #waiting = new Set<string>();
  #images: Message[] = [];

  add(message: Message): void {
    if (message.role === "tool") this.#waiting.delete(message.tool_call_id!);
    else this.#flush();
    this.#messages.push(message);
    if (message.role !== "assistant") return;
    this.#waiting.clear();
    for (const { id } of message.tool_calls ?? []) this.#waiting.add(id);
  }

  addWith(replay: readonly Message[], own: Message, path: string): void {
    const ownCalls = own.tool_calls ?? [];
    const answered = new Set(replay.flatMap(({ tool_call_id: id }) => id ?? []));
    // only the last turn may have calls whose results the client provides
    const last = replay.findLastIndex(({ role }) => role === "assistant");
    const renamed = replay.map((message, index) =>
      index === last ? withOwnIds(message, answered, ownCalls) : message,
    );
    renamed.forEach((message, index) => {
      const at = `${path}[${index}]`;
      if (message.role === "user") return void this.#images.push(message);
      if (message.role === "tool") {
        if (!this.#waiting.has(message.tool_call_id!))
          throw invalidRequest(
            `${at}.tool_call_id`,
            `${at}.tool_call_id does not name a tool call that is waiting for its result.`,
          );
        return this.add(message);
      }
      this.#requireNothingWaits(path);
      this.add(message);
    });
    const turns = replayedTurns(own, renamed);
    if (turns.length === replay.length) {
      // the message repeats the last turn, so its calls are those that have no result in the replay
      if (this.#waiting.size !== ownCalls.length || ownCalls.some(({ id }) => !this.#waiting.has(id)))
        throw invalidRequest(
          path,
          `${path} does not match its message: the tool calls of the message must be those of the last turn that have no result.`,
        );
      return;
    }
    this.#requireNothingWaits(path);
    const rest = turns.at(-1)!;
    if (rest.content !== "" || own.content === "" || ownCalls.length > 0) this.add(rest);
  }

  end(): Replayed {
    this.#flush();
    return { messages: this.#messages, toolImages: this.#toolImages };
  }

  #requireNothingWaits(path: string): void {
    const [id] = this.#waiting;
    if (id !== undefined)
      throw invalidRequest(path, `${path} has no result for the tool call ${JSON.stringify(id.slice(0, 64))}.`);
  }

  #flush(): void {
    for (const images of this.#images) {
      this.#toolImages.add(this.#messages.length);
      this.#messages.push(images);
    }
    this.#images = [];
  }
}

/**
 * A call in the deprecated form comes back without its id, and the parser has given it a new one. It is matched with
 * the call that has the same name and arguments and no result yet.
 */
function withOwnIds(turn: Message, answered: ReadonlySet<string>, own: readonly ToolCall[]): Message {
  const ids = new Set(own.map(({ id }) => id));
  const waits = (call: ToolCall): boolean => !answered.has(call.id) && !ids.has(call.id);
  if (!turn.tool_calls!.some(waits)) return turn;
  const known = new Set(turn.tool_calls!.map(({ id }) => id));
  const waiting = new Map<string, string[]>();
  for (const { id, function: called } of own) {
    if (known.has(id) || !isObject(called)) continue;
    waiting.getOrInsertComputed(signatureOf(called), () => []).push(id);
  }
  return {
    ...turn,
    tool_calls: turn.tool_calls!.map((call) =>
      waits(call) && isObject(call.function)
        ? { ...call, id: waiting.get(signatureOf(call.function))?.shift() ?? call.id }
        : call,
    ),
  };
}

function signatureOf({ name, arguments: text }: ToolCall["function"]): string {
  return `${name} ${text}`;
}

/** Joins the texts of rounds as the client has them. Rounds without text add nothing. */
function joinedTexts(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text !== null && text !== undefined && text !== "").join(BETWEEN_ROUNDS);
}

/**
 * Returns the turns of an answer that the client sent back, in place of its one message. If calls of the last turn went
 * to the client, that turn replaces the message, which repeats it. Otherwise the message follows, without the texts of
 * the turns. The messages of `replay` must have been checked.
 */
export function replayedTurns(
  { x_gateway_mcp: _mcp, ...shown }: Message,
  replay: readonly Message[],
): readonly Message[] {
  const turns = replay.filter(({ role }) => role === "assistant");
  if (isTurnOf(shown, turns.at(-1))) return replay;
  const rest: Record<string, unknown> = { ...shown };
  for (const name of ["content", "reasoning_content"] as const) {
    const text = shown[name];
    if (typeof text === "string")
      rest[name] = withoutBeginning(text, joinedTexts(turns.map((turn) => textOf(turn[name]))));
  }
  if (rest["content"] === "" && shown.tool_calls !== undefined) rest["content"] = null;
  if (rest["reasoning_content"] === "") delete rest["reasoning_content"];
  const shownDetails = turns.reduce((sum, { reasoning_details: details }) => sum + (details?.length ?? 0), 0);
  if (shownDetails > 0 && shown.reasoning_details !== undefined)
    rest["reasoning_details"] = shown.reasoning_details.slice(shownDetails) satisfies readonly ReasoningDetail[];
  return [...replay, rest as unknown as Message];
}

function isTurnOf({ tool_calls: calls = [], function_call: called }: Message, turn: Message | undefined): boolean {
  const turnCalls: readonly ToolCall[] = turn?.tool_calls ?? [];
  if (called !== undefined && called !== null)
    return turnCalls.some(
      ({ function: one }) => isObject(one) && one.name === called.name && one.arguments === called.arguments,
    );
  const ids = new Set(turnCalls.map(({ id }) => id));
  return calls.length > 0 && calls.every(({ id }) => ids.has(id));
}

function textOf(value: Message["content"] | Message["reasoning_content"]): string | null {
  return typeof value === "string" ? value : null;
}

/** A text that the client has changed is kept in full. */
function withoutBeginning(text: string, beginning: string): string {
  if (beginning === "" || !text.startsWith(beginning)) return text;
  const rest = text.slice(beginning.length);
  return rest.startsWith(BETWEEN_ROUNDS) ? rest.slice(BETWEEN_ROUNDS.length) : rest;
}

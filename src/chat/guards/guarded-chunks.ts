// Applies guards on the answer to the chunks of one stream, between the decoder and the stream normalizer: it returns
// what may be sent by now, and the rest at the end. It needs only the guards, and so it can run in any thread.
import type { GuardPolicy, GuardFinding } from "../../guards/guarded-text.ts";
import type { ChatChunk, ChunkChoice, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { StreamGuard } from "./guard-answer.ts";
import { piecesOf } from "../long-bodies/long-events.ts";
import { callOf, type CallState, takeDelta } from "../answer/tool-call-deltas.ts";

interface GuardedChoice {
  readonly index: number;
  readonly calls: CallState[];
}

const TEXTS = ["reasoning_content", "content", "refusal"] as const;
const TEXTS_BEFORE_DETAILS = ["reasoning_content"] as const;
const TEXTS_AFTER_DETAILS = ["content", "refusal"] as const;
/** Members of a choice that are not a vendor's own. */
const KNOWN: ReadonlySet<string> = new Set([
  "index",
  "delta",
  "finish_reason",
  "native_finish_reason",
  "logprobs",
  "message",
]);

/** All methods throw `policy_violation` where a guard blocks. */
export class GuardedChunks {
  readonly #guard: StreamGuard;
  readonly #choices = new Map<number, GuardedChoice>();

  constructor(guards: readonly GuardPolicy[], onFinding: GuardFinding) {
    this.#guard = new StreamGuard(guards, onFinding);
  }

  take(given: ChatChunk): ChatChunk {
    const chunk = this.#guard.chunk(given);
    return Array.isArray(chunk.choices)
      ? {
          ...chunk,
          choices: (chunk.choices as readonly ChunkChoice[]).map((choice) =>
            isObject(choice) ? this.#takeChoice(choice) : choice,
          ),
        }
      : chunk;
  }

  /** Returns what guards still held back at the end of the stream. */
  end(): readonly ChatChunk[] {
    return [...this.#choices.values()].flatMap((choice) =>
      this.#rest(choice).map((delta): ChatChunk => ({ choices: [{ index: choice.index, delta }] })),
    );
  }

  /** Returns what guards held back, unchanged; nothing is searched any more. */
  abandon(): readonly ChatChunk[] {
    this.#guard.abandon();
    return this.end();
  }

  #takeChoice(source: ChunkChoice): ChunkChoice {
    const choice = this.#choiceOf(source.index);
    const shown: Record<string, unknown> = { ...source };
    if (isObject(source.delta)) shown["delta"] = this.#takeDelta(choice, source.delta);
    if (this.#guard.withholdsLogprobs && source.logprobs !== undefined) shown["logprobs"] = null;
    for (const name in source) if (!KNOWN.has(name)) shown[name] = this.#guard.whole(source[name], name);
    return shown as ChunkChoice;
  }

  #choiceOf(given: unknown): GuardedChoice {
    const index = typeof given === "number" ? given : 0;
    let choice = this.#choices.get(index);
    if (choice === undefined) this.#choices.set(index, (choice = { index, calls: [] }));
    return choice;
  }

  #takeDelta(choice: GuardedChoice, delta: ChunkDelta): ChunkDelta {
    const spoken: Record<string, unknown> = {};
    const take = (names: readonly (typeof TEXTS)[number][]): void => {
      for (const name of names)
        if (typeof delta[name] === "string")
          spoken[name] = delta[name] === "" ? "" : this.#guard.take(textKey(choice, name), delta[name]);
    };
    take(TEXTS_BEFORE_DETAILS);
    if (Array.isArray(delta.reasoning_details))
      spoken["reasoning_details"] = this.#guard.details(
        choice.index,
        delta.reasoning_details as readonly ReasoningDetail[],
      );
    take(TEXTS_AFTER_DETAILS);
    if (Array.isArray(delta.tool_calls))
      spoken["tool_calls"] = (delta.tool_calls as readonly ToolCallDelta[]).map((call) =>
        isObject(call) ? this.#takeCall(choice, call) : call,
      );
    return { ...this.#guard.others(choice.index, delta), ...spoken } as ChunkDelta;
  }

  /** Decides which tool call a delta continues. Each call gets an index of its own, and its id and name occur once. */
  #takeCall({ index, calls }: GuardedChoice, delta: ToolCallDelta): ToolCallDelta {
    const before = calls.length;
    const call = callOf(calls, delta);
    const isNew = calls.length > before;
    const hadName = call.name !== "";
    const given = takeDelta(call, delta);
    const position = calls.indexOf(call);
    if (!hadName && call.name !== "") this.#guard.name(call.name);
    const text = given === "" ? "" : this.#guard.take(callKey(index, position), given, true);
    const { id, function: called, ...rest } = delta;
    const name = isObject(called) && !hadName && typeof called["name"] === "string" ? { name: called["name"] } : {};
    return {
      ...rest,
      index: position,
      ...(isNew && id !== undefined && { id }),
      function: { ...name, arguments: text },
    };
  }

  #rest({ index, calls }: GuardedChoice): readonly ChunkDelta[] {
    const guard = this.#guard;
    const rest: JsonObject[] = [];
    for (const name of TEXTS) {
      const text = guard.end(textKey({ index, calls }, name));
      if (text !== "") rest.push({ [name]: text });
    }
    const details = guard.endedDetails(index);
    if (details.length > 0) rest.push({ reasoning_details: details });
    rest.push(...guard.endedMembers(index));
    calls.forEach((_, position) => {
      const text = guard.end(callKey(index, position));
      if (text !== "") rest.push({ tool_calls: [{ index: position, function: { arguments: text } }] });
    });
    return rest;
  }
}

function textKey({ index }: GuardedChoice, name: string): string {
  return `${index} ${name}`;
}

function callKey(choice: number, position: number): string {
  return `${choice} call ${position}`;
}

/** Returns the characters of text in a chunk, those of tool calls, reasoning details and vendors' members included. */
export function charactersOf({ choices }: ChatChunk): number {
  let characters = 0;
  if (Array.isArray(choices))
    for (const { delta } of choices as readonly ChunkChoice[])
      if (isObject(delta)) for (const name in delta) characters += charactersIn(delta[name]);
  return characters;
}

/** A number, true, false and null count as one character, and so does what holds others. */
function charactersIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  let characters = 1;
  if (Array.isArray(value)) for (const item of value) characters += charactersIn(item);
  else for (const name in value) characters += name.length + charactersIn((value as Record<string, unknown>)[name]);
  return characters;
}

/**
 * Splits a chunk into several, none of whose texts is longer. How a text is split does not change what a guard does.
 * Members that arrive in one piece are not split.
 */
export function splitChunk(chunk: ChatChunk, longest: number): readonly ChatChunk[] {
  const { choices } = chunk;
  if (!Array.isArray(choices) || charactersOf(chunk) <= longest) return [chunk];
  const pieces: ChatChunk[] = [];
  const bare = (choices as readonly ChunkChoice[]).map((choice) => {
    if (!isObject(choice) || !isObject(choice.delta)) return choice;
    const piece = (delta: JsonObject): void =>
      void pieces.push({ choices: [{ index: choice.index, delta }] } as unknown as ChatChunk);
    const left: Record<string, unknown> = { ...choice.delta };
    for (const name of TEXTS) {
      const text = choice.delta[name];
      if (typeof text !== "string" || text === "") continue;
      for (const cut of piecesOf(text, longest)) piece({ [name]: cut });
      delete left[name];
    }
    if (Array.isArray(choice.delta.tool_calls)) {
      for (const call of choice.delta.tool_calls as readonly ToolCallDelta[])
        for (const part of splitCall(call, longest)) piece({ tool_calls: [part] });
      delete left["tool_calls"];
    }
    return { ...choice, delta: left as ChunkDelta };
  });
  // the chunk's identifying fields come first, and what ends the answer comes last
  return pieces.length === 0
    ? [chunk]
    : [
        { ...chunk, usage: null, choices: bare.map((choice) => ({ index: choice.index, delta: {} })) } as ChatChunk,
        ...pieces,
        { ...chunk, choices: bare },
      ];
}

/** A delta without index, id and name continues the last call. */
function splitCall(call: ToolCallDelta, longest: number): readonly ToolCallDelta[] {
  const called: unknown = isObject(call) ? call.function : null;
  const text = isObject(called) ? called["arguments"] : null;
  if (typeof text !== "string" || text.length <= longest) return [call];
  const [first = "", ...others] = piecesOf(text, longest);
  const place = call.index === undefined ? {} : { index: call.index };
  return [
    { ...call, function: { ...call.function, arguments: first } },
    ...others.map((cut) => ({ ...place, function: { arguments: cut } })),
  ];
}

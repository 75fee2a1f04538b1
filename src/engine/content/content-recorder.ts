// Collects the content of one call while it runs, and prepares it after its end: files are replaced by a note, texts
// are cut to size and redacted (promise 11.3). It exists only where the project keeps content.

// Decides (records and configuration): When is content of a call kept, and what is masked in it? By: `ContentRecorder`,
// `maskingGuards`. Also: by `auth/settings/content-settings.ts` (`compileContentLogs`). Rule: Where the tenant turned
// it on, and the project keeps it on. The classes of the setting are masked, and what the guards of the project find;
// what could not be searched is not kept, and files are not either.
import type { ChatRequest, FinishReason, HeldConversation, Message, ToolCall } from "../../core/chat.ts";
import type { CallContent, ContentRules, AnswerContent } from "../../core/configured/content.ts";
import { TEXT_MEMBERS, type TextMember } from "../../core/delta-members.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { GuardPolicy, ProjectPolicies } from "../../core/configured/policy.ts";
import { maskingGuards, redactedForKeeping } from "./content-redaction.ts";
import {
  CUT,
  cutToSize,
  cutWithMargin,
  type Fitting,
  MARGIN,
  MAX_KEPT_CALLS,
  type Room,
  withoutFiles,
  withoutMargin,
} from "./content-size.ts";
import type { LongRequests } from "../long-bodies/long-requests.ts";
import type { GuardScheduler } from "../guards/guard-scheduler.ts";

interface Answering {
  readonly texts: Record<TextMember, string>;
  readonly calls: ToolCall[];
  finish: FinishReason | null;
}

/** The content of one call, for as long as the call lives. */
export class ContentRecorder {
  readonly #rules: ContentRules;
  readonly #guards: readonly GuardPolicy[];
  readonly #request: ChatRequest;
  readonly #scheduler: GuardScheduler;
  readonly #longRequests: LongRequests | null;
  readonly #isProjectThere: () => boolean;
  readonly #answers = new Map<number, Answering>();
  #rounds: readonly Message[] = [];
  /** The characters of answers that still fit. */
  #room: number;
  #isAnswerCut = false;

  /**
   * `longRequests` holds a long conversation from before the call's end until its content is ready. What was said in a
   * project that is not there any more is not stored.
   */
  constructor(
    rules: ContentRules,
    policies: ProjectPolicies | null,
    request: ChatRequest,
    scheduler: GuardScheduler,
    longRequests: LongRequests | null = null,
    isProjectThere: () => boolean = () => true,
  ) {
    this.#scheduler = scheduler;
    this.#longRequests = longRequests;
    this.#isProjectThere = isProjectThere;
    this.#rules = rules;
    this.#guards = maskingGuards(rules, policies);
    this.#request = request;
    this.#room = Math.floor(rules.maxCharacters / 2) + MARGIN;
  }

  /** `chunks` say what was sent to the client. */
  sent(chunks: readonly JsonObject[]): void {
    for (const chunk of chunks) {
      this.#takeRounds(chunk["x_gateway_mcp"]);
      for (const choice of objectsIn(chunk["choices"])) this.#take(choice, choice["delta"]);
    }
  }

  /** `body` is a non-streaming answer as the engine has made it, which the client receives in the form of its operation. */
  answered(body: JsonObject): void {
    for (const choice of objectsIn(body["choices"])) {
      if (isObject(choice["message"])) this.#takeRounds(choice["message"]["x_gateway_mcp"]);
      this.#take(choice, choice["message"]);
    }
  }

  #takeRounds(rounds: Json | undefined): void {
    if (isObject(rounds) && Array.isArray(rounds["replay"])) this.#rounds = rounds["replay"];
  }

  #take(choice: JsonObject, message: Json | undefined): void {
    const index = typeof choice["index"] === "number" ? choice["index"] : 0;
    let answer = this.#answers.get(index);
    if (answer === undefined)
      this.#answers.set(
        index,
        (answer = { texts: { content: "", reasoning_content: "", refusal: "" }, calls: [], finish: null }),
      );
    if (typeof choice["finish_reason"] === "string") answer.finish = choice["finish_reason"] as FinishReason;
    if (!isObject(message)) return;
    for (const name of TEXT_MEMBERS) {
      const text = message[name];
      if (typeof text === "string") answer.texts[name] = this.#fit(answer.texts[name], text);
    }
    objectsIn(message["tool_calls"]).forEach((call, position) =>
      this.#takeCall(answer.calls, call, typeof call["index"] === "number" ? call["index"] : position),
    );
    if (isObject(message["function_call"])) this.#takeCall(answer.calls, { function: message["function_call"] }, 0);
  }

  #takeCall(calls: ToolCall[], { id, type, function: called, ...rest }: JsonObject, index: number): void {
    if (index >= MAX_KEPT_CALLS) {
      this.#isAnswerCut = true;
      return;
    }
    const known = calls[index] ?? { id: "", type: "function", function: { name: "", arguments: "" } };
    const more = isObject(called) ? called : {};
    const word = typeof type === "string" ? (type as ToolCall["type"]) : known.type;
    const vendors = word === "function" ? undefined : rest[word];
    calls[index] = {
      ...known,
      id: known.id + textOrEmpty(id),
      type: word,
      function: {
        name: known.function.name + textOrEmpty(more["name"]),
        arguments: this.#fit(known.function.arguments, textOrEmpty(more["arguments"])),
      },
      ...(isObject(vendors) && { [word]: this.#joined((known as unknown as JsonObject)[word], vendors) }),
    } as ToolCall;
  }

  /** Joins the pieces of a tool call whose type only some vendors have. */
  #joined(known: Json | undefined, more: JsonObject): JsonObject {
    const before = isObject(known) ? known : {};
    return {
      ...before,
      ...Object.fromEntries(
        Object.entries(more).map(([name, piece]) => [
          name,
          typeof piece === "string" ? this.#fit(textOrEmpty(before[name]), piece) : (piece ?? null),
        ]),
      ),
    };
  }

  /** Returns the text with as much of a further piece as still fits. */
  #fit(text: string, piece: string): string {
    // while there is room, no text was cut: a text that grows is not read for every piece of it
    if (piece === "" || (this.#room === 0 && text.endsWith(CUT))) return text;
    const fitting = piece.slice(0, this.#room);
    this.#room -= fitting.length;
    if (fitting.length === piece.length) return text + piece;
    this.#isAnswerCut = true;
    // each text that was cut is marked, because there may be a secret at each cut
    return text + fitting + CUT;
  }

  /** Prepares the content, in another thread where there is much text to search. */
  async content(nowMs: number): Promise<CallContent> {
    const { maxCharacters, retentionMs, isStored } = this.#rules;
    const half = Math.floor(maxCharacters / 2);
    const answersRoom: Room = { left: half, isCut: false };
    const message = await this.#redacted(
      [...this.#answers.values()].map(({ texts, calls }) =>
        withoutFiles({ ...texts, tool_calls: calls.filter((call) => call !== undefined) as unknown as Json }),
      ),
    );
    const answers = message.map((answer) => withoutMargin(answer, answersRoom) as JsonObject);
    const room: Room = { left: maxCharacters - half + answersRoom.left, isCut: false };
    const { held, params } = this.#request;
    const rounds = await this.#fitting(listHere(this.#rounds), room);
    const messages = await this.#fitting(
      held === undefined ? listHere(this.#request.messages) : this.#held(held),
      room,
    );
    const tools = await this.#fitting(listHere(params.tools ?? []), room);
    const isAnswerCut = this.#isAnswerCut || answersRoom.isCut;
    return {
      messages: messages.kept as readonly unknown[] as readonly Message[],
      tools: tools.kept as readonly JsonObject[],
      rounds: rounds.kept as readonly unknown[] as readonly Message[],
      answers: [...this.#answers].map(([index, { finish }], position) =>
        keptAnswerOf(index, answers[position]!, finish),
      ),
      leftOut:
        isAnswerCut || [rounds, messages, tools].some(({ isCut, leftOut }) => isCut || leftOut > 0)
          ? { messages: rounds.leftOut + messages.leftOut, tools: tools.leftOut, isAnswerCut }
          : null,
      keptUntilMs: isStored && this.#isProjectThere() ? nowMs + retentionMs : null,
    };
  }

  /** Another thread holds and cuts these messages. */
  #held({ count: length }: HeldConversation): CutList {
    return { length, cut: (characters) => this.#longRequests!.lastThatFit(this.#request, characters) };
  }

  async #fitting({ length, cut }: CutList, room: Room): Promise<Fitting> {
    if (room.isCut || length === 0) return { kept: [], leftOut: length, isCut: false };
    const fitting = await cut(room.left);
    return cutToSize({ ...fitting, kept: await this.#redacted(fitting.kept) }, room);
  }

  #redacted(values: readonly Json[]): Promise<readonly Json[]> {
    return redactedForKeeping(values, this.#guards, this.#scheduler);
  }
}

/** A list of which the last members that fit are kept. */
interface CutList {
  readonly length: number;
  readonly cut: (characters: number) => Promise<Fitting>;
}

function listHere(values: readonly unknown[]): CutList {
  return { length: values.length, cut: async (characters) => cutWithMargin(values as readonly Json[], characters) };
}

function keptAnswerOf(
  index: number,
  { content, reasoning_content: reasoning, refusal, tool_calls: toolCalls }: JsonObject,
  finishReason: FinishReason | null,
): AnswerContent {
  return {
    index,
    content: textOrEmpty(content) || null,
    reasoning: textOrEmpty(reasoning) || null,
    refusal: textOrEmpty(refusal) || null,
    toolCalls: (toolCalls ?? []) as unknown as readonly ToolCall[],
    finishReason,
  };
}

// What is said in one call, collected while it is said and made ready behind its end: files replaced by a note, cut to size, redacted (decisions 11.3). There is one
// only where the project keeps what is said.
import type { GuardPolicy } from "../auth/guarded-text.ts";
import type { ChatRequest, FinishReason, Message, ToolCall } from "../core/chat.ts";
import type { CallContent, ContentRules, SaidAnswer } from "../core/content.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { Guard, ProjectPolicies } from "../core/policy.ts";
import { CUT, cutList, MARGIN, withoutFiles } from "./content-size.ts";
import { guardedMessages, lookAhead, LONG_TEXTS, textGuard, type TextGuard } from "./guard-request.ts";

/** The same for every gateway: the trace id is random. */
export function isSampled(traceId: string, sample: number): boolean {
  return Number.parseInt(traceId.slice(0, 8), 16) < sample * 2 ** 32;
}

interface Answering {
  readonly texts: Record<"content" | "reasoning_content" | "refusal", string>;
  readonly calls: ToolCall[];
  finish: FinishReason | null;
}

/** What one call said. A class, because it lives as long as the call does. */
export class ContentKeeper {
  readonly #rules: ContentRules;
  readonly #guards: readonly GuardPolicy[];
  readonly #request: ChatRequest;
  readonly #answers = new Map<number, Answering>();
  #rounds: readonly Message[] = [];
  /** Characters of answers that still fit. */
  #room: number;
  #isAnswerCut = false;

  constructor(rules: ContentRules, policies: ProjectPolicies | null, request: ChatRequest) {
    this.#rules = rules;
    this.#guards = maskingGuards(rules, policies);
    this.#request = request;
    this.#room = Math.floor(rules.maxCharacters / 2) + MARGIN;
  }

  /** Events as they go to the client. */
  sent(events: string): void {
    for (const event of events.split("\n\n")) {
      if (!event.startsWith('data: {"')) continue;
      const chunk = JSON.parse(event.slice(6)) as Json;
      if (!isObject(chunk)) continue;
      this.#takeRounds(chunk["x_gateway_mcp"]);
      for (const choice of listOf(chunk["choices"])) this.#take(choice, choice["delta"]);
    }
  }

  /** The body of a plain answer. */
  answered(body: JsonObject): void {
    for (const choice of listOf(body["choices"])) {
      if (isObject(choice["message"])) this.#takeRounds(choice["message"]["x_gateway_mcp"]);
      this.#take(choice, choice["message"]);
    }
  }

  #takeRounds(told: Json | undefined): void {
    if (isObject(told) && Array.isArray(told["replay"])) this.#rounds = told["replay"];
  }

  #take(choice: JsonObject, said: Json | undefined): void {
    const index = typeof choice["index"] === "number" ? choice["index"] : 0;
    let answer = this.#answers.get(index);
    if (answer === undefined) this.#answers.set(index, (answer = { texts: { content: "", reasoning_content: "", refusal: "" }, calls: [], finish: null }));
    if (typeof choice["finish_reason"] === "string") answer.finish = choice["finish_reason"] as FinishReason;
    if (!isObject(said)) return;
    for (const name of ["content", "reasoning_content", "refusal"] as const) {
      const text = said[name];
      if (typeof text === "string") answer.texts[name] += this.#fit(text);
    }
    listOf(said["tool_calls"]).forEach((call, position) => this.#takeCall(answer.calls, call, typeof call["index"] === "number" ? call["index"] : position));
    if (isObject(said["function_call"])) this.#takeCall(answer.calls, { function: said["function_call"] }, 0);
  }

  #takeCall(calls: ToolCall[], { id, type, function: called, ...rest }: JsonObject, index: number): void {
    if (index > MAX_CALLS) return;
    const known = calls[index] ?? { id: "", type: "function", function: { name: "", arguments: "" } };
    const more = isObject(called) ? called : {};
    const name = textOf(more["name"]);
    calls[index] = {
      ...known,
      id: known.id + textOf(id),
      type: typeof type === "string" ? (type as ToolCall["type"]) : known.type,
      function: { name: known.function.name + name, arguments: known.function.arguments + this.#fit(textOf(more["arguments"])) },
      ...(typeof type === "string" && type !== "function" && isObject(rest[type]) && { [type]: rest[type] }),
    };
  }

  /** As much of a text as still fits. */
  #fit(text: string): string {
    if (text.length <= this.#room) {
      this.#room -= text.length;
      return text;
    }
    const fitting = text.slice(0, this.#room);
    const isFirst = !this.#isAnswerCut;
    this.#room = 0;
    this.#isAnswerCut = true;
    return isFirst ? fitting + CUT : "";
  }

  /** In turns with other calls, where there is much to look at. */
  async content(nowMs: number): Promise<CallContent> {
    const { maxCharacters, retentionMs, isStored } = this.#rules;
    const answersRoom = { left: Math.floor(maxCharacters / 2) };
    const said = await this.#redacted([...this.#answers.values()].map(({ texts, calls }): Message => ({ role: "assistant", ...texts, tool_calls: calls.filter((call) => call !== undefined) }) as unknown as Message));
    const answers = said.map((message) => cutList([message], answersRoom, 0).kept[0] ?? { role: "assistant" as const, content: "" });
    const left = maxCharacters - (Math.floor(maxCharacters / 2) - Math.max(0, answersRoom.left));
    const roundsBefore = cutList(withoutFiles(this.#rounds), { left }, MARGIN);
    const before = cutList(withoutFiles(this.#request.messages), { left }, MARGIN);
    const room = { left };
    const rounds = cutList(await this.#redacted(roundsBefore.kept), room, 0);
    const messages = cutList(await this.#redacted(before.kept), room, 0);
    const offered = (this.#request.params.tools ?? []) as unknown as readonly Message[];
    const tools = cutList(await this.#redacted(cutList(offered, { left: room.left }, MARGIN).kept), room, 0);
    const gone = roundsBefore.leftOut + rounds.leftOut + before.leftOut + messages.leftOut;
    const lost = offered.length - tools.kept.length;
    const isCut = this.#isAnswerCut || answersRoom.left < 0;
    return {
      messages: messages.kept,
      tools: tools.kept as unknown as readonly JsonObject[],
      rounds: rounds.kept,
      answers: [...this.#answers].map(([index, { finish }], position) => saidAnswer(index, answers[position]!, finish)),
      leftOut: gone === 0 && lost === 0 && !isCut && !messages.isCut && !rounds.isCut && !tools.isCut ? null : { messages: gone, tools: lost, isAnswerCut: isCut },
      keptUntilMs: isStored ? nowMs + retentionMs : null,
    };
  }

  async #redacted(messages: readonly Message[]): Promise<readonly Message[]> {
    if (this.#guards.length === 0 || messages.length === 0) return messages;
    const visit = (guard: TextGuard): readonly Message[] => guardedMessages(messages, guard);
    let characters = 0;
    visit((text) => {
      characters += text.length;
      return text;
    });
    return visit(textGuard(this.#guards, () => {}, characters < LONG_TEXTS ? null : await lookAhead(visit, this.#guards)));
  }
}

const MAX_CALLS = 1000;

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function saidAnswer(index: number, message: Message, finishReason: FinishReason | null): SaidAnswer {
  const { content, reasoning_content: reasoning, refusal, tool_calls: toolCalls } = message as unknown as Readonly<Record<string, Json>>;
  return { index, content: textOf(content) || null, reasoning: textOf(reasoning) || null, refusal: textOf(refusal) || null, toolCalls: (toolCalls ?? []) as unknown as readonly ToolCall[], finishReason };
}

/** What a guard of the project looks for is nothing that may be kept, whether it masks or blocks. */
function maskingGuards({ detectors }: ContentRules, policies: ProjectPolicies | null): readonly GuardPolicy[] {
  const own = policies === null ? [] : [...new Set([...policies.inputGuards, ...policies.outputGuards])].filter((policy): policy is GuardPolicy => policy.guard !== null && policy.mode === "enforce");
  const all: readonly (readonly [string, Guard])[] = [["content log", { onInput: true, onOutput: true, action: "mask", mask: null, detectors }], ...own.map(({ name, guard }) => [name, { ...guard, action: "mask" }] as const)];
  return all.filter(([, guard]) => guard.detectors.length > 0).map(([name, guard]) => ({ id: name, name, mode: "enforce", message: "", concerns: null, concernsTarget: null, perTarget: false, rule: null, guard }));
}

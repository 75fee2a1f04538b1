// Turns as messages of chat completions. Adjacent messages of one role are one turn, as at the vendor: every call of a
// turn of the assistant is answered in the turn after it, where results stand first.
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
import type { ContentPart, Message, ReasoningDetail, ToolCall, Untranslated } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, listIn } from "../../core/json.ts";
import { invalid, objectAt, textAt } from "../../core/refusals.ts";
import { wordsOfTool } from "../../core/request/held-body.ts";
import { inCharacters, TurnOrder, withOrder } from "../../core/request/turn-order.ts";
import { redactedDetail, thinkingDetail } from "../../providers/conversation/signed-thinking.ts";
import { chatToolName, providerCallId } from "./call-names.ts";
import { bad, cacheMark, filledTextAt, given } from "./fields.ts";
import { partsOf, type PlacedBlock, placedBlocks, plainText, sourceOf, textPart } from "./translate-content.ts";
import { invalidPart } from "../../engine/request/vendor-judged.ts";
import { asked, never, orLeft } from "./untranslated.ts";

export interface TranslatedTurns {
  readonly messages: readonly Message[];
  /** Where each of the messages stands in the client's body. */
  readonly origins: readonly string[];
  /** Where the parts of each message stand there; null for a message of text. */
  readonly parts: readonly (readonly string[] | null)[];
}

/** Throws `invalid_request` with the path in the client's body. What has no counterpart is added to `left`. */
export function translateTurns(
  messages: Json | undefined,
  isServers: (name: string) => boolean,
  left: Untranslated[],
): TranslatedTurns {
  const turns = new Turns(isServers, left);
  const runs = runsOf(messages, left);
  runs.forEach((run, index) => turns.add(run, index === runs.length - 1));
  turns.noteUnanswered(true);
  turns.noteSilence();
  return turns;
}

interface SentMessage {
  readonly path: string;
  readonly blocks: readonly PlacedBlock[];
}

/** Adjacent messages of one role. */
interface SentRun {
  readonly role: "user" | "assistant" | "system";
  readonly messages: SentMessage[];
}

const ROLES = ["user", "assistant", "system"] as const;

function runsOf(value: Json | undefined, left: Untranslated[]): readonly SentRun[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid("messages", "an array of at least one message", Array.isArray(value) ? undefined : value);
  const runs: SentRun[] = [];
  (value as readonly Json[]).forEach((message, index) => {
    const path = `messages[${index}]`;
    if (!isObject(message)) throw invalid(path, "an object", message);
    const role = ROLES.find((known) => known === message["role"]);
    if (role === undefined) throw invalid(`${path}.role`, `one of ${ROLES.join(", ")}`, message["role"]);
    if (role !== "assistant" && message["content"] === "")
      left.push(invalidPart(bad(`${path}.content`, "must not be an empty string.")));
    const sent = { path, blocks: placedBlocks(message["content"], `${path}.content`) };
    const last = runs.at(-1);
    if (last?.role === role) last.messages.push(sent);
    else runs.push({ role, messages: [sent] });
  });
  return runs;
}

/** A call of the last turn of the assistant. */
interface OpenCall {
  readonly path: string;
  readonly name: string;
  isAnswered: boolean;
}

/** A part, and what the client made it of. */
interface PlacedPart {
  readonly part: ContentPart;
  readonly path: string;
}

function placed(parts: readonly ContentPart[], from: PlacedBlock): readonly PlacedPart[] {
  return parts.map((part) => ({ part, path: sourceOf(from) }));
}

class Turns implements TranslatedTurns {
  readonly messages: Message[] = [];
  readonly origins: string[] = [];
  readonly parts: (readonly string[] | null)[] = [];
  readonly #left: Untranslated[];
  /** The calls of the last turn of the assistant by the ids that the client knows, in their order. */
  #calls: ReadonlyMap<string, OpenCall> = new Map();

  /** Whether a function is named like the tools of a tool server. */
  readonly #isServers: (name: string) => boolean;

  constructor(isServers: (name: string) => boolean, left: Untranslated[]) {
    this.#isServers = isServers;
    this.#left = left;
  }

  add(run: SentRun, isLast: boolean): void {
    if (run.role === "system") {
      this.noteUnanswered();
      for (const { path, blocks } of run.messages) this.#addSystem(path, blocks);
    } else if (run.role === "user") {
      this.#addUser(run.messages);
      const isOfResults = run.messages.every(({ blocks }) =>
        blocks.every(({ block }) => block["type"] === "tool_result"),
      );
      this.noteUnanswered(isLast && isOfResults);
      this.#calls = new Map();
    } else {
      this.noteUnanswered();
      this.#addAssistant(run.messages);
      if (isLast && this.#calls.size === 0)
        this.#left.push(asked(run.messages.at(-1)!.path, "the beginning of an answer that the model should continue"));
    }
  }

  /** Notes the calls of the last turn that have no result. `mayRun`: those of tool servers may still be run. */
  noteUnanswered(mayRun = false): void {
    for (const [id, { path, name, isAnswered }] of this.#calls)
      if (!isAnswered && !(mayRun && this.#isServers(name)))
        this.#refuse(
          path,
          `has no result: a tool_result for ${JSON.stringify(id.slice(0, 64))} must stand in the next message, which has to be the user's.`,
        );
  }

  /** A chat completion needs at least one message. An empty one is added for the gateway's own steps; no translated target is sent it. */
  noteSilence(): void {
    if (this.messages.length > 0) return;
    this.#refuse("messages", "must hold something that a provider without the Messages API can be told.");
    this.#push({ role: "user", content: "" }, "messages");
  }

  #refuse(path: string, message: string): void {
    this.#left.push(invalidPart(bad(path, message)));
  }

  #push(message: Message, path: string, parts: readonly string[] | null = null): void {
    this.messages.push(message);
    this.origins.push(path);
    this.parts.push(parts);
  }

  #addSystem(path: string, blocks: readonly PlacedBlock[]): void {
    const message = systemMessage(blocks, this.#left);
    if (message !== null) this.#push(message, path);
  }

  #addUser(messages: readonly SentMessage[]): void {
    const results = messages.flatMap(({ blocks }) => resultsOf(blocks, this.#left));
    const media: PlacedPart[] = [];
    const answered = new Map<string, readonly [message: Message, path: string]>();
    for (const { block, path } of results) {
      const id = orLeft(this.#left, "", () => this.#answeredCall(block, path));
      answered.set(id, [this.#result(block, path, id, media), path]);
    }
    // results stand in the order of their calls
    for (const id of [...this.#calls.keys(), ""]) {
      const result = answered.get(id);
      if (result !== undefined) this.#push(...result);
    }
    messages.forEach(({ path, blocks }, index) => {
      const own = blocks
        .filter(({ block }) => block["type"] !== "tool_result")
        .flatMap((one) => placed(partsOf(one, this.#left), one));
      const all = index === 0 ? [...media, ...own] : own;
      const parts = all.map(({ part }) => part);
      const paths = all.map((one) => one.path);
      if (parts.length > 0) this.#push({ role: "user", content: plainText(parts) ?? parts }, path, paths);
    });
  }

  /** Returns the id of the call that a result answers. */
  #answeredCall(block: JsonObject, path: string): string {
    const id = filledTextAt(block, "tool_use_id", path);
    const call = this.#calls.get(id);
    const named = JSON.stringify(id.slice(0, 64));
    if (call === undefined)
      throw bad(`${path}.tool_use_id`, `names no tool_use of the message before it; got ${named}.`);
    if (call.isAnswered) throw bad(`${path}.tool_use_id`, `names a tool_use that has a result already: ${named}.`);
    call.isAnswered = true;
    return id;
  }

  /** Images and documents of a result are added to `media`: only text can stand in a tool message everywhere. */
  #result(block: JsonObject, path: string, id: string, media: PlacedPart[]): Message {
    const texts: ContentPart[] = [];
    const content = given(block, "content");
    const blocks = content === undefined ? [] : placedBlocks(content, `${path}.content`);
    for (const inner of blocks)
      for (const one of placed(resultParts(inner, this.#left), inner))
        if (one.part.type === "text") texts.push(one.part);
        else media.push(one);
    return {
      role: "tool",
      tool_call_id: providerCallId(id),
      content: plainText(texts) ?? texts,
      ...(block["is_error"] === true && { is_error: true }),
      ...cacheMark(block, path),
    };
  }

  #addAssistant(messages: readonly SentMessage[]): void {
    const turn = new AssistantTurn(this.#left);
    for (const { blocks } of messages) for (const one of blocks) turn.add(one);
    this.#calls = turn.calls;
    this.#push(turn.message(), messages[0]!.path);
  }
}

/** The system message of blocks of text; null when there are none. A block of another type is added to `left`. */
export function systemMessage(blocks: readonly PlacedBlock[], left: Untranslated[]): Message | null {
  const parts = blocks.flatMap(({ block, path }) => {
    const type = block["type"] as string;
    if (type === "text") return [textPart(block, path, left)];
    left.push(
      OF_VENDORS.test(type)
        ? { ...asked(path, `a block of type ${type}`), ...addedTool(block) }
        : never(path, `a block of type ${JSON.stringify(type.slice(0, 64))} in a system message`, "leave it out"),
    );
    return [];
  });
  return parts.length === 0 ? null : { role: "system", content: plainText(parts) ?? parts };
}

/** https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages: a tool that is added by value. */
function addedTool({ tool }: JsonObject): Pick<Untranslated, "tool"> {
  const { definition } = isObject(tool) ? tool : {};
  return isObject(definition) ? { tool: wordsOfTool(definition) } : {};
}

/** The tools that a block adds which stands for earlier turns. */
function changedTools({ tool_changes: changes }: JsonObject, path: string): readonly Untranslated[] {
  return listIn(changes).flatMap((change, index) => {
    const added = isObject(change) ? addedTool(change) : {};
    return added.tool === undefined ? [] : [{ ...asked(`${path}.tool_changes[${index}]`, "a tool"), ...added }];
  });
}

/** Notes a result behind another block, which the vendor refuses as well. */
function resultsOf(blocks: readonly PlacedBlock[], left: Untranslated[]): readonly PlacedBlock[] {
  const results = blocks.filter(({ block }) => block["type"] === "tool_result");
  const misplaced = results.find((result, index) => blocks[index] !== result);
  if (misplaced !== undefined)
    left.push(
      invalidPart(
        bad(
          misplaced.path,
          "must stand before all blocks of other types: results of tools come first in their message.",
        ),
      ),
    );
  return results;
}

/** Empty text in a result is accepted, as by the vendor. */
function resultParts(inner: PlacedBlock, left: Untranslated[]): readonly ContentPart[] {
  const { block, path } = inner;
  if (block["type"] === "text" && block["text"] === "") return [];
  if (block["type"] !== "tool_reference") return partsOf(inner, left);
  return [{ type: "text", text: filledTextAt(block, "tool_name", path) }];
}

/** What vendors run themselves, and what only they can read. */
const OF_VENDORS =
  /^(?:server_tool_use|mcp_tool_use|\w+_tool_result|container_upload|compaction|fallback|tool_(?:addition|removal))$/;

class AssistantTurn {
  readonly calls = new Map<string, OpenCall>();
  readonly #left: Untranslated[];
  readonly #parts: ContentPart[] = [];
  readonly #details: ReasoningDetail[] = [];
  readonly #toolCalls: ToolCall[] = [];
  readonly #order = new TurnOrder();
  #reasoning = "";

  constructor(left: Untranslated[]) {
    this.#left = left;
  }

  add(one: PlacedBlock): void {
    this.#add(one);
    this.#order.note({
      text: this.#parts.length,
      reasoning: this.#reasoning.length,
      details: this.#details.length,
      calls: this.#toolCalls.length,
    });
  }

  #add({ block, path }: PlacedBlock): void {
    const type = block["type"] as string;
    switch (type) {
      case "text":
        this.#parts.push(textPart(block, path, this.#left));
        return;
      case "thinking":
        this.#addThinking(
          textAt(block, "thinking", path),
          orLeft(this.#left, "", () => textAt(block, "signature", path)),
        );
        return;
      case "redacted_thinking":
        this.#details.push(redactedDetail(filledTextAt(block, "data", path), this.#details.length));
        return;
      case "tool_use":
        this.#addCall(block, path);
        return;
      default:
        if (OF_VENDORS.test(type))
          this.#left.push(asked(path, `a block of type ${type}`), ...changedTools(block, path));
        else
          this.#left.push(
            never(
              path,
              `a block of type ${JSON.stringify(type.slice(0, 64))} in a message of the assistant`,
              "leave it out",
            ),
          );
    }
  }

  /** Reasoning without a signature is that of a provider that does not sign it. */
  #addThinking(text: string, signature: string): void {
    this.#reasoning += text;
    if (signature === "") return;
    const detail = thinkingDetail(text, signature, this.#details.length);
    if (detail !== null) this.#details.push(detail);
  }

  #addCall(block: JsonObject, path: string): void {
    const id = filledTextAt(block, "id", path);
    const name = filledTextAt(block, "name", path);
    const input = orLeft(this.#left, { value: block["input"] ?? null }, () => objectAt(block, "input", path));
    if (this.calls.has(id))
      this.#left.push(
        invalidPart(bad(`${path}.id`, `must be unique; two calls have the id ${JSON.stringify(id.slice(0, 64))}.`)),
      );
    const { caller } = block;
    if (isObject(caller) && caller["type"] !== "direct")
      this.#left.push(asked(`${path}.caller`, "a call by code that a vendor runs"));
    this.calls.set(id, { path, name, isAnswered: false });
    this.#toolCalls.push({
      id: providerCallId(id),
      type: "function",
      function: { name: chatToolName(name), arguments: JSON.stringify(input) },
      ...cacheMark(block, path),
    });
  }

  message(): Message {
    const content = this.#content();
    const { pieces } = this.#order;
    const lengths = this.#parts.map((part) => (part["text"] as string).length);
    const message: Message = {
      role: "assistant",
      content,
      ...(this.#reasoning !== "" && { reasoning_content: this.#reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#toolCalls.length > 0 && { tool_calls: this.#toolCalls }),
    };
    return withOrder(message, typeof content === "string" ? inCharacters(pieces, lengths) : pieces);
  }

  /** Texts are joined, because many servers take a string only; marks and citations need parts. */
  #content(): string | readonly ContentPart[] | null {
    if (this.#parts.length === 0) return this.#toolCalls.length > 0 ? null : "";
    const isPlain = this.#parts.every((part) => Object.keys(part).length === 2);
    return isPlain ? this.#parts.map((part) => part["text"] as string).join("") : this.#parts;
  }
}

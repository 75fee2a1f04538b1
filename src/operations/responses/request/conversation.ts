// Builds the messages of a chat completion from items one by one. Items of one turn of the model become one assistant
// message, and the outputs of its calls follow it directly, with their images and files in one user message behind them.
import { invalidRequest } from "../../../core/refusals.ts";
import { TurnOrder, withOrder } from "../../../core/request/turn-order.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { plainText } from "./translated-parts.ts";
import type { UntranslatedParts } from "./untranslated-parts.ts";

const REASONING_BREAK = "\n\n";

/** A turn of the model. */
interface Turn {
  readonly origin: string;
  readonly parts: JsonObject[];
  refusal: string;
  readonly reasoning: string[];
  /** What the providers need back of the reasoning. */
  readonly carriers: string[];
  readonly calls: JsonObject[];
  readonly outputs: JsonObject[];
  /** The images and files of the outputs. */
  readonly media: JsonObject[];
  readonly order: TurnOrder;
  readonly mediaOrigins: string[];
  readonly outputOrigins: string[];
  hasMessage: boolean;
}

interface Reasoning {
  readonly text: string;
  readonly carrier: string | null;
  readonly path: string;
}

interface Call {
  readonly turn: Turn;
  readonly path: string;
  /** Whether a tool server of the request may run the call, so that it needs no output where it is the last. */
  readonly isServers: boolean;
  hasOutput: boolean;
}

interface SentCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly path: string;
}

export interface TranslatedConversation {
  readonly messages: readonly JsonObject[];
  /** Where each of them stands in the request. */
  readonly origins: readonly string[];
  readonly approved: readonly string[];
  readonly asked: ReadonlyMap<string, string>;
}

export class ConversationBuilder {
  readonly #left: UntranslatedParts;
  readonly #approved = new Set<string>();
  /** The tools of tool servers, as `toolPlace`, by the ids of the requests for approval. */
  readonly asked = new Map<string, string>();
  /** The ids of requests for approval that are not as the client has seen them. */
  readonly redacted = new Set<string>();
  readonly #entries: (Turn | { readonly message: JsonObject; readonly origin: string })[] = [];
  /** By their ids. Some providers use an id again in each answer, so that the last call with an id is meant. */
  readonly #calls = new Map<string, Call>();
  #turn: Turn | null = null;
  /** The turn of the last call of a tool server. */
  #servers: Turn | null = null;
  /** Reasoning that belongs to the next item of the model. */
  #reasoning: Reasoning[] = [];

  constructor(left: UntranslatedParts) {
    this.#left = left;
  }

  addMessage(role: string, content: Json, path: string): void {
    this.#leaveReasoning();
    this.#turn = null;
    this.#entries.push({ message: { role, content }, origin: path });
  }

  addReasoning(reasoning: Reasoning): void {
    this.#reasoning.push(reasoning);
  }

  /** Adds what the model said. A second message of one turn begins a new one, unless calls stand between them. */
  addAnswer(parts: readonly JsonObject[], path: string): void {
    const isNew = this.#turn?.hasMessage === true && this.#turn.calls.length === 0;
    const turn = this.#currentTurn(path, isNew);
    turn.hasMessage = true;
    for (const part of parts)
      if (part["type"] === "refusal") turn.refusal += part["refusal"] as string;
      else turn.parts.push(part);
    noteOrder(turn);
  }

  hasCall(id: string): boolean {
    return this.#calls.has(id);
  }

  /** Notes a call whose id another call has that is not answered yet. */
  addCall(id: string, name: string, text: string, path: string, isServers = false): void {
    this.#addCall({ id, name, text, path }, isServers, false);
  }

  /** Adds a call of a tool server. `isTogether`: made with the call of a server before it. */
  addServersCall(call: SentCall, isServers: boolean, isTogether: boolean): void {
    this.#addCall(call, isServers, isTogether && this.#turn !== null && this.#turn === this.#servers);
    this.#servers = this.#turn;
  }

  #addCall({ id, name, text, path }: SentCall, isServers: boolean, isTogether: boolean): void {
    const other = this.#calls.get(id);
    if (other?.hasOutput === false)
      this.#noteInvalid(
        `${path}.call_id`,
        `${path}.call_id is the same as that of ${other.path}, which has no output.`,
      );
    // what was said of the other call does not hold for this one
    for (const ids of [this.#approved, this.asked, this.redacted]) ids.delete(id);
    const turn = this.#currentTurn(path, false, isTogether);
    turn.calls.push({ id, type: "function", function: { name, arguments: text } });
    noteOrder(turn);
    this.#calls.set(id, { turn, path, isServers, hasOutput: false });
  }

  /**
   * `text` and `media` are what the output says, and `member` is the member of its item that names the call. Notes an
   * output without its call.
   */
  addOutput(
    id: string,
    text: Json,
    media: readonly JsonObject[],
    path: string,
    isOpen: boolean,
    member = "call_id",
  ): void {
    this.#leaveReasoning();
    const call = this.#answeredCall(id, `${path}.${member}`, isOpen);
    if (call === null) return this.addMessage("tool", text, path);
    call.hasOutput = true;
    call.turn.outputs.push({ role: "tool", tool_call_id: id, content: text });
    call.turn.outputOrigins.push(path);
    if (media.length > 0) call.turn.mediaOrigins.push(path);
    call.turn.media.push(...media);
  }

  /** The gateway runs an approved call, and adds its result. Notes an approval of what cannot be run. */
  approve(id: string, path: string, isOpen: boolean): void {
    const place = `${path}.approval_request_id`;
    const call = this.#answeredCall(id, place, isOpen);
    if (call?.isServers === false)
      this.#noteInvalid(
        place,
        `${place} approves a call of a tool server that tools does not name. Name the server in tools, as in the request to which the call was the answer.`,
      );
    if (this.redacted.has(id))
      this.#noteInvalid(
        place,
        `${place} approves a call that was redacted when its response was kept, so that not the approved call would run. Send the items of the conversation in input, as they came, in place of what refers to them.`,
      );
    this.#approved.add(id);
  }

  /**
   * Returns the tool call to which an output or an approval refers by this id, or `null` if the input has none. Records an
   * error if the call must be in the input and is not (`isOpen` is false), or if it already has an output.
   */
  #answeredCall(id: string, place: string, isOpen: boolean): Call | null {
    const call = this.#calls.get(id);
    // what came before this input may have the call
    if (call === undefined && !isOpen)
      this.#noteInvalid(
        place,
        `${place} names no call: no tool call with the id ${JSON.stringify(id.slice(0, 128))} stands before it. Send the call itself with its output.`,
      );
    if (call?.hasOutput === true)
      this.#noteInvalid(place, `${place} names a call that has an output already: ${id.slice(0, 128)}.`);
    return call ?? null;
  }

  /** Notes the calls without output. The gateway runs those of tool servers that are the last. */
  end(): TranslatedConversation {
    this.#leaveReasoning();
    const last = this.#entries.at(-1);
    for (const [id, { path, hasOutput, isServers, turn }] of this.#calls) {
      if (hasOutput || (isServers && turn === last)) continue;
      const cure = this.asked.has(id)
        ? "Behind its turn, send nothing but an mcp_approval_response for each call, and name the tool server in tools"
        : "Send an output for each call";
      this.#noteInvalid(
        `${path}.call_id`,
        `${path} has no output: no output for the tool call with the call_id ${JSON.stringify(id.slice(0, 128))} was found. ${cure}, or leave the call out.`,
      );
    }
    const messages: JsonObject[] = [];
    const origins: string[] = [];
    for (const entry of this.#entries) {
      messages.push("message" in entry ? entry.message : assistantMessage(entry));
      origins.push(entry.origin);
      if ("message" in entry) continue;
      messages.push(...entry.outputs);
      origins.push(...entry.outputOrigins);
      if (entry.media.length === 0) continue;
      messages.push({ role: "user", content: entry.media });
      origins.push(entry.mediaOrigins[0]!);
    }
    return { messages, origins, approved: [...this.#approved], asked: this.asked };
  }

  /** Notes what is invalid about the id of a call or an output. */
  #noteInvalid(place: string, message: string): void {
    this.#left.invalid(invalidRequest(place, message));
  }

  /** Items that follow an output begin a new turn. */
  #currentTurn(path: string, isNew: boolean, isTogether = false): Turn {
    if (this.#turn === null || isNew || (this.#turn.outputs.length > 0 && !isTogether)) {
      this.#turn = {
        origin: this.#reasoning[0]?.path ?? path,
        parts: [],
        refusal: "",
        reasoning: [],
        carriers: [],
        calls: [],
        outputs: [],
        media: [],
        order: new TurnOrder(),
        mediaOrigins: [],
        outputOrigins: [],
        hasMessage: false,
      };
      this.#entries.push(this.#turn);
    }
    this.#turn.reasoning.push(...this.#reasoning.map(({ text }) => text).filter((text) => text !== ""));
    this.#turn.carriers.push(...this.#reasoning.flatMap(({ carrier }) => carrier ?? []));
    this.#reasoning = [];
    noteOrder(this.#turn);
    return this.#turn;
  }

  /**
   * Reasoning that no item of the model follows says nothing to a provider by itself. A carrier may be that of the turn
   * before it.
   */
  #leaveReasoning(): void {
    for (const { carrier, path } of this.#reasoning)
      if (carrier !== null && this.#turn !== null && this.#turn.outputs.length === 0) this.#turn.carriers.push(carrier);
      else this.#left.always(path);
    this.#reasoning = [];
  }
}

function noteOrder({ parts, reasoning, carriers, calls, order }: Turn): void {
  order.note({
    text: parts.length,
    reasoning: reasoning.join(REASONING_BREAK).length,
    details: carriers.length,
    calls: calls.length,
  });
}

function assistantMessage({ parts, refusal, reasoning, carriers, calls, order }: Turn): JsonObject {
  const message = {
    role: "assistant",
    content: contentOf(parts, refusal !== "" || calls.length > 0),
    ...(refusal !== "" && { refusal }),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join(REASONING_BREAK) }),
    ...(carriers.length > 0 && {
      reasoning_details: carriers.map((data, index) => ({ type: "reasoning.encrypted", data, index })),
    }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return withOrder(message, order.pieces);
}

function contentOf(parts: readonly JsonObject[], mayBeNull: boolean): Json {
  if (parts.length === 0) return mayBeNull ? null : "";
  return plainText(parts) ?? parts;
}

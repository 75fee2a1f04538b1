// The events of chat completions: each entry of `choices` of a strict chunk becomes one. It writes JSON text itself,
// because nearly all of a stream is one short delta after another.

// Decides (the answer): When does a client see `usage` in a stream? By: `end`. Rule: Only if it asked for it. The
// provider is always asked: `providers/openai-compatible/encode-request.ts` (`putStreamOptions`).
import { type AnswerFrame, answerId, answerTime } from "../../engine/answer/strict-fields.ts";
import { calledIn, hasOwnMembers } from "../../engine/stream/tool-call-deltas.ts";
import { isOpening } from "../../engine/stream/stream-stage.ts";
import type { StreamWriter } from "../../engine/stream/stream-writer.ts";
import { VendorFields } from "../../engine/stream/vendor-fields.ts";
import type { ChatChunk, ChunkChoice, ChunkDelta, ToolCallDelta, Usage } from "../../core/chat.ts";
import { CHOICE_MEMBERS, isTextMember } from "../../core/delta-members.ts";
import { isSet, isText, type Json, type JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";

const OPENING = '{"role":"assistant","content":""}';

export class StreamSerializer implements StreamWriter {
  readonly #frame: AnswerFrame;
  readonly #includeUsage: boolean;
  readonly #tail: string;
  readonly #vendor = new VendorFields();
  /** The members that only the first and the last event have (promise 8.1). */
  readonly #outerMembers: string;
  /** The beginning of every event; empty before the first chunk with an id or a choice. */
  #head: string;
  #hasBegun: boolean;
  #hasContent = false;

  /** `head` is empty unless the stream continues the events of an earlier round. */
  constructor(frame: AnswerFrame, includeUsage: boolean, head = "") {
    this.#frame = frame;
    this.#includeUsage = includeUsage;
    this.#tail = includeUsage ? ',"usage":null}\n\n' : "}\n\n";
    this.#outerMembers = `,"route":${JSON.stringify(frame.route)},"x_gateway_trace_id":"${frame.traceId}"`;
    this.#head = head;
    this.#hasBegun = head !== "";
  }

  get hasContent(): boolean {
    return this.#hasContent;
  }
  /** False while vendor fields of earlier chunks wait for the next event. */
  get repeatsEvents(): boolean {
    return !this.#vendor.areWaiting;
  }

  write(chunk: ChatChunk): string {
    // Azure's chunk about the prompt comes first, without an id and without a choice
    if (this.#head === "" && (chunk.choices.length > 0 || (typeof chunk.id === "string" && chunk.id !== "")))
      this.#head = this.#headOf(chunk);
    this.#vendor.take(chunk);
    let out = "";
    for (const choice of chunk.choices) out += this.#event(choice, this.#hasBegun ? "" : this.#outerMembers);
    this.#vendor.keep(chunk);
    return out;
  }

  end(chunk: ChatChunk, total: Usage, report: JsonObject | null): string {
    let out = "";
    const extra = report === null ? "" : `,"x_gateway_mcp":${JSON.stringify(report)}`;
    this.#vendor.takeWaiting();
    const last = this.#includeUsage ? undefined : chunk.choices.at(-1);
    for (const choice of chunk.choices) {
      const outer = choice === last ? this.#outerMembers : "";
      out += this.#event(choice, choice.finish_reason === undefined ? outer : outer + extra);
    }
    if (this.#includeUsage)
      out += `${this.#head}${this.#outerMembers},"choices":[],"usage":${JSON.stringify(total)}}\n\n`;
    return out;
  }

  continued(frame: AnswerFrame, includeUsage: boolean): StreamSerializer {
    return new StreamSerializer(frame, includeUsage, this.#head);
  }

  activity({ activity }: ReportedActivity): string {
    this.#hasContent = true;
    return `${this.#head},"x_gateway_mcp":${JSON.stringify(activity)},"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":null}]${this.#tail}`;
  }

  #headOf(chunk: ChatChunk): string {
    const { nowSeconds, model } = this.#frame;
    // the text is flattened once, because every event begins with it and would traverse a string composed of pieces
    // again
    return flat(
      `data: {"id":${JSON.stringify(answerId(chunk.id, this.#frame))},"object":"chat.completion.chunk","created":${answerTime(chunk.created, nowSeconds)},"model":${JSON.stringify(model)}`,
    );
  }

  /** `members` are further members of the event, as JSON text. */
  #event(choice: ChunkChoice, members: string): string {
    const { index, delta, finish_reason: finish, logprobs } = choice;
    const json = delta === undefined ? "" : deltaJson(delta);
    const extra = extraMembers(choice);
    const hasFinish = finish !== null && finish !== undefined;
    const hasLogprobs = logprobs !== null && logprobs !== undefined;
    if (json === "" && extra === "" && !hasFinish && !hasLogprobs) return "";
    this.#hasBegun = true;
    if (!this.#hasContent) this.#hasContent = json !== "" && json !== OPENING && delta!["annotations"] === undefined;
    return `${this.#head}${members}${this.#vendor.use()},"choices":[{"index":${index},"delta":${json === "" ? "{}" : json},"logprobs":${hasLogprobs ? JSON.stringify(logprobs) : "null"},"finish_reason":${hasFinish ? `"${finish}"` : "null"}${extra}}]${this.#tail}`;
  }
}

/** Returns the same text in one piece of memory. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}

/** Returns the delta, which has one kind of content, as JSON; empty when it has nothing. */
function deltaJson(delta: ChunkDelta): string {
  const { content, tool_calls: calls, reasoning_content: reasoning, refusal } = delta;
  if (typeof content === "string" && content !== "") return `{"content":${JSON.stringify(content)}}`;
  if (calls !== null && calls !== undefined) return callsJson(calls);
  if (typeof reasoning === "string" && reasoning !== "") return `{"reasoning_content":${JSON.stringify(reasoning)}}`;
  if (typeof refusal === "string" && refusal !== "") return `{"refusal":${JSON.stringify(refusal)}}`;
  return isOpening(delta) ? OPENING : membersJson(delta);
}

function callsJson([call]: readonly ToolCallDelta[]): string {
  const json = call === undefined ? "" : callJson(call);
  return json === "" ? "" : `{"tool_calls":[${json}]}`;
}

function membersJson(delta: ChunkDelta): string {
  let members = "";
  for (const name in delta) {
    const value = delta[name];
    if (value === null || value === undefined || isNothing(name, value)) continue;
    members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return members === "" ? "" : `{${members}}`;
}

/** Whether a member of the protocol is empty. A vendor's own member is sent as it is. */
function isNothing(name: string, value: Json): boolean {
  if (name === "role" || isTextMember(name)) return true;
  switch (name) {
    case "reasoning_details":
      return Array.isArray(value) && value.length === 0;
    case "function_call": {
      const { name: called, arguments: text } = value as ToolCallDelta["function"] & object;
      return typeof called !== "string" && text === "";
    }
    default:
      return false;
  }
}

/** A call comes once with its id and name; its other deltas are pieces of arguments. Empty when it says nothing. */
function callJson(call: ToolCallDelta): string {
  const { index, id, custom } = call;
  const { name, text } = calledIn(call);
  const hasOwn = hasOwnMembers(call);
  if (!isText(name) && text === "" && !hasOwn) return "";
  // there are few such calls
  if (hasOwn || isSet(custom)) return JSON.stringify(call);
  return isText(name)
    ? `{"index":${index},"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(name)},"arguments":${JSON.stringify(text)}}}`
    : `{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}`;
}

/** Returns a vendor's own members of a choice, as further members of the JSON object. */
function extraMembers(choice: ChunkChoice): string {
  let extra = "";
  for (const name in choice)
    if (!CHOICE_MEMBERS.has(name) && isSet(choice[name]))
      extra += `,${JSON.stringify(name)}:${JSON.stringify(choice[name])}`;
  return extra;
}

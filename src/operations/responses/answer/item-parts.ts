// The items of an answer while they are written, and as they are in the response object.
import { type Json, type JsonObject, jsonIn } from "../../../core/json.ts";
import type { JsonProgress } from "../../../engine/stream/json-progress.ts";
import { PARTS } from "../../../providers/responses/stream-grammar.ts";
import { partJson } from "../part-members.ts";
import type { ClientTool } from "../request-memo.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export interface TextPart {
  readonly type: "output_text" | "refusal";
  text: string;
  readonly annotations: Json[];
  readonly logprobs: Json[];
  /** Where the text begins in the content of the chat completion, whose citations count from there. */
  readonly start: number;
}

export interface MessageItem {
  readonly kind: "message";
  readonly id: string;
  readonly parts: TextPart[];
}

export interface ReasoningItem {
  readonly kind: "reasoning";
  readonly id: string;
  text: string;
  /** What the provider needs back of it; `null` where nothing has come. */
  carrier: string | null;
}

export interface CallItem {
  readonly kind: "call";
  readonly id: string;
  /** The index of the call in the chat completion. */
  readonly index: number;
  readonly callId: string;
  readonly tool: CalledTool;
  text: string;
  /** How far `text` has come as JSON. */
  readonly progress: JsonProgress;
  /** Whether the value is valid that has ended; `null` while nobody has asked. */
  isValid: boolean | null;
}

/** A call of a tool server that the gateway runs. */
export interface ServedItem {
  readonly kind: "served";
  readonly id: string;
  /** The id of the call in the chat completion. */
  readonly callId: string;
  readonly server: string;
  readonly name: string;
  readonly text: string;
  /** The id of the request for approval that the client has answered; `null` where none was needed. */
  readonly approvedAs: string | null;
  /** What the tool has answered; `null` while it runs. */
  result: { readonly text: string; readonly isError: boolean } | null;
}

/** The tools of one server. */
export interface ListItem {
  readonly kind: "list";
  readonly id: string;
  readonly server: string;
  readonly tools: readonly JsonObject[];
  /** Why there are none; `null` where the server has answered. */
  readonly error: string | null;
}

export type OpenItem = MessageItem | ReasoningItem | CallItem | ServedItem | ListItem;

/** What is called: a tool of the client, or one of a tool server that waits for the client's approval. */
export type CalledTool = ClientTool | { readonly kind: "approval"; readonly name: string; readonly server: string };

export const ID_PREFIXES: Readonly<Record<CalledTool["kind"], string>> = {
  function: "fc_",
  freeform: "ctc_",
  tool_search: "tsc_",
  approval: "mcpr_",
};

/** Returns the item with what it has so far. */
export function itemJson(item: OpenItem, status: ItemStatus): JsonObject {
  if (item.kind === "call") return callJson(item, status);
  if (item.kind === "list") return listJson(item, status);
  if (item.kind === "served") return servedJson(item, status);
  if (item.kind === "message")
    return { id: item.id, type: "message", status, role: "assistant", content: contentOf(item) };
  const summary = item.text === "" ? [] : [partJson(PARTS.reasoning.summary_text, item)];
  return {
    id: item.id,
    type: "reasoning",
    summary,
    ...(item.carrier !== null && { encrypted_content: item.carrier }),
    status,
  };
}

function contentOf({ parts }: MessageItem): readonly JsonObject[] {
  return parts.map((part) => partJson(PARTS.message[part.type], part));
}

function listJson({ id, server, tools, error }: ListItem, status: ItemStatus): JsonObject {
  return {
    id,
    type: "mcp_list_tools",
    server_label: server,
    tools: status === "in_progress" ? [] : tools,
    ...(error !== null && status !== "in_progress" && { error }),
  };
}

function servedJson(item: ServedItem, status: ItemStatus): JsonObject {
  const { id, server, name, text, approvedAs, result } = item;
  return {
    id,
    type: "mcp_call",
    status: status === "completed" && result?.isError === true ? "failed" : status,
    server_label: server,
    name,
    arguments: text,
    approval_request_id: approvedAs,
    output: result === null || result.isError ? null : result.text,
    error:
      result?.isError === true
        ? { type: "mcp_tool_execution_error", content: [{ type: "text", text: result.text }] }
        : null,
  };
}

function callJson({ id, callId, tool, text }: CallItem, status: ItemStatus): JsonObject {
  const called = tool.kind === "approval" || tool.namespace === null ? {} : { namespace: tool.namespace };
  switch (tool.kind) {
    case "freeform":
      return {
        id,
        type: "custom_tool_call",
        status,
        call_id: callId,
        ...called,
        name: tool.name,
        input: customInput(text),
      };
    case "tool_search":
      return { id, type: "tool_search_call", status, call_id: callId, execution: "client", arguments: objectOf(text) };
    case "approval":
      return { id, type: "mcp_approval_request", server_label: tool.server, name: tool.name, arguments: text };
    default:
      return { id, type: "function_call", status, call_id: callId, ...called, name: tool.name, arguments: text };
  }
}

/**
 * Returns the input of a custom tool from the arguments of its function: the member `input`, or the only member, because
 * models use other names as well. A text that is no such object is the input itself.
 */
export function customInput(text: string): string {
  const values = Object.entries(objectOf(text));
  const input = values.find(([name]) => name === "input") ?? (values.length === 1 ? values[0] : undefined);
  return typeof input?.[1] === "string" ? input[1] : text;
}

function objectOf(text: string): JsonObject {
  const value = jsonIn(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** A longer number or word is no whole value before the end of the answer. */
const MAX_WORD = 64;

/** Whether the arguments of a call are complete. */
export function isWhole(call: CallItem): boolean {
  const { text, progress } = call;
  if (!progress.hasEnded) return text.length <= MAX_WORD && jsonIn(text) !== undefined;
  call.isValid ??= jsonIn(text) !== undefined;
  return call.isValid;
}

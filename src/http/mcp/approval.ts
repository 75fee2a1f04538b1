// The approval of a call by a person, as the protocol asks for it: in version 2026-07-28 the first answer is a question, and
// the client repeats the call with the person's answer. A client of an earlier version gets the question on the stream of
// the call, and answers with a message of its own, which any worker and any replica may receive.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
import type { CallToolRequest, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { pause } from "../../core/concurrency/timeout.ts";
import { newRandomId } from "../../core/ids.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { KeptStore } from "../../engine/keeping/kept-store.ts";

export interface Question {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: "object";
    readonly properties: Record<string, { readonly type: "boolean"; readonly title: string; readonly default: false }>;
    readonly required: string[];
  };
}

/** The longest piece of arguments that a person is shown. */
const MOST_SHOWN = 2000;
/** In characters. */
const MOST_ANSWER = 16_384;
const ASK_EVERY_MS = 250;

export function questionAbout(
  { arguments: args = {} }: CallToolRequest["params"],
  { server_label: label, tool }: { readonly server_label: string; readonly tool: string },
): Question {
  const text = JSON.stringify(args);
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return {
    message: `Run the tool ${tool} of the tool server ${label} with these arguments? ${shown}`,
    requestedSchema: {
      type: "object",
      properties: { approve: { type: "boolean", title: "Run the tool", default: false } },
      required: ["approve"],
    },
  };
}

/** `answer` is what a client says of the person whom it has asked. */
export function isApproval(answer: unknown): boolean {
  return (
    isObject(answer) &&
    answer["action"] === "accept" &&
    isObject(answer["content"]) &&
    answer["content"]["approve"] === true
  );
}

/** Whether a client of an earlier version can ask a person stands in its session, so that nothing has to be kept of it. */
const ASKING = "asks-";

export function newSession({ params }: JsonObject): string {
  const capabilities = isObject(params) ? params["capabilities"] : null;
  const asks = isObject(capabilities) && isObject(capabilities["elicitation"]);
  return `${asks ? ASKING : "plain-"}${newRandomId()}`;
}

export function isAskingSession(session: string | null): boolean {
  return session?.startsWith(ASKING) === true;
}

/** Where answers wait for the call that has asked; of the tenant of the caller. */
export interface Answers {
  readonly kept: KeptStore<unknown>;
  readonly tenantId: string;
}

/** Asks on the stream of a call. Resolves with the client's answer, or rejects with the signal's reason. */
export async function askedOnStream(
  question: Question,
  { server }: McpServer,
  { mcpReq }: Pick<ServerContext, "mcpReq">,
  signal: AbortSignal,
  { kept, tenantId }: Answers,
): Promise<Json> {
  const id = newRandomId();
  await server.transport!.send(
    { jsonrpc: "2.0", id, method: "elicitation/create", params: { ...question } },
    { relatedRequestId: mcpReq.id },
  );
  for (;;) {
    signal.throwIfAborted();
    const found = await kept.find(tenantId, answerId(id));
    if (found !== null) {
      await kept.remove(tenantId, answerId(id));
      return found.value as Json;
    }
    await pause(ASK_EVERY_MS, signal);
  }
}

/** Keeps the answer of a client for the call that waits for it, wherever that runs. */
export async function keepAnswer(message: JsonObject, { kept, tenantId }: Answers): Promise<void> {
  const { id, result = null } = message;
  const { length } = JSON.stringify(result);
  if (typeof id !== "string" || length > MOST_ANSWER) return;
  await kept.keep({ tenantId, ids: [answerId(id)], value: result, size: () => length });
}

function answerId(id: string): string {
  return `mcp-answer ${id.slice(0, 64)}`;
}

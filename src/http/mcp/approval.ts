// The approval of a call by a person, as the protocol asks for it: in version 2026-07-28 the first answer is a question, and
// the client repeats the call with the person's answer. A client of an earlier version gets the question on the stream of
// the call, and answers with a message of its own, which any worker and any replica may receive.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
import type { CallToolRequest, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { mostOfTenant, OpenCount } from "../../core/concurrency/open-count.ts";
import { LATE, pause, within } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
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
const MOST_ID = 64;
/** About what an object takes in a store beside its value. */
const KEPT_BYTES = 1024;
const ASK_EVERY_MS = 250;
/** The store makes room for new objects of the tenant by the oldest: after so many looks, a question is a new one again. */
const LOOKS_UNTIL_KEPT_AGAIN = 8;
const MOST_QUESTIONS = 1000;
const MOST_QUESTIONS_OF_TOKEN = 50;

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

/** Where answers wait for the call that has asked; of the tenant of the caller, whose token alone may answer. */
export interface Answers {
  readonly kept: KeptStore<unknown>;
  readonly tenantId: string;
  readonly tokenId: string;
}

/** How a call waits for a person. */
export interface Waiting {
  /** How long at most. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  isRetiring(): boolean;
}

/** Bounds the questions on streams that wait in this process, each of which looks for its answer all the time. */
export class OpenQuestions {
  readonly #open = new OpenCount(MOST_QUESTIONS);

  /** Returns what ends the wait. Throws `gateway_overloaded`. */
  begin({ tenantId, id }: AccessToken): () => void {
    const ended = this.#open.begin(tenantId, id, MOST_QUESTIONS_OF_TOKEN);
    if (ended === null)
      throw new GatewayError(
        "gateway_overloaded",
        `Too many calls of tools wait for an approval (at most ${MOST_QUESTIONS}, ${mostOfTenant(MOST_QUESTIONS)} of one tenant and ${MOST_QUESTIONS_OF_TOKEN} with one token).`,
      );
    return ended;
  }
}

/**
 * Asks on the stream of a call. Resolves with the client's answer. Rejects with `approval_required` when there is none in
 * time, with `shutting_down` when the gateway ends, or with the signal's reason.
 */
export async function askedOnStream(
  question: Question,
  { server }: McpServer,
  { mcpReq }: Pick<ServerContext, "mcpReq">,
  waiting: Waiting,
  answers: Answers,
): Promise<Json> {
  const id = newRandomId();
  await keepQuestion(id, answers);
  try {
    await server.transport!.send(
      { jsonrpc: "2.0", id, method: "elicitation/create", params: { ...question } },
      { relatedRequestId: mcpReq.id },
    );
    return await answerTo(id, waiting, answers);
  } finally {
    await forget(id, answers);
  }
}

async function keepQuestion(id: string, { kept, tenantId, tokenId }: Answers): Promise<void> {
  await kept.keep({ tenantId, projectId: null, ids: [questionId(id)], value: tokenId, size: () => KEPT_BYTES });
}

async function forget(id: string, { kept, tenantId }: Answers): Promise<void> {
  try {
    await kept.remove(tenantId, questionId(id));
    await kept.remove(tenantId, answerId(id));
  } catch {
    // the store is away, and what it has expires
  }
}

async function answerTo(id: string, waiting: Waiting, answers: Answers): Promise<Json> {
  const { timeoutMs } = waiting;
  let isOver = false;
  try {
    const answer = await within(
      lookedFor(id, waiting, answers, () => isOver),
      timeoutMs,
    );
    if (answer !== LATE) return answer;
  } finally {
    isOver = true;
  }
  throw new GatewayError("approval_required", `Nobody has approved the call within ${timeoutMs / 1000} s.`);
}

/** Looks for the answer until `isOver`, also where the store is away for a time. */
async function lookedFor(id: string, waiting: Waiting, answers: Answers, isOver: () => boolean): Promise<Json> {
  const { kept, tenantId } = answers;
  const { signal } = waiting;
  let wasAway = false;
  for (let looks = 1; !isOver(); looks++) {
    signal.throwIfAborted();
    if (waiting.isRetiring())
      throw new GatewayError("shutting_down", "The gateway is shutting down, and nobody has approved the call yet.");
    try {
      // a store that is back may have lost what it had
      if (wasAway) await keepQuestion(id, answers);
      wasAway = false;
      // one that has no room for it may have it still
      if (looks % LOOKS_UNTIL_KEPT_AGAIN === 0) await keepQuestion(id, answers).catch(() => {});
      const found = await kept.find(tenantId, answerId(id));
      if (found !== null) return found.value as Json;
    } catch {
      wasAway = true;
    }
    await pause(ASK_EVERY_MS, signal);
  }
  return null;
}

/**
 * Keeps the answer of a client for the call that waits for it, wherever that runs. An answer that no call of the same
 * token waits for is thrown away.
 */
export async function keepAnswer(message: JsonObject, { kept, tenantId, tokenId }: Answers): Promise<void> {
  const { id, result = null } = message;
  const { length } = JSON.stringify(result);
  if (typeof id !== "string" || id.length > MOST_ID || length > MOST_ANSWER) return;
  const asked = await kept.find(tenantId, questionId(id));
  if (asked?.value !== tokenId) return;
  await kept.keep({ tenantId, projectId: null, ids: [answerId(id)], value: result, size: () => KEPT_BYTES + length });
}

function questionId(id: string): string {
  return `mcp-question ${id}`;
}

function answerId(id: string): string {
  return `mcp-answer ${id}`;
}

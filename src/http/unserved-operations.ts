// Operations of model APIs that this gateway does not serve. Each is refused with a hint for the clients that use it,
// in the form of the operation that it belongs to, and leaves a record like any refused call (promises 9.6, 11.1, 12.1).

// Decides (the answer): Which operations of model APIs are not served, and what do they answer? By: `HINTS`. Rule: 501
// `not_implemented` with what is served instead, for files, audio, images, batches and others; 404 for what is unknown.
import { identify, presentedToken } from "../auth/identify.ts";
import { type CalledOperation, GATEWAY_ERRORS } from "../engine/call/called-operation.ts";
import { ReceivedCall } from "../engine/call/received-call.ts";
import type { ChatContext } from "../engine/call/context.ts";
import { GatewayError } from "../core/errors.ts";
import { OPERATIONS } from "../operations/operations.ts";
import { BASES, CALL_PATHS } from "./paths.ts";

const CHAT = "POST /api/v1/chat/completions";
const MAX_PATH = 200;
/** What OpenAI's API has below this path, and as its list, is about chat completions that are stored. */
export const CHAT_COMPLETIONS = "chat/completions";

/**
 * Parts of APIs of which others are served, by the first segment of their path below the base address, or the first two. They are answered
 * with 501; every other operation is unknown.
 */
const HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [CHAT_COMPLETIONS]: `Chat completions are not stored, so that there are none to list, read, change or delete. This gateway serves ${CHAT}.`,
    responses:
      "Of the Responses API, this gateway serves POST /responses and /responses/input_tokens over HTTP, and GET and DELETE /responses/{id}, /responses/{id}/input_items and /responses/{id}/cancel for what it has kept.",
    messages:
      "Of the Messages API, this gateway serves POST /messages and /messages/count_tokens. Batches are not supported: send the calls one by one.",
    conversations: "Conversations are not stored. Send the whole conversation with each call.",
    assistants: `Assistants are not supported. Use ${CHAT} with tools.`,
    threads: "Threads are not stored. Send the whole conversation with each call.",
    images:
      "The Images API is not supported. Use a model that generates images in chat completions, with `modalities`.",
    audio: "The Audio API is not supported. Use a model with audio in chat completions, with `modalities` and `audio`.",
    files: "Files are not stored. Send the content in the message, as a data URI or a URL.",
    batches: "Batches are not supported. Send the calls one by one.",
    videos: `Videos are not supported. This gateway serves ${CHAT}.`,
    realtime: `Realtime sessions are not supported. Use ${CHAT} with \`stream: true\`.`,
    vector_stores:
      "Vector stores are not supported. Search with POST /embeddings and POST /rerank, and send what was found.",
    uploads: "Files are not stored. Send the content in the message, as a data URI or a URL.",
    containers: `Containers are not supported. Use ${CHAT} with tools that you run yourself.`,
    fine_tuning:
      "Models are not fine-tuned here. A model that was fine-tuned at its vendor is called by its name there.",
    evals: `Evaluations are not supported. Send the calls one by one with ${CHAT}.`,
  }),
);

/** Operations whose errors have the form of another one; an operation that is served has its own. */
const IN_FORM_OF: Readonly<Record<string, string>> = { conversations: "responses" };

/** The form of errors at a path below a base address, by its first segment. */
export function errorsAt(name: string): CalledOperation["errors"] {
  return OPERATIONS.get(`/${IN_FORM_OF[name] ?? name}`)?.errors ?? GATEWAY_ERRORS;
}

/** The form of errors at a path: that of the operation which it calls, or beside which it stands. */
export function errorsBeside(path: string): CalledOperation["errors"] {
  for (const [served, { errors }] of CALL_PATHS) if (`${path}/`.startsWith(`${served}/`)) return errors;
  return errorsAt(nameBelow(baseOf(path), path));
}

/**
 * The operation that the request asks for, if it is one that is not served; null for every other path. A POST to an
 * unknown path below a base address counts as one, unless the base address has no path.
 */
export function unservedOperation(method: string, path: string): string | null {
  const base = baseOf(path);
  const name = path.startsWith(`${base}/${CHAT_COMPLETIONS}/`) ? CHAT_COMPLETIONS : nameBelow(base, path);
  if (HINTS.has(name)) return name;
  return base !== "" && method === "POST" && name !== "" && name !== "admin" ? name : null;
}

/**
 * Matches a path of the Messages API below a base address that ends with a version: the vendor's libraries add `/v1`
 * themselves.
 */
const VERSION_TWICE = /^(\/api)?\/v1(?:\/v1)+(\/messages(?:\/.*)?)$/;

/** Returns what to set as base address, where a client of the Messages API has set another one. */
function baseHint(path: string): string | null {
  const [, base, operation] = VERSION_TWICE.exec(path) ?? [];
  if (operation === undefined) return null;
  const right = base === undefined ? "" : `, followed by ${base}`;
  return `Unknown path: ${path.slice(0, MAX_PATH)}. Clients of the Messages API add /v1 to their base address themselves: set it to the address of this gateway${right}, without /v1.`;
}

function baseOf(path: string): string {
  return BASES.find((base) => path.startsWith(`${base}/`)) ?? "";
}

function nameBelow(base: string, path: string): string {
  return path.slice(base.length + 1).split("/", 1)[0]!;
}

/**
 * Refuses an operation that `unservedOperation` named. `peer` is the address at the other end of the connection; null
 * when unknown.
 */
export type RefuseUnserved = (operation: string, http: Request, peer: string | null) => Promise<Response>;

/** The refusal is recorded for the project of the request's token if the token is valid, else for the operator. */
export function refuseUnservedWith(context: ChatContext): RefuseUnserved {
  return async (operation, http, peer) => {
    const { pathname } = new URL(http.url);
    const served = http.headers.has("upgrade") ? CALL_PATHS.get(pathname) : undefined;
    const base = baseHint(pathname);
    const errors = served?.errors ?? errorsAt(base === null ? operation : "messages");
    const call = new ReceivedCall({ name: "unserved", errors }, context, http, {
      requestIP: () => (peer === null ? null : { address: peer }),
    });
    try {
      await identify(
        presentedToken(http.headers, call.snapshot),
        call.clientIp,
        call.snapshot,
        context.logins,
        context.clock.now(),
        call.recorder.authenticated,
      );
    } catch {
      // Without a valid token the record names no tenant.
    }
    const requested = `${http.method} ${pathname.slice(0, MAX_PATH)}`;
    const hint = served === undefined ? HINTS.get(operation) : webSocketHint(pathname);
    if (base !== null) return call.fail(new GatewayError("not_found", base, { detail: requested }));
    const message = hint ?? `Unknown operation: ${requested}. This gateway serves ${CHAT}.`;
    const code = hint === undefined ? "operation_not_served" : "not_implemented";
    return call.fail(new GatewayError(code, message, { detail: requested }));
  };
}

function webSocketHint(path: string): string {
  return `WebSocket is not supported. Send POST ${path} over HTTP; where answers are streamed, with \`stream: true\`.`;
}

// Operations of model APIs that this gateway does not serve. Each is refused with a hint for the clients that use it,
// in the form of the operation that it belongs to, and leaves a record like any refused call (promises 9.6, 11.1, 12.1).
import { identify } from "../auth/identify.ts";
import { presentedToken } from "../auth/presented-token.ts";
import { type CalledOperation, GATEWAY_ERRORS } from "../chat/call/called-operation.ts";
import { ReceivedCall } from "../chat/call/received-call.ts";
import type { ChatContext } from "../chat/call/context.ts";
import { GatewayError } from "../core/errors.ts";
import { OPERATIONS } from "../operations/operations.ts";
import { BASES, CALL_PATHS } from "./paths.ts";

const CHAT = "POST /api/v1/chat/completions";
const MAX_PATH = 200;

/** Keys are the first segment of the path below the base address. */
const HINTS: Readonly<Record<string, string>> = {
  responses:
    "Of the Responses API, this gateway serves POST /responses and /responses/input_tokens over HTTP, and GET and DELETE /responses/{id} and /responses/{id}/input_items for what it has kept.",
  messages:
    "Of the Messages API, this gateway serves POST /messages and /messages/count_tokens. Batches are not supported: send the calls one by one.",
  completions: `Legacy completions are not supported. Send the prompt as a message to ${CHAT}; for models that take a raw prompt, the gateway builds one.`,
  conversations: "Conversations are not stored. Send the whole conversation with each call.",
  assistants: `Assistants are not supported. Use ${CHAT} with tools.`,
  threads: "Threads are not stored. Send the whole conversation with each call.",
  images: "The Images API is not supported. Use a model that generates images in chat completions, with `modalities`.",
  audio: "The Audio API is not supported. Use a model with audio in chat completions, with `modalities` and `audio`.",
  files: "Files are not stored. Send the content in the message, as a data URI or a URL.",
  batches: "Batches are not supported. Send the calls one by one.",
  realtime: `Realtime sessions are not supported. Use ${CHAT} with \`stream: true\`.`,
};

/** Operations that have a place in APIs of which others are served: the answer says that they are not implemented. */
const NOT_IMPLEMENTED: ReadonlySet<string> = new Set([
  "responses",
  "messages",
  "conversations",
  "batches",
  "files",
  "images",
  "audio",
]);

/** Operations whose errors have the form of another one; an operation that is served has its own. */
const IN_FORM_OF: Readonly<Record<string, string>> = { conversations: "responses" };

/** The form of errors at a path below a base address, by its first segment. */
export function errorsAt(name: string): CalledOperation["errors"] {
  return OPERATIONS.get(`/${IN_FORM_OF[name] ?? name}`)?.errors ?? GATEWAY_ERRORS;
}

/** The form of errors at a path where nothing is: that of the operation beside which it stands. */
export function errorsBeside(path: string): CalledOperation["errors"] {
  const base = BASES.find((one) => path.startsWith(`${one}/`));
  if (base !== undefined) return errorsAt(path.slice(base.length + 1).split("/", 1)[0]!);
  for (const [served, { errors }] of CALL_PATHS) if (path.startsWith(`${served}/`)) return errors;
  return GATEWAY_ERRORS;
}

/**
 * The operation that the request asks for, if it is one that is not served; null for every other path. A POST to an
 * unknown path below a base address counts as one.
 */
export function unservedOperation(method: string, path: string): string | null {
  const base = BASES.find((one) => path.startsWith(`${one}/`));
  if (base === undefined) return null;
  const name = path.slice(base.length + 1).split("/", 1)[0]!;
  if (Object.hasOwn(HINTS, name)) return name;
  return method === "POST" && name !== "" && name !== "admin" ? name : null;
}

/**
 * Refuses an operation that `unservedOperation` named. `peer` is the address at the other end of the connection; null
 * when unknown.
 */
export type RefuseUnserved = (operation: string, http: Request, peer: string | null) => Promise<Response>;

/** The refusal is recorded for the project of the request's token if the token is valid, else for the operator. */
export function refuseUnservedWith(context: ChatContext): RefuseUnserved {
  return async (operation, http, peer) => {
    const call = new ReceivedCall({ name: "unserved", errors: errorsAt(operation) }, context, http, {
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
    const requested = `${http.method} ${new URL(http.url).pathname.slice(0, MAX_PATH)}`;
    const message = HINTS[operation] ?? `Unknown operation: ${requested}. This gateway serves ${CHAT}.`;
    const code = NOT_IMPLEMENTED.has(operation) ? "not_implemented" : "operation_not_served";
    return call.fail(new GatewayError(code, message, { detail: requested }));
  };
}

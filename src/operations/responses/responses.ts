// The operation responses: `POST /api/v1/responses`, the Responses API in the form that OpenAI and Open Responses
// describe. Requests are translated to chat completions, and answers back. Responses are kept for a while.
import type { CalledOperation } from "../../chat/call/called-operation.ts";
import type { KeptObjects } from "../../chat/keeping/kept-objects.ts";
import type { Operation, ReadyCall } from "../../chat/operation.ts";
import { replyConversation } from "../../chat/reply-conversation.ts";
import { translatedForm } from "../../chat/request/translated-form.ts";
import type { JsonObject } from "../../core/json.ts";
import { settingsOf, type Snapshot } from "../../core/snapshot.ts";
import { earlierResponses, keepResponse } from "./kept-responses.ts";
import { memoOf } from "./request-memo.ts";
import { responseAnswers } from "./response-answers.ts";
import { responseFrame } from "./response-object.ts";
import { RESPONSES_FORM } from "./responses-form.ts";
import { responsesTranslator } from "./translate-request.ts";

/** The code and the trace id of ours stand in the body's `code` and in headers. */
export const RESPONSE_ERRORS: CalledOperation["errors"] = {
  body: ({ code, message, param, entry }) => ({ error: { message, type: entry.type, param, code } }),
};

export const RESPONSES: Operation = {
  name: "responses",
  errors: RESPONSE_ERRORS,
  form: RESPONSES_FORM,
  formFor: (token, { kept }, snapshot) =>
    kept === null || !mayKeep(snapshot, token.tenantId, token.projectId)
      ? RESPONSES_FORM
      : translatedForm(responsesTranslator(earlierResponses(kept, token))),
  refers: refersToKept,
  async reply(ready) {
    const { clock, kept } = ready.call.context;
    const frame = responseFrame(memoOf(ready.request), () => Math.floor(clock.now() / 1000));
    const keep = kept === null ? null : keeping(kept, ready);
    const answer = await replyConversation(ready, responseAnswers(frame, keep));
    if (keep !== null && answer.ok)
      answer.headers.set("x-gateway-response-kept-until", new Date(kept!.untilMs).toISOString());
    return answer;
  },
};

const REFERENCE = /"(?:previous_response_id"\s*:\s*"|item_reference")/;

export function refersToKept(body: Uint8Array): boolean {
  return REFERENCE.test(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"));
}

/** Each scope can say that nothing is kept. */
export function mayKeep(snapshot: Snapshot, tenantId: string, projectId: string | null): boolean {
  return settingsOf({ tenantId, projectId }, snapshot).every((scope) => scope?.keepsResponses !== false);
}

/** Returns what keeps the response of a call; `null` where it may not be kept. */
function keeping(kept: KeptObjects, ready: ReadyCall): ((response: JsonObject) => void) | null {
  const { call, request, principal, explains } = ready;
  const input = memoOf(request).kept;
  const { tenantId, projectId, tokenId, userId } = principal;
  if (input === null || explains || !mayKeep(call.snapshot, tenantId, projectId)) return null;
  // a guard masks only what is sent on, and what is kept would repeat the rest
  if (call.policies?.guardsRequests === true) return null;
  return (response) =>
    keepResponse(kept, { tenantId, projectId, tokenId, userId }, { response, input: input.items }, input.own);
}

// The operation responses: `POST /api/v1/responses`, the Responses API in the form that OpenAI and Open Responses
// describe. Requests are translated to chat completions, and answers back. Responses are kept for a while.
import type { CalledOperation } from "../../engine/call/called-operation.ts";
import type { FormCaller, Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { translatedForm } from "../../engine/request/translated-form.ts";
import { parsedBody } from "../../engine/request/parse.ts";
import { type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import { type EarlierResponses, earlierResponses, NOTHING_EARLIER } from "./keeping/kept-responses.ts";
import { replyInBackground } from "./background/background-reply.ts";
import { memoOf } from "./request-memo.ts";
import { responseKeeping, storeOf } from "./keeping/response-keeping.ts";
import { responseAnswers } from "./response-answers.ts";
import { responseFrame } from "./response-object.ts";
import { RESPONSES_FORM } from "./responses-form.ts";
import { responsesTranslator } from "./request/translate-request.ts";

/** The code and the trace id of ours stand in the body's `code` and in headers. */
export const RESPONSE_ERRORS: CalledOperation["errors"] = {
  body: ({ code, message, param, entry }) => ({ error: { message, type: entry.type, param, code } }),
};

/** The form of callers of whom responses are kept, and of requests that refer to none. */
const KEEPING_FORM = translatedForm(responsesTranslator(NOTHING_EARLIER));

export const RESPONSES: Operation = {
  name: "responses",
  errors: RESPONSE_ERRORS,
  form: RESPONSES_FORM,
  formFor(caller, text) {
    const earlier = earlierIn(caller, text);
    if (earlier === null) return RESPONSES_FORM;
    if (earlier === NOTHING_EARLIER) return KEEPING_FORM;
    return whenReady(earlier, (found) => translatedForm(responsesTranslator(found)));
  },
  refers: refersToKept,
  async reply(ready) {
    const { clock } = ready.call.context;
    const now = (): number => Math.floor(clock.now() / 1000);
    const memo = memoOf(ready.request);
    if (memo.isBackground && !ready.explains) return replyInBackground(ready, now);
    const keeping = responseKeeping(ready);
    const said = keeping?.isStored === true ? { ...memo, repeated: { ...memo.repeated, store: true } } : memo;
    const frame = responseFrame(said, now);
    ready.call.objects.answerId = frame.id;
    const answer = await replyConversation(ready, responseAnswers(frame, keeping?.keep ?? null));
    return keeping !== null && answer.ok ? await keeping.told(answer) : answer;
  },
};

const REFERENCE = /"(?:previous_response_id"\s*:\s*"|item_reference")/;
/** The beginning of the id of a reasoning item, and its content. */
const REASONING = /"rs_/g;
const ENCRYPTED = /"encrypted_content"\s*:\s*"/g;

export function refersToKept(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // nearly no body has these words, and the expressions take a hundred times as long
  return (
    ['previous_response_id"', 'item_reference"', '"rs_'].some((word) => bytes.includes(word)) &&
    mayRefer(bytes.toString("latin1"))
  );
}

/** A reasoning item without its content refers to what is kept of it. */
function mayRefer(text: string): boolean {
  if (REFERENCE.test(text)) return true;
  const items = countOf(REASONING, text);
  return items > 0 && items > countOf(ENCRYPTED, text);
}

function countOf(word: RegExp, text: string): number {
  return text.match(word)?.length ?? 0;
}

/**
 * What a request refers to; `null` where nothing is kept. Throws, or rejects with, GatewayError where it cannot be looked
 * up.
 */
export function earlierIn(
  { token, address, context, snapshot }: FormCaller,
  text: string,
): MaybePromise<EarlierResponses> | null {
  if (context.kept === null || storeOf(snapshot, token) === "off") return null;
  if (!mayRefer(text)) return NOTHING_EARLIER;
  return earlierResponses(context, { token, address, snapshot }, parsedBody(text, snapshot.limits.body).value);
}

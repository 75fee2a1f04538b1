// The operation responses: `POST /api/v1/responses`, the Responses API in the form that OpenAI and Open Responses
// describe. Requests are translated to chat completions, and answers back. Responses are kept for a while.
import type { CalledOperation } from "../../engine/call/called-operation.ts";
import type { KeptAnswers, Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { findResponses, type NamedResponses } from "./keeping/kept-responses.ts";
import { placeInBackground, replyInBackground } from "./background/background-reply.ts";
import { memoOf } from "./request-memo.ts";
import { responseKeeping, storeOf } from "./keeping/response-keeping.ts";
import { responseAnswers } from "./response-answers.ts";
import { responseFrame } from "./response-object.ts";
import { RESPONSES_FORM } from "./responses-form.ts";

/** The code and the trace id of ours stand in the body's `code` and in headers. */
export const RESPONSE_ERRORS: CalledOperation["errors"] = {
  body: ({ code, message, param, entry }) => ({ error: { message, type: entry.type, param, code } }),
};

/** What requests refer to is kept for callers of whom no scope says `off`. */
export const KEPT_RESPONSES: KeptAnswers = {
  isFor: ({ token, context, snapshot }) => context.kept !== null && storeOf(snapshot, token) !== "off",
  find({ token, address, context, snapshot }, named) {
    const { session } = context;
    const reader = { token, address, ...(session !== undefined && { session }), snapshot };
    return findResponses(context, reader, named as NamedResponses);
  },
};

export const RESPONSES: Operation = {
  name: "responses",
  errors: RESPONSE_ERRORS,
  form: RESPONSES_FORM,
  keeping: KEPT_RESPONSES,
  async reply(ready) {
    const { clock } = ready.call.context;
    const now = (): number => Math.floor(clock.now() / 1000);
    const memo = memoOf(ready.request);
    if (memo.isBackground) {
      const place = placeInBackground(ready);
      if (!ready.explains) return replyInBackground(ready, place, now);
      // what is explained is a call that goes on when its client leaves
      const { call, request } = ready;
      call.lifetime.detach(request.options.timeoutMs, call.snapshot.limits.defaultTimeoutMs);
    }
    const keeping = responseKeeping(ready);
    const said = keeping?.isStored === true ? { ...memo, repeated: { ...memo.repeated, store: true } } : memo;
    const frame = responseFrame(said, now);
    ready.call.objects.answerId = frame.id;
    const answer = await replyConversation(ready, responseAnswers(frame, keeping?.keep ?? null));
    return keeping !== null && answer.ok ? await keeping.told(answer) : answer;
  },
};

// A gateway with an operation whose form is small, in the shape of the Messages API, so that the native way can be
// tested by itself: what goes out, and what comes back.
import type { AnswerForm } from "../../../src/engine/answer-form.ts";
import { GATEWAY_ERRORS } from "../../../src/engine/call/called-operation.ts";
import { handleCall } from "../../../src/engine/handle.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { replyConversation } from "../../../src/engine/reply-conversation.ts";
import { translatedForm } from "../../../src/engine/request/translated-form.ts";
import type { Untranslated } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { nativeMessages } from "../../../src/operations/messages/native-answers.ts";
import { type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { CHAT_ANSWERS } from "../../../src/operations/chat/chat-completions.ts";

const KNOWN = new Set(["model", "messages", "max_tokens", "stream", "tools", "temperature"]);

const FORM = translatedForm({
  names: { max_completion_tokens: "max_tokens" },
  translate: ({ model, messages, max_tokens: bound, stream, temperature, ...rest }) => ({
    chat: {
      ...(model !== undefined && { model }),
      messages: (messages as readonly JsonObject[]).map(({ role }) => ({ role: role!, content: "?" })),
      ...(bound !== undefined && { max_completion_tokens: bound }),
      ...(stream !== undefined && { stream }),
      ...(temperature !== undefined && { temperature }),
    },
    origins: { messages: [], tools: [] },
    untranslated: [
      ...Object.keys(rest)
        .filter((name) => !KNOWN.has(name))
        .map((path): Untranslated => ({ path, message: `${path} has no counterpart.`, dropped: "asked" })),
      ...((rest["tools"] as readonly JsonObject[] | undefined) ?? []).flatMap(({ name }, index): Untranslated[] =>
        name === "spare" ? [{ path: `tools[${index}]`, message: "left out", dropped: "always" }] : [],
      ),
    ],
    memo: null,
  }),
});

function answers(model: string): AnswerForm {
  return {
    ...CHAT_ANSWERS,
    isEngines: false,
    stream: {
      ...CHAT_ANSWERS.stream,
      opening: () => "event: opened\ndata: {}\n\n",
      keepAlive: () => "event: ping\ndata: {}\n\n",
      end: "",
      failed: ({ code }) => `event: error\ndata: {"type":"error","code":"${code}"}\n\n`,
    },
    native: nativeMessages(model, "msg_own"),
  };
}

const MESSAGES: Operation = {
  name: "messages",
  errors: GATEWAY_ERRORS,
  form: FORM,
  reply: (ready) => replyConversation(ready, answers(ready.request.options.model ?? "")),
};

export interface NativeStub extends Stub {
  /** A text is sent as it is. */
  readonly ask: (body: JsonObject | string, headers?: Record<string, string>) => Promise<Response>;
}

export function nativeGateway(options: StubOptions): NativeStub {
  const stub = stubGateway(options);
  return {
    ...stub,
    ask: (body, headers = {}) =>
      handleCall(
        MESSAGES,
        new Request("http://gateway.test/api/v1/messages", {
          method: "POST",
          headers: { authorization: stub.authorization, "content-type": "application/json", ...headers },
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
        stub.context,
      ),
  };
}

/** The events of a stream, each as it is written. */
export function sse(...events: readonly (readonly [name: string, data: string])[]): string {
  return events.map(([name, data]) => `event: ${name}\ndata: ${data}\n\n`).join("");
}

export const ANSWER_HEADERS = {
  "request-id": "req_1",
  "anthropic-version": "2026-10-21",
  "anthropic-ratelimit-requests-remaining": "7",
  "anthropic-organization-id": "org_1",
  "set-cookie": "a=b",
  "x-vendor": "secret",
};

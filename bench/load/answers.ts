// The bytes that the mock provider writes and the body that the load generator sends, built once. A non-streaming
// answer and a request have about 1 KB each. A stream has 200 events of 200 to 250 bytes, each in an HTTP chunk of its
// own, as model servers write them.
import { NATIVE, requestText } from "../subjects/fronts.ts";
import { EVENTS_PER_STREAM, MODEL, PARAGRAPH, PROTOCOLS, sse } from "./protocols.ts";

const EVENTS_PER_WRITE = 10;

/**
 * `whole` is written at once, and `writes` one per turn of the event loop. `held` is the beginning of a stream that
 * stays open until it is released.
 */
export type MockAnswer =
  | ({ readonly kind: "whole"; readonly bytes: Uint8Array } & AnswerBody)
  | ({ readonly kind: "writes"; readonly writes: readonly Uint8Array[] } & AnswerBody)
  | { readonly kind: "held"; readonly beginning: Uint8Array; readonly rest: Uint8Array };

/** An answer without the framing of HTTP. */
interface AnswerBody {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Returns a request of about 1 KB in OpenAI's form. */
export function chatBody(model: string, isStreamed: boolean): string {
  return requestText("chat", model, isStreamed);
}

function plainAnswer(answer: object): MockAnswer {
  const contentType = "application/json";
  const body = Buffer.from(JSON.stringify(answer));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\nx-request-id: req_0123456789\r\ncontent-length: ${body.length}\r\n\r\n`;
  return { kind: "whole", bytes: Buffer.concat([Buffer.from(head), body]), contentType, body };
}

const streamHead = (contentType: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
const EVENT_STREAM = "text/event-stream; charset=utf-8";
const STREAM_END = Buffer.from("0\r\n\r\n");

function streamAnswer(events: readonly (string | Uint8Array)[], contentType = EVENT_STREAM): MockAnswer {
  const writes: Uint8Array[] = [];
  for (let start = 0; start < events.length; start += EVENTS_PER_WRITE) {
    const chunks = events.slice(start, start + EVENTS_PER_WRITE).map(httpChunk);
    writes.push(
      Buffer.concat([
        ...(start === 0 ? [streamHead(contentType)] : []),
        ...chunks,
        ...(start + EVENTS_PER_WRITE >= events.length ? [STREAM_END] : []),
      ]),
    );
  }
  const body = Buffer.concat(events.map((event) => Buffer.from(event as string)));
  return { kind: "writes", writes, contentType, body };
}

function heldAnswer(events: readonly string[]): MockAnswer {
  return {
    kind: "held",
    beginning: Buffer.concat([streamHead(EVENT_STREAM), ...events.slice(0, 2).map(httpChunk)]),
    rest: Buffer.concat([...events.slice(-12).map(httpChunk), STREAM_END]),
  };
}

function httpChunk(event: string | Uint8Array): Buffer {
  const bytes = Buffer.from(event as string);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

function openaiCompletion(): object {
  return {
    id: "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    object: "chat.completion",
    created: 1_767_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: PARAGRAPH.repeat(3).trim(), refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: {
      prompt_tokens: 219,
      completion_tokens: 112,
      total_tokens: 331,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    service_tier: "default",
    system_fingerprint: "fp_44709d6fcb",
  };
}

function openaiEvents(id = "chatcmpl-B9MBs8CjcvOU2jLn4n57"): readonly string[] {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    sse({
      id,
      object: "chat.completion.chunk",
      created: 1_767_000_000,
      model: MODEL,
      system_fingerprint: "fp_44709d6fcb",
      choices,
      ...more,
    });
  const choice = (delta: object, finish: string | null): readonly object[] => [
    { index: 0, delta, logprobs: null, finish_reason: finish },
  ];
  return [
    chunk(choice({ role: "assistant", content: "" }, null)),
    ...Array.from({ length: EVENTS_PER_STREAM }, (_, index) => chunk(choice({ content: ` word${index % 10}` }, null))),
    chunk(choice({}, "stop")),
    chunk([], {
      usage: { prompt_tokens: 219, completion_tokens: EVENTS_PER_STREAM, total_tokens: 219 + EVENTS_PER_STREAM },
    }),
    "data: [DONE]\n\n",
  ];
}

/** The same answer as the first one, but requested by the name of a route (`bench/subjects/gateway.ts`). */
export const ROUTED_ANSWER = "openai-routed";

/** Answers that the gateway keeps in its response cache, so that the provider is asked only once. */
export const CACHED_ANSWER = "openai-cached";
export const CACHED_STREAM = "openai-cached-stream";

/** As long as an id of the gateway's own, so that answers from the cache have the same length as the first one. */
const LONG_ID = `chatcmpl-${"0".repeat(32)}`;

/** The answers by the first segment of the requested path. */
export const ANSWERS: ReadonlyMap<string, MockAnswer> = new Map<string, MockAnswer>([
  ["openai-plain", plainAnswer(openaiCompletion())],
  [ROUTED_ANSWER, plainAnswer(openaiCompletion())],
  ["openai-stream", streamAnswer(openaiEvents())],
  [CACHED_ANSWER, plainAnswer({ ...openaiCompletion(), id: LONG_ID })],
  [CACHED_STREAM, streamAnswer(openaiEvents(LONG_ID))],
  ["openai-held", heldAnswer(openaiEvents())],
  ...[...PROTOCOLS, ...NATIVE].flatMap(({ id, whole, events, contentType }): [string, MockAnswer][] => [
    [`${id}-plain`, plainAnswer(whole)],
    [`${id}-stream`, streamAnswer(events, contentType)],
  ]),
]);

/** The answer of the mock without the framing of HTTP. Throws where there is none of that name, or it is held open. */
export function answerBody(name: string): AnswerBody {
  const answer = ANSWERS.get(name);
  if (answer === undefined || answer.kind === "held") throw new Error(`the mock has no whole answer ${name}`);
  return answer;
}

// The bytes of an upstream that a drill plays: answers in OpenAI's form over HTTP/1.1, whole and in parts, and the requests that it reads.

/** What a whole answer says: one word again and again, so that a drill sees who wrote it and whether it is whole. */
export interface Wording {
  readonly word: string;
  readonly words: number;
}

const FRAME = { id: "chatcmpl-drill", created: 1_767_000_000, model: "drill" };
export const DONE = "data: [DONE]\n\n";
export const LAST_CHUNK = "0\r\n\r\n";

/** The head of a response; `length` null: its body comes in chunks. */
export const head = (status: string, type: string, length: number | null, more = ""): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n${length === null ? "transfer-encoding: chunked" : `content-length: ${length}`}\r\n${more}\r\n`;
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export function errorBody(message: string, code: string | null = null): string {
  return JSON.stringify({ error: { message, type: "server_error", param: null, code } });
}

const usageOf = (words: number): object => ({ prompt_tokens: 5, completion_tokens: words, total_tokens: 5 + words });

export function wholeBody({ word, words }: Wording): string {
  return JSON.stringify({
    ...FRAME,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: `${word} `.repeat(words).trim(), refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: usageOf(words),
  });
}

const event = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...FRAME, object: "chat.completion.chunk", choices, ...more })}\n\n`;

export const openingEvent = event([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]);
export const wordEvent = (word: string): string =>
  event([{ index: 0, delta: { content: `${word} ` }, finish_reason: null }]);

/** Of a whole stream, without the end of its chunks. */
export function wholeEvents({ word, words }: Wording): readonly string[] {
  return [
    openingEvent,
    ...Array.from({ length: words }, () => wordEvent(word)),
    event([{ index: 0, delta: {}, finish_reason: "stop" }]),
    event([], { usage: usageOf(words) }),
    DONE,
  ];
}

/** What a connection has received and not read yet. */
export interface Received {
  held: string;
}

/** Takes the body of the next complete request; null when there is none. */
export function takeRequest(received: Received): string | null {
  const end = received.held.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const length = Number(/\ncontent-length: *(\d+)/i.exec(received.held.slice(0, end))?.[1] ?? 0);
  if (received.held.length < end + 4 + length) return null;
  const body = received.held.slice(end + 4, end + 4 + length);
  received.held = received.held.slice(end + 4 + length);
  return body;
}

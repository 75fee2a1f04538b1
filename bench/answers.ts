// The bytes that the mock provider writes and the body that the load generator sends, built once: about 1 KB for a plain answer and for a request,
// and 200 events of 200 to 250 bytes for a stream, each in an HTTP chunk of its own as servers of models write them.

export const EVENTS_PER_STREAM = 200;
const EVENTS_PER_WRITE = 10;
export const MODEL = "bench-model";

/** `whole` is written at once; `writes` one a turn of the loop; `held` is the beginning of a stream that stays open until it is released. */
export type MockAnswer =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  | { readonly kind: "writes"; readonly writes: readonly Uint8Array[] }
  | { readonly kind: "held"; readonly beginning: Uint8Array; readonly rest: Uint8Array };

/** A request in OpenAI's form, of about 1 KB. */
export function chatBody(model: string, stream: boolean): string {
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: "You are an assistant that answers in short, complete sentences and never guesses. ".repeat(3).trim() },
      { role: "user", content: "Compare a queue and a stack, and say for each where a program would want it and what goes wrong with the other. ".repeat(5).trim() },
    ],
    temperature: 0.7,
    max_tokens: 512,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  });
}

function plainAnswer(body: object): Uint8Array {
  const text = JSON.stringify(body);
  return Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_0123456789\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

const STREAM_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const STREAM_END = "0\r\n\r\n";

function streamWrites(events: readonly string[]): readonly Uint8Array[] {
  const writes: Uint8Array[] = [];
  for (let start = 0; start < events.length; start += EVENTS_PER_WRITE) {
    const chunks = events.slice(start, start + EVENTS_PER_WRITE).map(httpChunk).join("");
    writes.push(Buffer.from((start === 0 ? STREAM_HEAD : "") + chunks + (start + EVENTS_PER_WRITE >= events.length ? STREAM_END : "")));
  }
  return writes;
}

function heldAnswer(events: readonly string[]): MockAnswer {
  return { kind: "held", beginning: Buffer.from(STREAM_HEAD + events.slice(0, 2).map(httpChunk).join("")), rest: Buffer.from(events.slice(-12).map(httpChunk).join("") + STREAM_END) };
}

function httpChunk(event: string): string {
  return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
}

const PARAGRAPH = "A queue hands out what came first, a stack what came last. Work that has to be fair waits in a queue; work that has to be undone, or returned from, lies on a stack. ";

function openaiCompletion(): object {
  return {
    id: "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    object: "chat.completion",
    created: 1_767_000_000,
    model: MODEL,
    choices: [{ index: 0, message: { role: "assistant", content: PARAGRAPH.repeat(3).trim(), refusal: null, annotations: [] }, logprobs: null, finish_reason: "stop" }],
    usage: {
      prompt_tokens: 219, completion_tokens: 112, total_tokens: 331,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: "fp_44709d6fcb",
  };
}

function anthropicMessage(): object {
  return {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [{ type: "text", text: PARAGRAPH.repeat(4).trim() }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 219, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 112, service_tier: "standard" },
  };
}

function openaiEvents(): readonly string[] {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    sse({ id: "chatcmpl-B9MBs8CjcvOU2jLn4n57", object: "chat.completion.chunk", created: 1_767_000_000, model: MODEL, system_fingerprint: "fp_44709d6fcb", choices, ...more });
  const choice = (delta: object, finish: string | null): readonly object[] => [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return [
    chunk(choice({ role: "assistant", content: "" }, null)),
    ...Array.from({ length: EVENTS_PER_STREAM }, (_, index) => chunk(choice({ content: ` word${index % 10}` }, null))),
    chunk(choice({}, "stop")),
    chunk([], { usage: { prompt_tokens: 219, completion_tokens: EVENTS_PER_STREAM, total_tokens: 219 + EVENTS_PER_STREAM } }),
    "data: [DONE]\n\n",
  ];
}

/** Anthropic's deltas carry several tokens each. */
function anthropicEvents(): readonly string[] {
  const event = (type: string, fields: object): string => `event: ${type}\n${sse({ type, ...fields })}`;
  const { content: _, ...message } = anthropicMessage() as { readonly content: unknown };
  return [
    event("message_start", { message: { ...message, content: [], stop_reason: null } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("ping", {}),
    ...Array.from({ length: EVENTS_PER_STREAM }, (_each, index) =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: ` what came first leaves first, and so on through the line of all that wait, ${index % 10}` } }),
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 1200 } }),
    event("message_stop", {}),
  ];
}

function sse(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** By the first part of the path that is asked for. */
export const ANSWERS: ReadonlyMap<string, MockAnswer> = new Map<string, MockAnswer>([
  ["openai-plain", { kind: "whole", bytes: plainAnswer(openaiCompletion()) }],
  ["anthropic-plain", { kind: "whole", bytes: plainAnswer(anthropicMessage()) }],
  ["openai-stream", { kind: "writes", writes: streamWrites(openaiEvents()) }],
  ["anthropic-stream", { kind: "writes", writes: streamWrites(anthropicEvents()) }],
  ["openai-held", heldAnswer(openaiEvents())],
]);

// Bytes of AWS event streams for tests, made by the codec of AWS's own clients, and Bedrock's short answers in both forms.
import { EventStreamCodec } from "@smithy/eventstream-codec";
import type { SseEvent } from "../../../src/wire/sse.ts";
import type { CannedAnswer } from "../in-process.ts";

const CODEC = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString("utf8"),
  (text) => Buffer.from(text),
);

/** One message with headers of text. */
export function awsMessage(headers: Readonly<Record<string, string>>, payload: string | Uint8Array): Uint8Array {
  return CODEC.encode({
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, { type: "string", value }])),
    body: typeof payload === "string" ? Buffer.from(payload) : payload,
  });
}

/** An event as the services send it; a name that ends in Exception is one. */
export function awsEvent({ event, data }: SseEvent): Uint8Array {
  const kind = /exception$/i.test(event) ? "exception" : "event";
  return awsMessage({ [`:${kind}-type`]: event, ":content-type": "application/json", ":message-type": kind }, data);
}

export function awsEventStream(events: readonly SseEvent[]): Uint8Array {
  return Buffer.concat(events.map(awsEvent));
}

/** "Hello", or a call of the weather function, as Converse and ConverseStream say it. */
export function helloFromBedrock(streamed: boolean, calls: boolean): CannedAnswer {
  const usage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
  const stopReason = calls ? "tool_use" : "end_turn";
  const call = { toolUseId: "tooluse_1", name: "weather" };
  if (!streamed)
    return {
      body: JSON.stringify({
        output: {
          message: {
            role: "assistant",
            content: [calls ? { toolUse: { ...call, input: { city: "Paris" } } } : { text: "Hello" }],
          },
        },
        stopReason,
        usage,
        metrics: { latencyMs: 1 },
      }),
    };
  const told: readonly (readonly [string, object])[] = [
    ["messageStart", { role: "assistant" }],
    ...(calls ? ([["contentBlockStart", { contentBlockIndex: 0, start: { toolUse: call } }]] as const) : []),
    [
      "contentBlockDelta",
      { contentBlockIndex: 0, delta: calls ? { toolUse: { input: '{"city":"Paris"}' } } : { text: "Hello" } },
    ],
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ["messageStop", { stopReason }],
    ["metadata", { usage, metrics: { latencyMs: 1 } }],
  ];
  return {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    body: awsEventStream(told.map(([event, data]) => ({ event, data: JSON.stringify(data) }))),
  };
}

/** A container's answer in the frame of SageMaker's streams, cut without regard to its events. */
export function inPayloadParts({ body }: CannedAnswer): CannedAnswer {
  const bytes = Buffer.from(body as string);
  const half = Math.floor(bytes.length / 2);
  const parts = [bytes.subarray(0, half), bytes.subarray(half)].map((part) =>
    awsMessage(
      { ":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream" },
      part,
    ),
  );
  return { headers: { "content-type": "application/vnd.amazon.eventstream" }, body: Buffer.concat(parts) };
}

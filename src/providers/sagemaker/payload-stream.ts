// Unwraps the frames around a container's stream: PayloadPart events with the bytes of its server-sent events, split at
// any position, and AWS's own exceptions.
// https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_ResponseStream.html
import type { ChatChunk } from "../../core/chat.ts";
import { createSseParser, type SseEvent } from "../../wire/sse.ts";
import { UpstreamFault } from "../../wire/upstream.ts";
import { classifyError } from "../bedrock/errors.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { decoderAround, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";

/**
 * `inner` decodes the container's own events. An event without a frame is treated as one of them, because a proxy may
 * have removed the frame. An event may come in many frames, so that the bound of frames does not bound events.
 */
export function openPayloadStream(
  inner: StreamDecoder,
  { maxEventBytes = Number.POSITIVE_INFINITY }: Pick<DecodeContext, "maxEventBytes">,
): StreamDecoder {
  const parser = createSseParser({ maxEventBytes });

  function decoded(read: () => readonly SseEvent[]): readonly ChatChunk[] {
    try {
      return read().flatMap((event) => inner.push(event));
    } catch (thrown) {
      if (thrown instanceof UpstreamFault) throw new MalformedAnswer(thrown.message);
      throw thrown;
    }
  }

  return decoderAround(inner, {
    push(event) {
      // Each character of such a payload is one byte: wire/aws-event-stream.ts.
      if (event.event === "PayloadPart") return decoded(() => parser.push(Buffer.from(event.data, "latin1")));
      if (/.(?:error|failure|exception)$/i.test(event.event))
        throw new StreamError(classifyError({ status: 200, body: event.data }, event.event));
      return inner.push(event);
    },
    end: () => [...decoded(() => parser.end()), ...inner.end()],
  });
}

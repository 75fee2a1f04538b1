// A provider's stream through the gateway in two ways: with events that are rewritten as text, and with each event parsed.
// Both give the same: the same events for the client, the same count of what was generated, the same figures and failure.
import { expect } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import type { Json } from "../../../src/core/json.ts";
import type { Credential } from "../../../src/core/target.ts";
import { decoderWithoutKeys } from "../../../src/engine/answer/answer-keys.ts";
import { CallClock } from "../../../src/engine/call/call-clock.ts";
import { ResponseStream } from "../../../src/engine/stream/answer-stream.ts";
import { StreamNormalizer } from "../../../src/engine/stream/stream-normalizer.ts";
import { StreamSerializer } from "../../../src/operations/chat/stream-serializer.ts";
import { decoderAround } from "../../../src/providers/interface/stream-decoder.ts";
import { providers } from "../../../src/providers/registry.ts";
import { createSseParser, type SseEvent, type SseParser } from "../../../src/wire/sse.ts";
import { frameOf } from "../../contract/providers/provider-requests.ts";

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

export interface StreamOptions {
  /** False: every event is parsed. */
  readonly rewrites?: boolean;
  /** OpenAI, if left out. */
  readonly provider?: string;
  /** What the request's encoder has noted for the decoder. */
  readonly memo?: Json;
  /** Of server-sent events, if left out. */
  readonly parser?: () => SseParser;
  readonly credential?: Credential | null;
  /** The bytes of each read. */
  readonly cut?: number;
  readonly maxEventBytes?: number;
}

/** What a client gets of a provider's stream, and what the gateway knows of it. */
export async function translated(source: string, options: StreamOptions = {}) {
  const { rewrites = true, credential = null, cut = source.length, maxEventBytes = 1_000_000 } = options;
  const provider = providers.get(options.provider ?? "openai")!;
  const bytes = Buffer.from(source);
  let at = 0;
  const body = {
    read: async () => (at < bytes.length ? bytes.subarray(at, (at += Math.max(1, cut))) : null),
    accept() {},
    cancel() {},
  };
  const frame = frameOf(provider, 2);
  const normalizer = new StreamNormalizer(frame, new StreamSerializer(frame, false));
  const decoder = decoderWithoutKeys(provider.openStream({ model: "m", memo: options.memo ?? null }), credential);
  const parts = {
    body: body as never,
    parser: options.parser?.() ?? createSseParser({ maxEventBytes }),
    decoder: rewrites
      ? decoder
      : decoderAround(decoder, { push: (one) => decoder.push(one), end: () => decoder.end() }),
    writer: normalizer,
    guarded: null,
    usage: () => normalizer.reported.usage ?? NO_USAGE,
    normalizer,
    passing: null,
    search: (event: SseEvent) => event,
    maxEventBytes,
  };
  const stream = new ResponseStream(parts, new CallClock(systemClock));
  let text = "";
  let failure: string | null = null;
  try {
    for (let next = await stream.next(); next !== null; next = await stream.next()) text += next;
  } catch (thrown) {
    failure = String(thrown);
  }
  const events = text.split("\n\n").slice(0, -1);
  for (const event of events) expect(event).toMatch(/^data: \{.*\}$/s);
  return {
    text,
    seen: {
      events: events.map((event) => JSON.parse(event.slice(6)) as object),
      failure,
      generated: { ...normalizer.generated },
      usage: normalizer.reported.usage,
      finishReasons: normalizer.finishReasons,
      hasGenerated: normalizer.hasGenerated,
    },
  };
}

/** Fails unless both ways give the same; returns the client's text. */
export async function sameBothWays(source: string, options: StreamOptions = {}): Promise<string> {
  const rewritten = await translated(source, options);
  const parsed = await translated(source, { ...options, rewrites: false });
  expect(rewritten.seen).toEqual(parsed.seen);
  return rewritten.text;
}

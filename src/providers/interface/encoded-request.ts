// What encoding a request gives, and what the decoder of its answer has to know of it.
import type { ChatParams } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

export interface EncodedRequest {
  /** Unsigned: it holds no credential yet. */
  readonly request: UpstreamRequest;
  readonly memo: unknown;
  /**
   * Wire names under which common parameters were sent when they differ from the common name, for explain and the
   * record: `max_tokens -> max_output_tokens`.
   */
  readonly mapped?: readonly string[];
  /**
   * What the vendor would refuse beside the rest of the request, and is not sent, by the names of chat completions:
   * `reasoning_effort`, `tools[].function.strict`.
   */
  readonly left?: readonly string[];
}

/** Returns a request with a body of JSON; `body` is the object, or its text. */
export function jsonPost(url: string, headers: UpstreamRequest["headers"], body: JsonObject | string): UpstreamRequest {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { url, headers: { ...headers, "content-type": "application/json" }, body: text };
}

/**
 * Parameters that are sent in another form, each with its place on the wire; `false` for one that keeps its form in this
 * request.
 */
export type WirePlaces = readonly (readonly [name: keyof ChatParams, place: string] | false)[];

/** Returns where those of the parameters went that are set. */
export function mappedNames(params: ChatParams, places: WirePlaces): readonly string[] {
  return places
    .filter((place) => place !== false && params[place[0]] !== undefined)
    .map((place) => (place as readonly string[]).join(" -> "));
}

/** One text that the model reads, which is made of several. */
export interface JoinedText {
  readonly text: string;
  /** The texts of which it is made: those of the request, and what the form writes around them. */
  readonly pieces: readonly string[];
}

/** What a decoder needs to know about the request that was sent. */
export interface DecodeContext {
  readonly model: string;
  /** The request had raw prompts. */
  readonly isRaw?: true;
  /** Of a stream: the largest event that is accepted, in bytes, also of a stream within the frames of another. */
  readonly maxEventBytes?: number;
  /**
   * Opaque to everything but the provider that encoded the request. It holds, for example, renamed tools or the forced
   * tool of an emulated JSON mode.
   */
  readonly memo: unknown;
}

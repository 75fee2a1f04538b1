// Content that stands behind an address, for models that take bytes only: fetched and put in its place as a data URI, within the bounds of decisions 6.9.
// Every address is checked and called as decisions 2.12 say: one look-up, public addresses only, no redirect.
import { Cancellation } from "../core/cancellation.ts";
import type { BlockType, ChatRequest, ContentPart, Message } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Provider } from "../providers/provider.ts";
import { connectionPartition } from "../core/target.ts";
import { checkAddress } from "../wire/address-guard.ts";
import { UpstreamFault, type UpstreamResponse } from "../wire/upstream.ts";
import { ADDRESS_AT, webAddressIn } from "./addressed-block.ts";
import type { Call } from "./call.ts";
import { mediaTypeOf } from "./media-type.ts";
import { unfit } from "./unfit-for-target.ts";

const MIB = 1024 * 1024;
const MAX_PARTS = 16;
const MAX_PART_BYTES = 20 * MIB;
const MAX_ALL_BYTES = 50 * MIB;
const TIME_MS = 10_000;
/** What is longer is no address that servers take, and would be kept while it is under way. */
const MAX_ADDRESS = 8192;

export interface Fetched {
  readonly mediaType: string;
  readonly base64: string;
}
export interface Place {
  readonly message: number;
  readonly part: number;
  readonly type: BlockType;
  readonly address: string;
  /** Of the address, for errors. */
  readonly path: string;
}

/** What each type of block may hold behind an address, and the block with the bytes in its place. */
const FETCHABLE: Readonly<
  Partial<
    Record<
      BlockType,
      {
        readonly kind: RegExp | null;
        readonly filled: (part: ContentPart, fetched: Fetched, address: string) => ContentPart;
      }
    >
  >
> = {
  image_url: {
    kind: /^image\//,
    filled: (part, fetched) => ({
      ...part,
      image_url: { ...(part["image_url"] as JsonObject), url: dataUri(fetched) },
    }),
  },
  video_url: {
    kind: /^video\//,
    filled: (part, fetched) => ({
      ...part,
      video_url: { ...(part["video_url"] as JsonObject), url: dataUri(fetched) },
    }),
  },
  file: {
    kind: null,
    filled: (part, fetched, address) => {
      const { file_id: _address, ...file } = part["file"] as JsonObject;
      return { ...part, file: { filename: nameIn(address), ...file, file_data: dataUri(fetched) } };
    },
  },
  document: {
    kind: null,
    filled: (part, { mediaType, base64 }) => {
      const { url: _address, ...source } = part["source"] as JsonObject;
      return { ...part, source: { ...source, type: "base64", media_type: mediaType, data: base64 } };
    },
  },
};

/** The same request when there is nothing to fetch. Throws UnfitForTarget, GatewayError `address_not_allowed`, `content_unavailable` with the path, or the signal's reason. */
export function withFetchedParts(
  request: ChatRequest,
  provider: Provider,
  model: string,
  call: Call,
): ChatRequest | Promise<ChatRequest> {
  if (request.held !== undefined)
    return request.held.addressed.size === 0 || provider.inlines(model).isDisjointFrom(request.held.addressed)
      ? request
      : call.context.longRequests!.whole(request).then((whole) => withFetchedParts(whole, provider, model, call));
  const places = placesHere(request, provider, model);
  return places.length === 0 ? request : fetchedInPlace(request, places, call);
}

function placesHere(request: ChatRequest, provider: Provider, model: string): readonly Place[] {
  try {
    return placesToFetch(request, provider, model);
  } catch (thrown) {
    // a target that takes addresses needs none of it
    throw unfit(thrown);
  }
}

async function fetchedInPlace(request: ChatRequest, places: readonly Place[], call: Call): Promise<ChatRequest> {
  return withContent(request, places, await call.clock.waiting(fetchAll(places, call)));
}

/** The request with the bytes in place of the addresses. */
export function withContent(request: ChatRequest, places: readonly Place[], fetched: readonly Fetched[]): ChatRequest {
  const messages = request.messages.map((message, index) =>
    filledMessage(
      message,
      places.flatMap((place, at) => (place.message === index ? [{ place, fetched: fetched[at]! }] : [])),
    ),
  );
  return {
    ...request,
    messages,
    source: { ...request.source, rewritten: new Set([...request.source.rewritten, "messages"]) },
  };
}

/** Addresses that stand in blocks which the model takes as bytes only. Throws `invalid_request` for too many. */
export function placesToFetch(request: ChatRequest, provider: Provider, model: string): readonly Place[] {
  const types = provider.inlines(model);
  if (types.size === 0 || ![...types].some((type) => request.blocks.has(type))) return [];
  const places: Place[] = [];
  request.messages.forEach(({ content }, message) => {
    if (!Array.isArray(content)) return;
    (content as readonly ContentPart[]).forEach((block, part) => {
      const type = block.type as BlockType;
      const address = types.has(type) ? webAddressIn(block) : null;
      if (address === null) return;
      const path = `messages[${message}].content[${part}].${ADDRESS_AT[type]!.join(".")}`;
      if (address.length > MAX_ADDRESS)
        throw new GatewayError(
          "invalid_request",
          `${path} must have at most ${MAX_ADDRESS} characters to be fetched by the gateway; got ${address.length}.`,
          { param: path },
        );
      places.push({ message, part, type, address, path });
    });
  });
  if (places.length > MAX_PARTS)
    throw new GatewayError(
      "invalid_request",
      `The gateway fetches at most ${MAX_PARTS} addresses for one call, because ${provider.label} takes bytes only; got ${places.length}. Send the content as data URIs.`,
      { param: places[MAX_PARTS]!.path },
    );
  return places;
}

async function fetchAll(places: readonly Place[], call: Call): Promise<readonly Fetched[]> {
  const cancellation = new Cancellation();
  const stop = (): void => cancellation.abort(call.signal.reason);
  call.signal.addEventListener("abort", stop);
  const budget = { leftBytes: MAX_ALL_BYTES };
  try {
    return await Promise.all(places.map((place) => fetchOne(place, budget, cancellation, call)));
  } catch (thrown) {
    // the others' answers would come for nothing
    cancellation.abort(thrown);
    throw thrown;
  } finally {
    call.signal.removeEventListener("abort", stop);
  }
}

async function fetchOne(
  place: Place,
  budget: { leftBytes: number },
  cancellation: Cancellation,
  call: Call,
): Promise<Fetched> {
  const timer = setTimeout(
    () => cancellation.abort(unavailable(place, `did not come within ${TIME_MS / 1000} s`)),
    TIME_MS,
  );
  try {
    const { url, pinnedAddress } = await checkAddress(place.address, { allowPrivate: "never", param: place.path });
    const limits = { connectTimeoutMs: TIME_MS, firstByteTimeoutMs: TIME_MS, betweenBytesTimeoutMs: TIME_MS };
    const response = await call.context.upstream.send(
      { method: "GET", url, headers: {}, body: "" },
      { ...limits, signal: cancellation, pinnedAddress, partition: connectionPartition(call.record.tenantId, null) },
    );
    const bytes = await readBytes(response, place, budget);
    const mediaType = mediaTypeOf(bytes, response.header("content-type"), url);
    const { kind } = FETCHABLE[place.type]!;
    if (mediaType === null || (kind !== null && !kind.test(mediaType)))
      throw unavailable(place, `is ${mediaType === null ? "of no known type" : mediaType}`);
    return { mediaType, base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64") };
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFault)) throw thrown;
    throw unavailable(
      place,
      thrown.kind === "timeout" ? `did not come within ${TIME_MS / 1000} s` : "could not be fetched",
      thrown.message,
    );
  } finally {
    clearTimeout(timer);
  }
}

async function readBytes(response: UpstreamResponse, place: Place, budget: { leftBytes: number }): Promise<Uint8Array> {
  const { status, body } = response;
  try {
    if (status >= 300 && status < 400)
      throw unavailable(place, `answered with a redirect (${status}), which is not followed`);
    if (status < 200 || status > 299) throw unavailable(place, `answered with status ${status}`);
    if (Number(response.header("content-length") ?? 0) > MAX_PART_BYTES) throw tooLarge(place);
    const pieces: Uint8Array[] = [];
    let length = 0;
    for (let piece = await body.read(); piece !== null; piece = await body.read()) {
      length += piece.length;
      budget.leftBytes -= piece.length;
      if (length > MAX_PART_BYTES || budget.leftBytes < 0) throw tooLarge(place);
      // the reader's buffer may be used again
      pieces.push(piece.slice());
    }
    if (length === 0) throw unavailable(place, "is empty");
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length);
  } catch (thrown) {
    body.cancel();
    throw thrown;
  }
}

function tooLarge(place: Place): GatewayError {
  return unavailable(
    place,
    `is too large: the gateway fetches at most ${MAX_PART_BYTES / MIB} MiB for one part and ${MAX_ALL_BYTES / MIB} MiB for a call`,
  );
}

function unavailable({ path }: Place, words: string, detail?: string): GatewayError {
  return new GatewayError("content_unavailable", `What ${path} names ${words}.`, {
    param: path,
    ...(detail !== undefined && { detail }),
  });
}

function filledMessage(
  message: Message,
  filled: readonly { readonly place: Place; readonly fetched: Fetched }[],
): Message {
  if (filled.length === 0) return message;
  const content = [...(message.content as readonly ContentPart[])];
  for (const { place, fetched } of filled)
    content[place.part] = FETCHABLE[place.type]!.filled(content[place.part]!, fetched, place.address);
  return { ...message, content };
}

function dataUri({ mediaType, base64 }: Fetched): string {
  return `data:${mediaType};base64,${base64}`;
}

function nameIn(address: string): string {
  const name = URL.parse(address)?.pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(name) || "document";
  } catch {
    return name;
  }
}

// Content that blocks of a conversation refer to by an address, for models that accept bytes only: where the addresses
// are, and how the bytes replace them as data URIs.

// Decides (the request): Is a picture or file fetched by the gateway or by the provider? By: `placesToFetch`. Also: the
// provider's `inlines` of `providers/interface/provider-declaration.ts`; fetched by `engine/attempt/encode-attempt.ts`.
// Rule: By the provider, unless the model accepts only bytes: then by the gateway, from public addresses alone.
import { invalidRequest } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import type { BlockType, ChatRequest, ContentPart, Message } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { percentDecoded } from "../../core/text/percent-encoding.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { ADDRESS_AT, webAddressIn } from "./addressed-block.ts";

const MAX_PARTS = 16;
/** Servers do not accept longer addresses, which would also occupy memory while the call is in flight. */
const MAX_ADDRESS = 8192;

export interface Fetched {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}
export interface ContentPlace {
  readonly message: number;
  readonly part: number;
  readonly type: BlockType;
  readonly address: string;
  /** The path of the address, for errors. */
  readonly path: string;
}

/** What each type of block may refer to by an address, and how the bytes replace the address. */
export const FETCHABLE: Readonly<
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
    filled: (part, fetched) => {
      const { url: _address, ...source } = part["source"] as JsonObject;
      return {
        ...part,
        source: { ...source, type: "base64", media_type: fetched.mediaType, data: base64Of(fetched) },
      };
    },
  },
};

/** Returns the request with the bytes in place of the addresses. */
export function withContent(
  request: ChatRequest,
  places: readonly ContentPlace[],
  fetched: readonly Fetched[],
): ChatRequest {
  const messages = request.messages.map((message, index) =>
    filledMessage(
      message,
      places.flatMap((place, at) => (place.message === index ? [{ place, fetched: fetched[at]! }] : [])),
    ),
  );
  return withMembers(request, { messages });
}

/**
 * Returns the addresses in blocks that the model accepts only as bytes. Throws `invalid_request` when there are too
 * many.
 */
export function placesToFetch(request: ChatRequest, provider: Provider, model: string): readonly ContentPlace[] {
  const types = provider.inlines(model);
  if (types.size === 0 || ![...types].some((type) => request.blocks.has(type))) return [];
  const places: ContentPlace[] = [];
  request.messages.forEach(({ content }, message) => {
    if (!Array.isArray(content)) return;
    (content as readonly ContentPart[]).forEach((block, part) => {
      const type = block.type as BlockType;
      const address = types.has(type) ? webAddressIn(block) : null;
      if (address === null) return;
      const path = `messages[${message}].content[${part}].${ADDRESS_AT[type]!.join(".")}`;
      if (address.length > MAX_ADDRESS)
        throw invalidRequest(
          path,
          `${path} must have at most ${MAX_ADDRESS} characters to be fetched by the gateway; got ${address.length}.`,
        );
      places.push({ message, part, type, address, path });
    });
  });
  if (places.length > MAX_PARTS)
    throw invalidRequest(
      places[MAX_PARTS]!.path,
      `The gateway fetches at most ${MAX_PARTS} addresses per call for ${provider.label}, which does not take URLs; got ${places.length}. Send the content as data URIs.`,
    );
  return places;
}

function filledMessage(
  message: Message,
  filled: readonly { readonly place: ContentPlace; readonly fetched: Fetched }[],
): Message {
  if (filled.length === 0) return message;
  const content = [...(message.content as readonly ContentPart[])];
  for (const { place, fetched } of filled)
    content[place.part] = FETCHABLE[place.type]!.filled(content[place.part]!, fetched, place.address);
  return { ...message, content };
}

function dataUri(fetched: Fetched): string {
  return `data:${fetched.mediaType};base64,${base64Of(fetched)}`;
}

function base64Of({ bytes }: Fetched): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

function nameIn(address: string): string {
  const name = URL.parse(address)?.pathname.split("/").at(-1) ?? "";
  return percentDecoded(name) || "document";
}

// Content that the gateway would have to fetch, because the target accepts bytes only (Provider.inlines). An
// explanation lists the addresses and fetches nothing; the encoder receives placeholders.
import type { BlockType, ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { type Fetched, placesToFetch, withContent } from "../attempt/content-places.ts";

export interface Fetch extends JsonObject {
  readonly path: string;
  readonly type: string;
  readonly url: string;
}

const STAND_IN_TYPES: Readonly<Partial<Record<BlockType, string>>> = { image_url: "image/png", video_url: "video/mp4" };
const STAND_IN = Buffer.from("(fetched when the call is made)");

/**
 * Returns the same request when nothing has to be fetched. Throws as fetching does when there are too many addresses.
 */
export function withStandIns(
  request: ChatRequest,
  provider: Provider,
  model: string,
): { readonly request: ChatRequest; readonly fetches: readonly Fetch[] } {
  const places = placesToFetch(request, provider, model);
  if (places.length === 0) return { request, fetches: [] };
  const standIns = places.map(({ type }): Fetched => ({
    mediaType: STAND_IN_TYPES[type] ?? "application/pdf",
    bytes: STAND_IN,
  }));
  return {
    request: withContent(request, places, standIns),
    fetches: places.map(({ path, type, address }) => ({ path, type, url: address })),
  };
}

// Content blocks that may contain the address of a file on the web in place of its bytes.
import type { BlockType, ContentPart } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import { isWebAddress } from "../../core/text/web-address.ts";

/** Where each type of block has the address: the member, and the member of that object. */
export const ADDRESS_AT: Readonly<Partial<Record<BlockType, readonly [string, string]>>> = {
  image_url: ["image_url", "url"],
  video_url: ["video_url", "url"],
  file: ["file", "file_id"],
  document: ["source", "url"],
};

/** Returns `null` when the block has no such address. */
export function webAddressIn(block: ContentPart): string | null {
  const place = ADDRESS_AT[block.type as BlockType];
  const holder = place === undefined ? undefined : block[place[0]];
  const address = isObject(holder) ? holder[place![1]] : undefined;
  return isWebAddress(address) ? address : null;
}

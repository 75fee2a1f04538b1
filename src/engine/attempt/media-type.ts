// Determines the media type of fetched bytes: by the server's content type, by the first bytes, or by the name in the
// address.
import { MEDIA_TYPES } from "../../core/text/media-types.ts";

const SIGNATURES: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
  ["image/bmp", 0, "BM"],
  ["application/pdf", 0, "%PDF-"],
  ["video/webm", 0, "\x1aE\xdf\xa3"],
  ["video/mp4", 4, "ftyp"],
];
const EXTENSIONS: Readonly<Record<string, string>> = { ...MEDIA_TYPES, xml: "application/xml" };
/** Media types that carry no information. */
const VAGUE: ReadonlySet<string> = new Set([
  "",
  "application/octet-stream",
  "binary/octet-stream",
  "application/download",
  "application/x-download",
]);

/**
 * Returns `null` when the type is unknown. The first bytes override the server's content type, which is often a guess
 * by name.
 */
export function mediaTypeOf(bytes: Uint8Array, contentType: string | null, address: string): string | null {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const signed = SIGNATURES.find(([, offset, signature]) => start.startsWith(signature, offset));
  if (signed !== undefined) return signed[0];
  const declared = (contentType ?? "").split(";")[0]!.trim().toLowerCase();
  if (!VAGUE.has(declared)) return declared;
  const extension = /\.([a-z0-9]{1,5})$/i.exec(new URL(address).pathname)?.[1];
  return extension === undefined ? null : (EXTENSIONS[extension.toLowerCase()] ?? null);
}

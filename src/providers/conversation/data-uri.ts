// Data URIs (RFC 2397), for wire forms that take data in base64 beside its media type.
import { percentDecoded } from "../../core/text/percent-encoding.ts";

export interface InlineData {
  /** In lower case, without parameters. */
  readonly mediaType: string;
  readonly base64: string;
}

const DATA_URI = /^data:([^;,]*)((?:;[^;,]*)*),/i;
/** An image can be megabytes long, so only the start of the address is matched. */
const MAX_HEAD_CHARACTERS = 1024;

/** Returns `null` for any other address. */
export function readDataUri(uri: string): InlineData | null {
  const head = DATA_URI.exec(uri.slice(0, MAX_HEAD_CHARACTERS));
  if (head === null) return null;
  const [{ length }, mediaType, parameters = ""] = head;
  const data = uri.slice(length);
  return {
    mediaType: (mediaType || "text/plain").toLowerCase(),
    base64: /;base64/i.test(parameters) ? data : Buffer.from(percentDecoded(data)).toString("base64"),
  };
}

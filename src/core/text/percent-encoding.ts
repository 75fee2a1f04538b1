// Percent-encoding of URLs (RFC 3986, 2.1), in texts that are not always valid.

/** A text in which a percent sign does not begin an encoded byte, or whose bytes are not UTF-8, is used as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

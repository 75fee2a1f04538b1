// The head of a data URI (RFC 2397), which may be long: what stands before the comma.

const HEAD = /^data:([^,]*),/i;

/**
 * The text is with `data:` and the comma; the type has the media type and its parameters, the last of which may be
 * `base64`. Returns `null` for any other address.
 */
export function dataUriHead(address: string) {
  const head = HEAD.exec(address);
  return head === null ? null : { text: head[0], type: head[1]! };
}

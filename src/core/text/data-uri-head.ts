// The head of a data URI (RFC 2397), which may be long: what stands before the comma.

export interface DataUriHead {
  /** With `data:` and the comma. */
  readonly text: string;
  /** The media type and its parameters, the last of which may be `base64`. */
  readonly type: string;
}

const HEAD = /^data:([^,]*),/i;

/** Returns `null` for any other address. */
export function dataUriHead(address: string): DataUriHead | null {
  const head = HEAD.exec(address);
  return head === null ? null : { text: head[0], type: head[1]! };
}

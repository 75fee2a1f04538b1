// A request that the gateway makes to an operation of its own, for a caller whose request was of another form.

/** `path` is below the gateway's base address. */
export function innerRequest(
  path: string,
  body: object,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | null = null,
): Request {
  const text = JSON.stringify(body);
  const request = new Request(`http://gateway.internal${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: text,
    signal,
  });
  request.headers.set("content-length", String(Buffer.byteLength(text)));
  return request;
}

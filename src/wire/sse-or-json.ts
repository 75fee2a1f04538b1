// Reads a body that its head calls a stream of server-sent events, and that is JSON where the server refuses what it was
// asked for or ignores that a stream was: https://github.com/Hmbown/Codewhale/pull/1717. Such a body is one event.
import { createSseParser, type SseParser } from "./sse.ts";
import { UpstreamFault } from "./upstream.ts";

/** `maxEventBytes` bounds the JSON too, in characters. */
export function createSseOrJsonParser(options: { readonly maxEventBytes: number }): SseParser {
  const { maxEventBytes } = options;
  const parser = createSseParser(options);
  const decoder = new TextDecoder();
  let isJson: boolean | undefined;
  let json = "";

  /** Whether the bytes are part of JSON, of which there are events only at the end. */
  function isTaken(bytes: Uint8Array): boolean {
    isJson ??= beginsJson(bytes);
    if (isJson !== true) return false;
    json += decoder.decode(bytes, { stream: true });
    if (json.length > maxEventBytes)
      throw new UpstreamFault("too_large", `The body is JSON and larger than ${maxEventBytes} bytes.`);
    return true;
  }

  return {
    push: (bytes) => (isTaken(bytes) ? [] : parser.push(bytes)),
    pushTo(bytes, receiver) {
      if (!isTaken(bytes)) parser.pushTo!(bytes, receiver);
    },
    end: () => (isJson === true ? [{ event: "", data: json }] : parser.end()),
  };
}

/** Undefined where only white space has come. No field of an event begins like JSON. */
function beginsJson(bytes: Uint8Array): boolean | undefined {
  const first = bytes.find((byte) => byte > 0x20);
  return first === undefined ? undefined : first === 0x7b || first === 0x5b;
}

// A body in answer to a request for a stream, whatever its head calls it: a stream, or one answer of a server that ignores
// `stream` or refuses the request with status 200. Ollama's cloud calls its streams JSON (https://ollama.com/api/chat),
// and others call JSON a stream (https://github.com/Hmbown/Codewhale/pull/1717).
// Decides (the answer): Is a body an answer or a stream? By: `readBeginning`. Rule: By its beginning, of which no more is
// read than that takes; a body in another format than JSON or events by its type.
import type { Framing } from "../../providers/interface/stream-decoder.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import type { UpstreamBody, UpstreamResponse } from "../../wire/upstream.ts";
import type { CallClock } from "../call/call-clock.ts";
import type { AnswerStream } from "./answer-stream.ts";

/** What is known of a body before it is read. */
export interface BodyFacts {
  /** That of the provider's streams. */
  readonly framing: Framing;
  readonly isCalledJson: boolean;
  /** How much of it is read at most to judge it. */
  readonly maxBytes: number;
}

/** Makes the stream of an answer whose kind is not known before its beginning was read. `stream` makes it of either kind. */
export function streamByBeginning(
  response: UpstreamResponse,
  known: BodyFacts,
  clock: CallClock,
  stream: (response: UpstreamResponse, isStream: boolean) => AnswerStream,
): AnswerStream {
  let begun: AnswerStream | null = null;
  const begin = async (): Promise<string | null> => {
    const { parts, isStream } = await readBeginning(response.body, known, clock);
    begun = stream(
      { ...response, header: (name) => response.header(name), body: resumed(parts, response.body) },
      isStream,
    );
    return begun.next();
  };
  return {
    next: () => begun?.next() ?? begin(),
    failure: () => begun?.failure(),
    cancel() {
      if (begun === null) response.body.cancel();
      else begun.cancel();
    },
  };
}

/** A body whose first `maxBytes` bytes leave it open is what its head calls it. Throws what the body throws. */
async function readBeginning(body: UpstreamBody, { framing, isCalledJson, maxBytes }: BodyFacts, clock: CallClock) {
  const isStreamAfter = BEGINNINGS[framing]?.();
  const parts: Uint8Array[] = [];
  if (isStreamAfter === undefined) return { parts, isStream: !isCalledJson };
  const decoder = new TextDecoder();
  for (let length = 0; length <= maxBytes;) {
    const bytes = await clock.waiting(body.read());
    if (bytes === null) break;
    parts.push(bytes);
    length += bytes.length;
    const isStream = isStreamAfter(decoder.decode(bytes, { stream: true }));
    if (isStream !== undefined) return { parts, isStream };
  }
  return { parts, isStream: !isCalledJson };
}

/** Receives a body piece by piece, and says whether it is a stream; `undefined` where more of it has to be read. */
type Judging = (text: string) => boolean | undefined;

const BEGINNINGS: Partial<Readonly<Record<Framing, () => Judging>>> = {
  /** No field of an event begins like JSON. */
  sse: () => (text) => {
    const begun = text.trimStart();
    return begun === "" ? undefined : !begun.startsWith("{") && !begun.startsWith("[");
  },
  /** A stream has more than one line, and the first holds an object. That of JSON over several lines ends inside it. */
  ndjson() {
    let last = "";
    let hasLine = false;
    return (text) => {
      let rest = last === "" ? text.trimStart() : text;
      if (!hasLine) {
        const end = rest.indexOf("\n");
        last = (end === -1 ? rest : rest.slice(0, end)).trimEnd().at(-1) ?? last;
        if (end === -1) return undefined;
        if (last !== "}") return false;
        hasLine = true;
        rest = rest.slice(end);
      }
      return rest.trim() === "" ? undefined : true;
    };
  },
};

/** The body from its beginning, of which the parts have been read. */
function resumed(parts: readonly Uint8Array[], body: UpstreamBody): UpstreamBody {
  const unread = [...parts];
  const rest = async (maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<Uint8Array> => {
    const begun = Buffer.concat(unread.splice(0));
    const more = await body.bytes(
      Math.max(0, maxBytes - begun.length),
      shouldContinue && ((bytes) => shouldContinue(begun.length + bytes)),
    );
    return Buffer.concat([begun, more]);
  };
  return {
    read: () => (unread.length > 0 ? Promise.resolve(unread.shift()!) : body.read()),
    bytes: rest,
    text: async (maxBytes, shouldContinue) => decodeUtf8(await rest(maxBytes, shouldContinue)),
    accept: () => body.accept(),
    cancel: () => body.cancel(),
  };
}

// Answers that need further requests before they are one: a job that is looked at again, the stream of one that was made. The provider says which; the
// call's own clock bounds them all.
import type { DecodeContext } from "../providers/provider.ts";
import type { UpstreamRequest, UpstreamResponse } from "../wire/upstream.ts";
import type { Call } from "./call.ts";
import { pause } from "./pause.ts";
import type { Resolved } from "./resolve.ts";

/** Before every request but the first that follows: a provider that sends the gateway round and round must not keep it busy. */
const LEAST_WAIT_MS = 200;

/** Sends, and throws what a status that is no success means. */
export type SendChecked = (request: UpstreamRequest) => Promise<UpstreamResponse>;

/** The last answer, its body to be read as if it were the first. An event stream is handed on unread. */
export async function followedAnswer(
  made: UpstreamResponse,
  decode: DecodeContext,
  { provider }: Resolved,
  call: Call,
  send: SendChecked,
): Promise<UpstreamResponse> {
  if (provider.followUp === undefined) return made;
  let response = made;
  for (let first = true; ; first = false) {
    if (/^text\/event-stream/i.test(response.header("content-type") ?? "")) return response;
    const text = await call.clock.waiting(response.body.text(call.snapshot.limits.maxAnswerBytes));
    const next = provider.followUp(text, decode);
    if (next === null) return readAlready(response, text);
    const waitMs = first ? next.waitMs : Math.max(next.waitMs, LEAST_WAIT_MS);
    if (waitMs > 0) await call.clock.waiting(pause(waitMs, call.signal));
    response = await send(next.request);
  }
}

const ENCODER = new TextEncoder();

function readAlready(response: UpstreamResponse, text: string): UpstreamResponse {
  let rest: Uint8Array | null = ENCODER.encode(text);
  return {
    status: response.status,
    header: (name) => response.header(name),
    body: {
      read() {
        const bytes = rest;
        rest = null;
        return Promise.resolve(bytes);
      },
      bytes() {
        const bytes = rest ?? new Uint8Array(0);
        rest = null;
        return Promise.resolve(bytes);
      },
      text() {
        rest = null;
        return Promise.resolve(text);
      },
      cancel() {
        rest = null;
      },
    },
  };
}

// Answers that take further upstream requests, for example a job that has to be polled, or the stream of a prediction
// that was created. The provider's implementation decides which; the call's own timeouts bound them all.
import type { DecodeContext } from "../../providers/encoded-request.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../wire/upstream.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { arrivedBody, decodeUtf8 } from "../../wire/body-bytes.ts";
import type { Call } from "../call/call.ts";
import { collectedBytes } from "../call/collected-bytes.ts";
import { pause } from "../../core/concurrency/timeout.ts";
import type { Resolved } from "../plan/resolve-target.ts";

/**
 * The least wait before every follow-up request except the first, so that a provider that keeps asking for follow-ups
 * cannot keep the gateway busy.
 */
const LEAST_WAIT_MS = 200;

/** Sends a request, and throws the error that a status other than success means. */
export type SendChecked = (request: UpstreamRequest) => Promise<UpstreamResponse>;

/**
 * Returns the last response; its body can be read like that of a first response. An event stream is returned unread.
 */
export async function followedAnswer(
  made: UpstreamResponse,
  decode: DecodeContext,
  { provider }: Resolved,
  call: Call,
  signal: CancelSignal,
  send: SendChecked,
): Promise<UpstreamResponse> {
  if (provider.followUp === undefined) return made;
  let response = made;
  for (let first = true; ; first = false) {
    if (/^text\/event-stream/i.test(response.header("content-type") ?? "")) return response;
    const { status, body } = response;
    const bytes = await collectedBytes(body, call);
    const next = provider.followUp(decodeUtf8(bytes), decode);
    if (next === null) return { status, header: (name) => response.header(name), body: arrivedBody(bytes, body) };
    body.accept();
    const waitMs = first ? next.waitMs : Math.max(next.waitMs, LEAST_WAIT_MS);
    if (waitMs > 0) await call.clock.waiting(pause(waitMs, signal));
    response = await send(next.request);
  }
}

// One attempt to deliver an event: signed, within a time limit, without following redirects, and to an address that is
// checked first unless the operator configured it.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import type { Cancellation } from "../../core/concurrency/cancellation.ts";
import { withCancellation } from "../../core/concurrency/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { GatewayEvent, Webhook } from "../../core/record/event.ts";
import { VERSION } from "../../core/version.ts";
import type { DeliveryAttempt } from "../../store/events/events.ts";
import { checkAddress } from "../../wire/address-guard.ts";
import { retryAfterMs } from "../../wire/retry-after.ts";
import { messageAbout, type UpstreamBody, type UpstreamClient } from "../../wire/upstream.ts";
import { webhookHeaders } from "./webhook-signature.ts";

export interface SentWebhook {
  readonly attempt: DeliveryAttempt;
  /** The wait that the receiver asked for; `null` when it asked for none. */
  readonly askedMs: number | null;
}

export type WebhookSender = (webhook: Webhook, event: GatewayEvent) => Promise<SentWebhook>;

export interface SenderOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly allowPrivateAddresses: () => boolean;
}

/** How much of a response is read, and how much of that is stored. */
const READ_BYTES = 2048;
const KEPT_CHARACTERS = 500;

/** The body is sent exactly as it is signed. */
export function webhookBody({ id, type, atMs, tenantId, projectId, data }: GatewayEvent): string {
  return JSON.stringify({
    id,
    type,
    timestamp: new Date(atMs).toISOString(),
    tenant_id: tenantId,
    project_id: projectId,
    data,
  });
}

export function webhookSender(options: SenderOptions): WebhookSender {
  const { clock } = options;
  return async (webhook, event) => {
    const atMs = clock.now();
    const began = clock.monotonic();
    const outcome = (
      status: number | null,
      error: string | null,
      answer: string | null,
      askedMs: number | null = null,
    ): SentWebhook => ({
      attempt: { atMs, durationMs: Math.round(clock.monotonic() - began), status, error, answer },
      askedMs,
    });
    try {
      const { status, answer, retryAfter } = await withCancellation(
        (signal) => send(options, webhook, event, atMs, signal),
        webhook.timeoutMs,
        () => new Error(`no answer within ${webhook.timeoutMs / 1000} s`),
      );
      if (status >= 200 && status < 300) return outcome(status, null, answer);
      return outcome(
        status,
        status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`,
        answer,
        retryAfter,
      );
    } catch (thrown) {
      return outcome(null, deliveryFault(thrown), null);
    }
  };
}

async function send(
  { upstream, clock, allowPrivateAddresses }: SenderOptions,
  { id, origin, url, secret, previous, timeoutMs }: Webhook,
  event: GatewayEvent,
  atMs: number,
  signal: Cancellation,
) {
  // Addresses in the file are the operator's, and always allowed (promise 2.12).
  const checked =
    origin === "file"
      ? { url, pinnedAddress: undefined }
      : await checkAddress(url, {
          allowPrivate: allowPrivateAddresses(),
          param: "url",
          resolveTimeoutMs: Math.min(timeoutMs, 5000),
        });
  const body = webhookBody(event);
  const secrets = previous !== null && atMs < previous.untilMs ? [secret, previous.secret] : [secret];
  const headers = {
    "content-type": "application/json",
    "user-agent": `dragoman/${VERSION}`,
    ...webhookHeaders({ id: event.id, atMs, body }, secrets),
  };
  const response = await upstream.send(
    { url: checked.url, headers, body },
    {
      signal,
      partition: `webhook\n${id}`,
      connectTimeoutMs: timeoutMs,
      firstByteTimeoutMs: timeoutMs,
      betweenBytesTimeoutMs: timeoutMs,
      ...(checked.pinnedAddress !== undefined && { pinnedAddress: checked.pinnedAddress }),
    },
  );
  const retryAfter = retryAfterMs((name) => response.header(name), clock.now());
  return { status: response.status, answer: await beginningOf(response.body), retryAfter };
}

/**
 * Reads no more than is stored, and removes characters that would disturb a terminal or a log. Only the status matters:
 * a body that breaks off changes nothing.
 */
async function beginningOf(body: UpstreamBody): Promise<string | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < READ_BYTES) {
      const bytes = await body.read();
      if (bytes === null) break;
      parts.push(bytes.slice());
      size += bytes.length;
    }
  } catch {
    // The beginning that was read is used.
  }
  body.cancel();
  const text = Buffer.concat(parts)
    .toString("utf8")
    .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\uFFFD]+/gu, " ")
    .trim()
    .slice(0, KEPT_CHARACTERS)
    .toWellFormed();
  return text === "" ? null : text;
}

function deliveryFault(thrown: unknown): string {
  // The message contains no internal address, because deliveries are shown to tenants.
  if (thrown instanceof GatewayError) return thrown.message.replaceAll("`", "");
  return messageAbout("the receiver", thrown).slice(0, KEPT_CHARACTERS);
}

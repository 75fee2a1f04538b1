// Symmetric signatures of Standard Webhooks: HMAC-SHA256 over id, time and body with the secret's bytes. Receivers
// verify them with the libraries of
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { createHmac } from "node:crypto";

const PREFIX_LENGTH = "whsec_".length;

export interface SignedMessage {
  /** The same at each delivery attempt, so that a receiver recognizes a repeat. */
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/** `secrets` are `whsec_` and base64. With several, as during a rotation, each of them signs. */
export function webhookHeaders(
  { id, atMs, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const seconds = String(Math.floor(atMs / 1000));
  const signatures = secrets.map(
    (secret) =>
      `v1,${createHmac("sha256", Buffer.from(secret.slice(PREFIX_LENGTH), "base64"))
        .update(`${id}.${seconds}.${body}`)
        .digest("base64")}`,
  );
  return { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signatures.join(" ") };
}

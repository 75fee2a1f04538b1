// Sends records in batches as signed posts. https://www.standardwebhooks.com
import { systemClock } from "../../../core/clock.ts";
import { VERSION } from "../../../core/version.ts";
import { callJson } from "../../call-json.ts";
import { post } from "../http-delivery.ts";
import type { RecordsWebhookSettings } from "./records-webhook-settings.ts";
import type { RecordedCall, Sink } from "../sink.ts";
import { webhookHeaders } from "../../webhooks/webhook-signature.ts";

export function openRecordsWebhookSink({
  url,
  secrets,
  headers,
}: Pick<RecordsWebhookSettings, "url" | "secrets" | "headers">): Sink {
  return {
    async deliver(calls, signal) {
      const body = `{"type":"calls.ended","timestamp":"${new Date(lastEndMs(calls)).toISOString()}","data":{"calls":[${calls.map(callJson).join(",")}]}}`;
      const signed = webhookHeaders({ id: batchId(calls), atMs: systemClock.now(), body }, secrets);
      await post(
        {
          url,
          headers: { ...headers, "content-type": "application/json", "user-agent": `dragoman/${VERSION}`, ...signed },
          body,
        },
        signal,
        systemClock,
      );
    },
    close: () => Promise.resolve(),
  };
}

/** The id is the same for the same calls, so that a receiver recognizes a retry. */
function batchId(calls: readonly RecordedCall[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { record } of calls) hash.update(record.traceId);
  return `msg_${hash.digest("hex").slice(0, 32)}`;
}

function lastEndMs(calls: readonly RecordedCall[]): number {
  return calls.reduce((last, { record }) => Math.max(last, Math.round(record.startedAtMs + record.totalMs)), 0);
}

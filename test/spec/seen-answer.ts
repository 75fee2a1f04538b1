// One call in the process, as its client, its record and its kept content show it, so that a call with a long answer can be
// compared with one whose answer is short.
import type { CallContent } from "../../src/core/configured/content.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";

export interface SeenAnswer {
  readonly status: number;
  readonly bytes: string;
  readonly headers: unknown;
  readonly record: unknown;
  readonly content: CallContent | null;
}

/** What two such calls have alike in their records, besides their attempts. */
const SHOWN = [
  "policies",
  "errorDetail",
  "finishReasons",
  "nativeFinishReasons",
  "usage",
  "usageSource",
  "providerModel",
  "cost",
  "warnings",
  "code",
  "model",
  "route",
  "status",
] as const;

/** `answers` are what the provider gives, to one request after the other. */
export async function seenAnswer(
  ask: object,
  answers: readonly (string | Uint8Array)[],
  options: StubOptions = {},
): Promise<SeenAnswer> {
  let sent = 0;
  const gateway = stubGateway({
    upstream: cannedUpstream(() => ({
      body: answers[Math.min(sent++, answers.length - 1)]!,
      chunk: 65_536,
      headers: { "content-type": "application/json" },
    })),
    ...options,
  });
  const published = new Promise<CallContent | null>((resolve) => {
    const { observer } = gateway.context;
    const publish = observer.publish.bind(observer);
    Object.assign(observer, {
      publish(record: CallRecord, content?: CallContent | null) {
        publish(record, content ?? null);
        resolve(content ?? null);
      },
    });
  });
  const reply = await gateway.chat(ask);
  const text = await reply.text();
  const content = await published;
  const record = gateway.records[0]!;
  // what names the call, a time, and the ids that the gateway gives to calls of functions, is another in each
  const own = new RegExp(record.traceId, "g");
  const headers = Object.fromEntries(
    [...reply.headers]
      .filter(([, value]) => !value.includes(record.traceId))
      .filter(([name]) => name !== "server-timing"),
  );
  return {
    status: reply.status,
    bytes: text
      .replaceAll(own, "")
      .replaceAll(record.traceId.slice(12), "")
      .replaceAll(/call_gw_\w+/g, "")
      .replaceAll(/(?:resp|item|msg)_[0-9A-Za-z]{16,}/g, "")
      .replaceAll(/"duration_ms":[\d.]+/g, ""),
    headers,
    content,
    record: {
      ...Object.fromEntries(SHOWN.map((name) => [name, record[name]])),
      attempts: record.attempts.map((one) => ({
        code: one.code,
        status: one.status,
        usage: one.usage,
        usageSource: one.usageSource,
        model: one.toldModel,
        nativeCode: one.nativeCode,
      })),
    },
  };
}

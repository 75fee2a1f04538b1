// One call in the process whose answer is long, as its client, its record and its kept content show it, so that the
// work of another thread can be compared with that of one thread.
import type { LongAnswers } from "../../src/engine/long-bodies/long-answers.ts";
import type { CallContent } from "../../src/core/content.ts";
import type { CallRecord } from "../../src/core/record.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";

export interface SeenAnswer {
  readonly status: number;
  readonly bytes: string;
  readonly headers: unknown;
  readonly record: unknown;
  /** The answers that the other thread wrote, or gave as values. */
  readonly written: number;
  readonly content: CallContent | null;
}

/** `answers` are what the provider gives, to one request after the other. `there` null: all is done in one thread. */
export async function seenAnswer(
  ask: object,
  answers: readonly (string | Uint8Array)[],
  there: LongAnswers | null,
  options: StubOptions = {},
): Promise<SeenAnswer> {
  let written = 0;
  const counted = <T>(answer: T): T => {
    written++;
    return answer;
  };
  const longAnswers: LongAnswers | null = there && {
    check: (...given) => there.check(...given),
    decode: (...given) => counted(there.decode(...given)),
    decodeTask: (...given) => there.decodeTask(...given),
    write: (...given) => counted(there.write(...given)),
    pass: (...given) => counted(there.pass(...given)),
    edit: (...given) => there.edit(...given),
    gather: (...given) => counted(there.gather(...given)),
  };
  let sent = 0;
  const gateway = stubGateway({
    upstream: cannedUpstream(() => ({
      body: answers[Math.min(sent++, answers.length - 1)]!,
      chunk: 65_536,
      headers: { "content-type": "application/json" },
    })),
    ...options,
    ...(longAnswers && { longAnswers }),
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
  const text = Buffer.from(await reply.arrayBuffer()).toString("latin1");
  const content = await published;
  const record = gateway.records[0]!;
  const {
    policies,
    errorDetail,
    finishReasons,
    nativeFinishReasons,
    usage,
    usageSource,
    providerModel,
    cost,
    warnings,
    code,
    model,
    route,
    status,
  } = record;
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
      .replaceAll(/"duration_ms":[\d.]+/g, ""),
    headers,
    written,
    content,
    record: {
      policies,
      errorDetail,
      finishReasons,
      nativeFinishReasons,
      usage,
      usageSource,
      providerModel,
      cost,
      warnings,
      code,
      model,
      route,
      status,
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

// A call as receivers get it: the fields of its log line, and its content where the receiver may have it.
import { callLine } from "./log.ts";
import type { RecordedCall } from "./integrations/sink.ts";

const HEAD = '{"level":"info",';
const TAIL = ',"msg":"call"}';
/** Sinks that write the same text are given the same call. */
const written = new WeakMap<RecordedCall, string>();

export function callJson(call: RecordedCall): string {
  const known = written.get(call);
  if (known !== undefined) return known;
  const fields = callLine(call.record).slice(HEAD.length, -TAIL.length);
  const text = call.content === null ? `{${fields}}` : `{${fields},"content":${JSON.stringify(call.content)}}`;
  written.set(call, text);
  return text;
}

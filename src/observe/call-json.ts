// A call as receivers get it: the fields of its log line, and its content where the receiver may have it.
import { memoizePerObject } from "../core/memoization.ts";
import { callLine } from "./log.ts";
import type { RecordedCall } from "./integrations/sink.ts";

const HEAD = '{"level":"info",';
const TAIL = ',"msg":"call"}';

/** Written once for all sinks that send the same call. */
export const callJson = memoizePerObject((call: RecordedCall): string => {
  const fields = callLine(call.record).slice(HEAD.length, -TAIL.length);
  return call.content === null ? `{${fields}}` : `{${fields},"content":${JSON.stringify(call.content)}}`;
});

// A call as receivers get it: the fields of its log line, and what was said where that may go along.
import { callLine } from "./log.ts";
import type { RecordedCall } from "./sink.ts";

const HEAD = '{"level":"info",';
const TAIL = ',"msg":"call"}';

export function callJson({ record, content }: RecordedCall): string {
  const fields = callLine(record).slice(HEAD.length, -TAIL.length);
  return content === null ? `{${fields}}` : `{${fields},"content":${JSON.stringify(content)}}`;
}

// The log of calls as CSV or JSON Lines.
import type { JsonObject } from "../../core/json.ts";
import { cellText, csvLine } from "../../accounting/usage-sums.ts";
import type { CallSummary } from "../../store/calls/calls.ts";
import { CALL_SHAPE, shownCall } from "./call-shapes.ts";
import type { TextForm } from "./paged-text.ts";

const COLUMNS = Object.keys(CALL_SHAPE);
const TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson; charset=utf-8" } as const;

export function logText(format: keyof typeof TYPES): TextForm<CallSummary> {
  return {
    contentType: TYPES[format],
    head: format === "csv" ? csvLine(COLUMNS) : "",
    linesOf: (calls) => calls.map((call) => lineOf(format, shownCall(call))).join(""),
  };
}

function lineOf(format: keyof typeof TYPES, call: JsonObject): string {
  return format === "jsonl" ? `${JSON.stringify(call)}\n` : csvLine(COLUMNS.map((name) => cellText(call[name])));
}

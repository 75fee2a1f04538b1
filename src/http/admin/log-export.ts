// Exports the log as CSV or JSON Lines, page by page as the client reads, so that an export of any length holds only
// one page in memory.
import type { JsonObject } from "../../core/json.ts";
import { cellText, csvLine } from "../../accounting/usage-sums.ts";
import type { LogPage } from "../../store/calls/calls.ts";
import type { PageRequest } from "../../store/reader.ts";
import { CALL_SHAPE, shownCall } from "./call-shapes.ts";
import type { Answer } from "./operation.ts";

const PAGE = 1000;
const COLUMNS = Object.keys(CALL_SHAPE);
const TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson; charset=utf-8" } as const;

/** The first page is read before the response begins, so that an invalid query still gets its error status. */
export async function exportedCalls(
  format: keyof typeof TYPES,
  { cursor = null }: PageRequest,
  search: (page: PageRequest) => Promise<LogPage>,
): Promise<NonNullable<Answer["text"]>> {
  const encoder = new TextEncoder();
  let page: LogPage | null = await search({ limit: PAGE, cursor });
  let text = format === "csv" ? csvLine(COLUMNS) : "";
  const content = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (page !== null) {
          const { data, nextCursor }: LogPage = page;
          text += data.map((call) => lineOf(format, shownCall(call))).join("");
          // The lines made so far are sent before the next page is read.
          if (text !== "") controller.enqueue(encoder.encode(text));
          const isSent = text !== "";
          text = "";
          page = nextCursor === null ? null : await search({ limit: PAGE, cursor: nextCursor });
          if (isSent) return;
        }
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { contentType: TYPES[format], content, nextCursor: null };
}

function lineOf(format: keyof typeof TYPES, call: JsonObject): string {
  return format === "jsonl" ? `${JSON.stringify(call)}\n` : csvLine(COLUMNS.map((name) => cellText(call[name])));
}

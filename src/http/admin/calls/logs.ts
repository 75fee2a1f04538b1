// The log of calls: searches by every field in pages, exports as CSV and JSON Lines, single calls, and their content
// where the tenant keeps it (promises 9.3, 11.3). Each reading of content adds a row to the audit log.
import { z } from "zod";
import { nothingThere } from "../../../auth/grants.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { cellText, csvLine } from "../../../core/text/csv.ts";
import { unitOf } from "../../../core/text/property-name.ts";
import { type CallSummary, LOG_ORDERS, type LogPage } from "../../../store/calls/calls.ts";
import type { PageRequest } from "../../../store/reader.ts";
import { callFilters, filterOf } from "./call-filters.ts";
import {
  CALL_SHAPE,
  callPage,
  dated,
  findCall,
  recordShape,
  shownCall,
  shownPage,
  shownRecord,
  SCOPE_QUERY,
} from "./call-shapes.ts";
import { pagedText, type TextForm } from "./paged-text.ts";
import { type AdminContents, type AdminOperation, PLACES, type Reach, reading, writing } from "../operation.ts";
import type { AdminCalls } from "../report-reads.ts";
import { instant, pageOf, pageQuery, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const logQuery = z.strictObject({
  ...pageQuery,
  ...callFilters,
  order: z
    .enum(LOG_ORDERS)
    .default("newest")
    .meta({ description: "By arrival, the newest first; `ended`: by end, the earliest first, to follow the log." }),
  ended_from: instant
    .optional()
    .meta({ description: "Only calls that ended at this time or later; fast with `order=ended`." }),
  format: z.enum(["json", "jsonl", "csv"]).default("json").meta({
    description: "`jsonl` and `csv` stream all matching calls.",
  }),
});

const loggedCall = z.strictObject(CALL_SHAPE).meta({ id: "LoggedCall" });
const detail = z
  .strictObject({
    ...CALL_SHAPE,
    record: recordShape,
    content_kept_until: time
      .nullable()
      .meta({ description: "Until when the content of the call is kept; null if it is not kept." }),
  })
  .meta({ id: "LoggedCallDetail" });
const content = z
  .strictObject({
    trace_id: z.string(),
    tenant_id: z.string(),
    project_id: z.string(),
    kept_until: time,
    content: z.record(z.string(), z.unknown()).meta({
      description: "The redacted request and answer: docs/integrations/content-log.md.",
    }),
  })
  .meta({ id: "CallContent" });
const removed = z
  .strictObject({ removed: z.int().meta({ description: "The number of calls whose content was deleted." }) })
  .meta({ id: "RemovedContent" });

const COLUMNS = Object.keys(CALL_SHAPE);
const TEXT_TYPES = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson; charset=utf-8" } as const;

function logText(format: keyof typeof TEXT_TYPES): TextForm<CallSummary> {
  return {
    contentType: TEXT_TYPES[format],
    head: format === "csv" ? csvLine(COLUMNS) : "",
    linesOf: (calls) => calls.map((call) => lineOf(format, shownCall(call))).join(""),
  };
}

function lineOf(format: keyof typeof TEXT_TYPES, call: JsonObject): string {
  return format === "jsonl"
    ? `${JSON.stringify(call)}\n`
    : csvLine(
        COLUMNS.map((name) => cellText(call[name])),
        (at) => unitOf(COLUMNS[at]!) === "dollars",
      );
}

function placeOperations(reach: Reach, calls: AdminCalls, contents: AdminContents | null): readonly AdminOperation[] {
  const { name: place, base, scopeText: where } = PLACES[reach];
  const list = reading({
    id: `list${place}Logs`,
    path: `${base}/logs`,
    tag: "logs",
    summary: `Search the calls of ${where} by any field`,
    query: logQuery.extend(SCOPE_QUERY[reach]),
    answer: callPage(loggedCall, `${place}LogPage`),
    run: async ({ place: at, query, snapshot, note }) => {
      const filter = filterOf(query, at);
      if (query.format !== "json") {
        const rows = (page: PageRequest): Promise<LogPage> => calls.searchCalls(page, filter);
        const text = await pagedText(pageOf(query), rows, logText(query.format));
        // Nothing leaves before the audit log says so.
        await note({
          action: "export",
          outcome: "done",
          kind: "call_log",
          tenantId: at?.tenantId ?? null,
          projectId: at?.projectId ?? null,
          note: query.format,
        });
        return { body: {}, text };
      }
      return { body: shownPage(await calls.searchCalls(pageOf(query), filter), snapshot) };
    },
  });
  const one = reading({
    id: `read${place}Log`,
    path: `${base}/logs/{id}`,
    tag: "logs",
    summary: "Get a call with all its details, by trace id",
    answer: detail,
    run: async ({ caller, place: at, params }) => {
      const { summary, record } = await findCall(calls, params["id"]!, at);
      const keptUntilMs = (await contents?.keptUntilMs(summary.traceId)) ?? null;
      return {
        body: shownAs(detail, {
          ...dated(summary),
          record: shownRecord(record, caller),
          contentKeptUntilMs: keptUntilMs,
        }),
      };
    },
  });
  return [list, one, ...(reach === "operator" ? [] : contentOperations(reach, contents))];
}

/**
 * An operator reads content through the tenant it belongs to, so that the tenant finds the reading in its audit log.
 */
function contentOperations(
  reach: Exclude<Reach, "operator">,
  contents: AdminContents | null,
): readonly AdminOperation[] {
  const { name: place, base, scopeText: where } = PLACES[reach];
  const read = reading({
    id: `read${place}LogContent`,
    path: `${base}/logs/{id}/content`,
    tag: "logs",
    summary: "Get the content of a call, where the tenant keeps it; each access is written to the audit log",
    answer: content,
    run: async ({ place: at, params, note }) => {
      const traceId = params["id"]!;
      const found = (await contents?.find(traceId)) ?? null;
      if (
        found === null ||
        found.tenantId !== at!.tenantId ||
        (at!.projectId !== null && found.projectId !== at!.projectId)
      )
        throw nothingThere(`content kept for the call ${traceId}`);
      // Content is shown only after the audit row has been written.
      await note({
        action: "read",
        outcome: "done",
        kind: "call_content",
        tenantId: found.tenantId,
        projectId: found.projectId,
        targetId: traceId,
      });
      return {
        body: shownAs(content, { ...found, traceId, keptUntilMs: found.expiresMs }),
      };
    },
  });
  const remove = writing({
    method: "delete",
    id: `remove${place}Content`,
    path: `${base}/content`,
    tag: "logs",
    summary: `Permanently delete the kept content of the calls of ${where}`,
    answer: removed,
    // Not inside the transaction: the removal may take long, and other processes write these rows.
    prepare: async ({ dryRun, place: at, note }) => {
      if (contents === null) throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
      const calls = await contents.count(at!);
      if (dryRun) return { found: calls };
      // Nothing is deleted before the audit log says so.
      await note({
        action: "remove",
        outcome: "done",
        kind: "call_content",
        tenantId: at!.tenantId,
        projectId: at!.projectId,
        before: { calls },
      });
      return { found: await contents.remove(at!) };
    },
    run: (_call, _writer, calls) => ({ body: { removed: calls } }),
  });
  return [read, remove];
}

export function logOperations(calls: AdminCalls, contents: AdminContents | null): readonly AdminOperation[] {
  return (["operator", "tenant", "project"] as const).flatMap((reach) => placeOperations(reach, calls, contents));
}

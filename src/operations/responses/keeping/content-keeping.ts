// Keeps responses like the content of calls (promise 11.3): redacted as the project says, and for as long.
import { maskingGuards, redactedForKeeping } from "../../../engine/content/content-redaction.ts";
import type { DurableStore } from "../../../engine/keeping/durable-store.ts";
import { KEEPING_BOUNDS } from "../../../engine/keeping/kept-store.ts";
import type { ReadyCall } from "../../../engine/operation.ts";
import { isDeepStrictEqual } from "node:util";
import { isObject, type Json, type JsonObject, listIn } from "../../../core/json.ts";
import { idsOf, type Keeper, type KeptResponse } from "./kept-responses.ts";

/** Nothing is kept of a project that is not there any more, and nothing that is too large. */
export function contentKeeping({ call, principal }: ReadyCall, durable: DurableStore): Keeper {
  const { tenantId, projectId } = principal;
  const { snapshot } = call;
  const rules = snapshot.contentLogs.get(projectId)!;
  const guards = maskingGuards(rules, snapshot.policies.of(tenantId, projectId));
  const untilMs = call.record.startedAtMs + rules.retentionMs;
  return {
    isStored: true,
    isAway: false,
    untilMs,
    async keep({ owner, response, input, hidden = [], hiddenInput = [], supplied = [], isStreamed, eventParts }) {
      const values = [response, ...input];
      const [kept, ...items] = (await redactedForKeeping(values, guards, call.schedulerOfKept(tenantId))).map(
        (value, index) => withStructure(values[index]!, value),
      ) as readonly JsonObject[];
      const { usage } = response;
      const shown = listIn(kept!["output"]);
      const redacted = listIn(response["output"]).flatMap((item, at) =>
        isObject(item) && item["type"] === "mcp_approval_request" && !isDeepStrictEqual(item, shown[at])
          ? [item["id"] as string]
          : [],
      );
      // carriers are sealed, also those that the client was shown
      const streamed = isStreamed === undefined ? {} : { isStreamed, ...(eventParts !== undefined && { eventParts }) };
      const value: KeptResponse = {
        owner,
        response: { ...kept!, ...(usage !== undefined && { usage }) },
        input: items,
        hidden,
        hiddenInput,
        supplied,
        ...(redacted.length > 0 && { redacted }),
        ...streamed,
      };
      if (!call.isProjectThere() || JSON.stringify(value).length > KEEPING_BOUNDS.objectBytes) return false;
      await durable.keep({
        tenantId,
        projectId,
        ids: idsOf(response, owner),
        value: value as unknown as Json,
        untilMs,
      });
      return true;
    },
  };
}

/** Members by which items refer to one another, and that no person has written. */
const STRUCTURE: ReadonlySet<string> = new Set([
  "id",
  "call_id",
  "item_id",
  "previous_response_id",
  "approval_request_id",
  "object",
  "type",
  "role",
  "status",
  "created_at",
  "completed_at",
  "model",
]);

/** Members with objects that have such members, and none whose name a person has chosen, as in metadata and schemas. */
const STRUCTURED: ReadonlySet<string> = new Set([
  "output",
  "content",
  "summary",
  "annotations",
  "outputs",
  "results",
  "tools",
  "tool_choice",
  "text",
  "format",
  "action",
  "operation",
  "outcome",
  "pending_safety_checks",
  "acknowledged_safety_checks",
]);

/** Redaction also replaces ids and numbers that look like those of persons: here they are put back. */
function withStructure(sent: Json, redacted: Json): Json {
  if (Array.isArray(sent) && Array.isArray(redacted))
    return (redacted as readonly Json[]).map((one, index) =>
      withStructure((sent as readonly Json[])[index] ?? null, one),
    );
  if (!isObject(sent) || !isObject(redacted)) return redacted;
  return Object.fromEntries(
    Object.entries(redacted).map(([name, value]) => {
      const before = sent[name];
      if (typeof before === "object" && before !== null)
        return [name, STRUCTURED.has(name) ? withStructure(before, value!) : value];
      return [name, before !== undefined && STRUCTURE.has(name) ? before : value];
    }),
  );
}

// Whether what was said in a call is kept, and otherwise why not. It is told without reading the content.
import { z } from "zod";
import { isSampled } from "../../../core/record/sampling.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { StoredCall } from "../../../store/calls/calls.ts";
import { time } from "../schemas.ts";
import type { ThingOf } from "../shown.ts";

export const contentState = z
  .strictObject({
    state: z.enum(["kept", "explained", "off", "elsewhere", "unsampled", "expired", "missing"]).meta({
      description:
        "`kept`: it can be read. `explained`: the call was an explanation, of which nothing is kept. `off`: the content log is off for the project now. `elsewhere`: only integrations receive it. `unsampled`: the call is not in the share of calls that is kept. `expired`: it was kept for its time. `missing`: the content log is on, but has nothing of the call: it was off then, the content was deleted, or it was lost before it was written.",
    }),
    kept_until: time.nullable(),
  })
  .meta({ id: "ContentState" });

export function contentStateOf(
  { summary, record }: StoredCall,
  keptUntilMs: number | null,
  { contentLogs }: Pick<Snapshot, "contentLogs">,
  nowMs: number,
): ThingOf<typeof contentState.shape> {
  return { state: stateOf(), keptUntilMs };

  function stateOf(): z.output<typeof contentState>["state"] {
    if (keptUntilMs !== null) return "kept";
    if (record?.explained === true) return "explained";
    const rules = summary.projectId === null ? undefined : contentLogs.get(summary.projectId);
    if (rules === undefined) return "off";
    if (!rules.isStored) return "elsewhere";
    if (!isSampled(summary.traceId, rules.sample)) return "unsampled";
    return summary.timeMs + summary.totalMs + rules.retentionMs <= nowMs ? "expired" : "missing";
  }
}

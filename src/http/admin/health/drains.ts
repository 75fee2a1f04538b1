// Drains: for how long a tenant sends no calls to a provider or one of its models. A drain ends by itself.
import { z } from "zod";
import { nothingThere } from "../../../auth/grants.ts";
import { requireConfigures } from "../../../auth/tokens/restriction-grants.ts";
import type { Drain } from "../../../core/configured/drain.ts";
import { makerOf } from "../../../core/identity.ts";
import { type Snapshot, snapshotSeenBy } from "../../../core/snapshot.ts";
import { MODEL_ID } from "../../../providers/settings.ts";
import { type AdminOperation, reading, writing } from "../operation.ts";
import { time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const MOST_MINUTES = 7 * 24 * 60;
const MINUTE_MS = 60_000;
const MOST_NOTE = 200;

const model = z
  .string()
  .regex(MODEL_ID, "expected the name of a model, without the provider")
  .optional()
  .meta({ description: "Only this model; without it, all models of the provider." });
const body = z
  .strictObject({
    minutes: z.int().min(1).max(MOST_MINUTES).meta({
      description: "How long no calls are sent there, at most a week. Then they go there again.",
    }),
    model,
    note: z
      .string()
      .trim()
      .min(1)
      .max(MOST_NOTE)
      // oxlint-disable-next-line eslint/no-control-regex
      .regex(/^[^\u0000-\u001f\u007f]*$/, "expected text without control characters")
      .optional()
      .meta({ description: "Why. Callers see it in the error of a call that has no other target." }),
  })
  .meta({ id: "NewDrain" });

export const drainShape = z
  .strictObject({
    provider: z.string(),
    model: z.string().nullable().meta({ description: "Null for all models of the provider." }),
    until: time,
    note: z.string().nullable(),
    begun_by: z
      .string()
      .meta({ description: "The id of the user, or `token:` and the id of the token, that began it." }),
    begun_at: time,
  })
  .meta({ id: "Drain" });
const drains = z.strictObject({ data: z.array(drainShape) }).meta({ id: "DrainList" });

/** Those that are in force in a tenant, in the order of their ends. */
export function drainsOf({ drains: all }: Pick<Snapshot, "drains">, tenantId: string, nowMs: number): readonly Drain[] {
  return (all.get(tenantId) ?? []).filter(({ untilMs }) => untilMs > nowMs).toSorted((a, b) => a.untilMs - b.untilMs);
}

const PATH = "/tenants/{tenant}/providers/{provider}/drain";

export const DRAIN_OPERATIONS: readonly AdminOperation[] = [
  reading({
    id: "listTenantDrains",
    path: "/tenants/{tenant}/drains",
    tag: "drains",
    summary: "List the providers and models to which the tenant sends no calls for a while",
    answer: drains,
    run: ({ place, snapshot, nowMs }) => ({
      body: shownAs(drains, { data: drainsOf(snapshot, place!.tenantId, nowMs) }),
    }),
  }),
  writing({
    id: "drainTenantProvider",
    method: "post",
    path: PATH,
    tag: "drains",
    summary:
      "Send no calls of the tenant to a provider or one of its models for a while; routes use their other targets",
    body,
    answer: drainShape,
    run: async (
      { place, params, snapshot, body: { minutes, model: one = null, note = null }, caller, nowMs },
      writer,
    ) => {
      requireConfigures(caller.token);
      const provider = params["provider"]!;
      if (!snapshotSeenBy(snapshot, place!).providers.has(provider)) throw nothingThere(`provider ${provider}`);
      const drain: Drain = {
        tenantId: place!.tenantId,
        provider,
        model: one,
        untilMs: nowMs + minutes * MINUTE_MS,
        note,
        begunBy: makerOf(caller.token),
        begunAtMs: nowMs,
      };
      await writer.beginDrain(drain);
      return { body: shownAs(drainShape, drain) };
    },
  }),
  writing({
    id: "endTenantDrain",
    method: "delete",
    path: PATH,
    tag: "drains",
    summary: "End a drain of a provider or one of its models before its time",
    further: { model },
    run: async ({ place, params, query, caller }, writer) => {
      requireConfigures(caller.token);
      const provider = params["provider"]!;
      const { model: one = null } = query;
      if (!(await writer.endDrain({ tenantId: place!.tenantId, provider, model: one })))
        throw nothingThere(`drain of ${one === null ? provider : `${provider}:${one}`}`);
      return { body: null };
    },
  }),
];

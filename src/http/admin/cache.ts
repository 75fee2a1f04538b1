// Removes answers from the response cache: all of a tenant, those of one route, or one by its key. Other processes learn
// of it from the audit log (cache/follow-purges.ts).
import { z } from "zod";
import type { CachePlace } from "../../cache/answer-cache.ts";
import { CACHE_KEY, PURGE_ACTION, PURGE_KIND } from "../../cache/follow-purges.ts";
import type { ResponseCache } from "../../cache/response-cache.ts";
import { GatewayError } from "../../core/errors.ts";
import { ROUTE_NAME } from "../../core/configured/route.ts";
import { type AdminCall, type AdminOperation, writing } from "./operation.ts";

const purgeBody = z
  .strictObject({
    route: z
      .string()
      .regex(ROUTE_NAME)
      .optional()
      .meta({ description: "Only answers that this route has kept; `direct` for calls without a route." }),
    key: z
      .string()
      .regex(CACHE_KEY, "expected the 64 hex digits of x-gateway-cache-key")
      .optional()
      .meta({ description: "Only the answer with this key, as in `x-gateway-cache-key`." }),
  })
  .refine(({ route, key }) => route === undefined || key === undefined, {
    path: ["key"],
    message: "expected either route or key",
  })
  .meta({ id: "CachePurge" });

const purged = z
  .strictObject({
    removed: z.int().nullable().meta({
      description:
        "How many answers were removed from the store of the process that answers; null for a dry run. Other gateways follow within some seconds.",
    }),
  })
  .meta({ id: "CachePurgeResult" });

type Call = AdminCall<z.output<typeof purgeBody>>;

export function cacheOperations(cache: Pick<ResponseCache, "purge"> | null): readonly AdminOperation[] {
  return [
    writing({
      id: "purgeTenantCache",
      method: "post",
      path: "/tenants/{tenant}/cache/purge",
      tag: "cache",
      summary: "Remove answers from the response cache",
      body: purgeBody,
      bodyOptional: true,
      answer: purged,
      prepare: async (call) => ({
        found: call.dryRun || cache === null ? null : await purgedCount(cache, placeOf(call)),
      }),
      run(call, writer, removed) {
        const { tenantId, ...after } = placeOf(call);
        writer.note({
          action: PURGE_ACTION,
          outcome: "done",
          kind: PURGE_KIND,
          tenantId,
          projectId: null,
          targetId: after.route ?? after.key ?? tenantId,
          after: { ...after, removed },
        });
        return { body: { removed } };
      },
    }),
  ];
}

function placeOf({ place, body: { route, key } }: Call): CachePlace {
  return { tenantId: place!.tenantId, ...(route !== undefined && { route }), ...(key !== undefined && { key }) };
}

async function purgedCount(cache: Pick<ResponseCache, "purge">, place: CachePlace): Promise<number> {
  try {
    return await cache.purge(place);
  } catch (cause) {
    throw new GatewayError(
      "store_unavailable",
      "The store of the response cache cannot be reached, so that answers in it were not removed. They end with their time; try again.",
      { cause },
    );
  }
}

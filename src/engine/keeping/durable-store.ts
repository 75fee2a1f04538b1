// Objects of calls that a project keeps like the content of its calls (promises 11.3 and 12.8): in the database, encrypted
// under the key of the tenant, until the retention of the project ends, and removed with its content, its project or its
// tenant. Each id of a part is a row of its own, which names the object.
import { GatewayError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { digestOf } from "../../core/text/digest.ts";
import { messageOf } from "../../core/thrown.ts";
import { KEPT_OBJECT } from "../../store/calls/calls.ts";
import type { ContentStore, ContentText } from "../../store/calls/content-store.ts";

export interface DurableObject {
  readonly tenantId: string;
  readonly projectId: string;
  /** The first names the object; the others are those of its parts. */
  readonly ids: readonly string[];
  readonly value: Json;
  readonly untilMs: number;
}

export type DurableStore = ReturnType<typeof durableStore>;

export function durableStore(contents: Pick<ContentStore, "keep" | "find" | "findAll" | "removeOnes">) {
  const found = async (tenantId: string, id: string): Promise<(JsonObject & { readonly untilMs: number }) | null> => {
    const row = await contents.find(rowId(tenantId, id));
    return row === null || row.tenantId !== tenantId ? null : { ...row.content, untilMs: row.expiresMs };
  };
  const find = async (
    tenantId: string,
    id: string,
  ): Promise<Pick<DurableObject, "ids" | "value" | "untilMs"> | null> => {
    const first = await found(tenantId, id);
    const whole = typeof first?.["of"] === "string" ? await found(tenantId, first["of"]) : first;
    if (whole === null) return null;
    return { ids: whole["ids"] as readonly string[], value: whole["value"]!, untilMs: whole.untilMs };
  };
  return {
    /** Throws `store_unavailable`. */
    keep: ({ tenantId, projectId, ids, value, untilMs }: DurableObject) =>
      told(() => {
        const [own, ...parts] = ids;
        const row = (id: string, content: JsonObject): ContentText => ({
          traceId: rowId(tenantId, id),
          tenantId,
          projectId,
          expiresMs: untilMs,
          text: JSON.stringify(content),
        });
        return contents.keep([row(own!, { ids, value }), ...parts.map((part) => row(part, { of: own! }))]);
      }),
    /** Returns the object that has the id, or a part with it; `null` when it is not kept. Throws `store_unavailable`. */
    find: (tenantId: string, id: string) => told(() => find(tenantId, id)),
    /** Removes the object that has this id. Throws `store_unavailable`. */
    remove: (tenantId: string, id: string) =>
      told(async () => {
        const whole = await found(tenantId, id);
        if (whole === null || typeof whole["of"] === "string") return;
        const [own, ...parts] = (whole["ids"] as readonly string[]).map((one) => rowId(tenantId, one));
        // another object may have parts with the same ids
        const ofWhole = (await contents.findAll(parts)).filter(({ content }) => content["of"] === id);
        await contents.removeOnes([own!, ...ofWhole.map(({ traceId }) => traceId)]);
      }),
  };
}

/** Ids of parts may be those of a vendor, so that each tenant has names of its own. */
function rowId(tenantId: string, id: string): string {
  return `${KEPT_OBJECT}${digestOf([tenantId, id])}`;
}

async function told<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw new GatewayError("store_unavailable", "The database, in which responses are kept, cannot be used now.", {
      cause: error,
      detail: messageOf(error),
    });
  }
}

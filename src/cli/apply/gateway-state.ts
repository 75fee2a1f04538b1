// The gateway's current state in the form of documents, and the request that makes each step of a plan.
import { UNSTORED_ETAG } from "../../core/configured/configured.ts";
import { type JsonObject, textOrEmpty } from "../../core/json.ts";
import type { AdminClient } from "../admin/client.ts";
import { pathOf } from "../admin/run.ts";
import { type DesiredState, type Kind, nounOfKind } from "./documents.ts";
import type { Step, ActualState } from "./plan.ts";

export type AppliedPlace = Pick<DesiredState, "tenant" | "project">;

/** Fields that a response shows beside the document. */
const HEAD = new Set([
  "id",
  "name",
  "tenant_id",
  "project_id",
  "origin",
  "set_by",
  "version",
  "etag",
  "created_at",
  "updated_at",
  "read_only_fields",
]);

/** The path of one thing of a kind, or of all of them. */
function placeOf(kind: Kind, at: AppliedPlace, id: string | null = null): string {
  const { path, place } = nounOfKind(kind);
  return pathOf(path, id, at, place);
}

/** All resources of a kind in a place. Throws RefusedRequest with the status 404 where the place does not exist. */
export async function readActualState(
  client: AdminClient,
  kind: Kind,
  place: AppliedPlace,
): Promise<readonly ActualState[]> {
  if (kind === "settings")
    return [actualStateOf(kind, place, (await client.send("GET", placeOf(kind, place))) as JsonObject)];
  const found = await client.list(
    placeOf(kind, place),
    kind === "project" ? { tenant_id: place.tenant ?? undefined } : {},
  );
  // Resources of the file that apply to all tenants belong to no place.
  return found
    .filter(
      (one) =>
        kind === "tenant" ||
        kind === "project" ||
        ((one["tenant_id"] ?? null) !== null && (one["project_id"] ?? null) === place.project),
    )
    .map((one) => actualStateOf(kind, place, one));
}

function actualStateOf(kind: Kind, { tenant, project }: AppliedPlace, shown: JsonObject): ActualState {
  const { id, name, user_id: user, etag, origin } = shown;
  const base = {
    kind,
    tenant: kind === "tenant" || project !== null ? null : tenant,
    project,
    etag: typeof etag === "string" ? etag : null,
    origin: origin === "file" && kind !== "settings" ? ("file" as const) : ("store" as const),
  };
  if (kind === "member")
    return { ...base, name: textOrEmpty(user), id: textOrEmpty(user), spec: { role: shown["role"] } };
  if (kind === "tenant" || kind === "project" || kind === "user")
    return {
      ...base,
      name: textOrEmpty(id),
      id: textOrEmpty(id),
      spec: withoutNulls(shown, new Set([...HEAD].filter((field) => field !== "name"))),
    };
  const spec = withoutNulls(shown, HEAD);
  if (kind === "settings") {
    const readOnly = new Set((shown["read_only_fields"] ?? []) as readonly string[]);
    const filed = Object.fromEntries(Object.entries(spec).filter(([field]) => readOnly.has(field)));
    return { ...base, name: "settings", id: textOrEmpty(id), spec: withoutNulls(spec, readOnly), filed };
  }
  return { ...base, name: textOrEmpty(name) === "" ? textOrEmpty(id) : textOrEmpty(name), id: textOrEmpty(id), spec };
}

function withoutNulls(shown: JsonObject, head: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries(shown).filter(([field, value]) => !head.has(field) && value !== null && value !== undefined),
  );
}

/** Throws what the client throws: the ETag rejects the request when the resource was changed in between. */
export async function make(client: AdminClient, { action, what, desired, actual }: Step): Promise<void> {
  const { kind, name } = what;
  const base = placeOf(kind, what);
  const item = kind === "settings" ? base : placeOf(kind, what, actual?.id ?? name);
  const ifMatch = actual?.etag ?? null;
  if (action === "remove") return void (await client.send("DELETE", item, { ifMatch }));
  const { spec } = desired!;
  if (kind === "member" || kind === "settings")
    return void (await client.send("PUT", item, { ifMatch: ifMatch ?? UNSTORED_ETAG, body: spec }));
  if (action === "create")
    return void (await client.send("POST", base, {
      body: {
        ...spec,
        ...(kind === "tenant" || kind === "user"
          ? { id: name }
          : kind === "project"
            ? { id: name, tenant_id: what.tenant! }
            : { name }),
      },
    }));
  await client.send(kind === "tenant" || kind === "project" || kind === "user" ? "PATCH" : "PUT", item, {
    ifMatch,
    body: spec,
  });
}

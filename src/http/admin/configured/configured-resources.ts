// Finds and lists the configured objects of a place: those of the configuration file beside those in the database.

// Decides (records and configuration): What if two people change one object at the same time? By:
// `requireChangeable`. Also: `http/admin/schemas.ts` (`requireEtag`). Rule: With `if-match`, the second one gets 412
// `etag_mismatch` and nothing is written; without it, the last one wins, and both changes are in the audit log.
import { z } from "zod";
import {
  type AdminCaller,
  requireWritable,
  setInFile,
  nothingThere,
  type TenantOrProject,
  placeText,
} from "../../../auth/grants.ts";
import type { Configured, ConfiguredKind, ConfiguredNoun } from "../../../core/configured/configured.ts";
import type { JsonObject } from "../../../core/json.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import type { Resource } from "../../../store/records.ts";
import type { Page, Reader } from "../../../store/reader.ts";
import type { DocumentRule, DocumentDependencies } from "./document-rule.ts";
import type { AdminCall } from "../operation.ts";
import { pageQuery, requireEtag, search } from "../schemas.ts";
import { SETTINGS_NAME, shownResource, shownFromFile } from "./configured-shapes.ts";

export interface ConfiguredContext {
  readonly rules: Readonly<Partial<Record<ConfiguredNoun, DocumentRule>>>;
  readonly dependencies: DocumentDependencies;
  /** The file's resources of the place and those that apply to all tenants, with secrets masked. */
  inFile(kind: ConfiguredKind, place: TenantOrProject, caller: AdminCaller): readonly Configured<JsonObject>[];
}

/** The resource of the database that has this id and is of this place. */
export async function findById(
  store: Reader,
  kind: ConfiguredKind,
  place: TenantOrProject,
  id: string,
): Promise<Resource | null> {
  const found = await store.findResource(kind, id);
  return found !== null && isOf(place, found) ? found : null;
}

/** The resource of the database that has this id, else the one that has this name. */
export async function findByIdOrName(
  store: Reader,
  kind: ConfiguredKind,
  place: TenantOrProject,
  key: string,
): Promise<Resource | null> {
  return (await findById(store, kind, place, key)) ?? (await store.findResourceByName(kind, place, key));
}

/** The name of what the path names by its id or its name, also of what does not exist yet. Without a name it is the id. */
export async function nameInPath(
  call: AdminCall,
  store: Reader,
  kind: ConfiguredKind,
  context: ConfiguredContext,
): Promise<string> {
  const key = call.params["id"]!;
  const stored = await findById(store, kind, call.place!, key);
  return stored === null ? (fromFile(call, kind, key, context)?.name ?? key) : (stored.name ?? stored.id);
}

/** Finds what the path names in the database by its id or its name; throws `not_found`. */
export async function requireResource(
  call: AdminCall,
  store: Reader,
  kind: ConfiguredKind,
  context: ConfiguredContext,
): Promise<Resource> {
  const place = call.place!;
  const key = call.params["id"] ?? SETTINGS_NAME;
  const found = await findByIdOrName(store, kind, place, key);
  if (found !== null) return found;
  // A resource in the file that applies to all tenants cannot be changed here.
  if (fromFile(call, kind, key, context) !== undefined) throw setInFile();
  throw nothingThere(`${kind.replaceAll("_", " ")} ${key} in the ${placeText(place)}`);
}

/** The same, for a change of it; throws `read_only` and `etag_mismatch` too. */
export async function requireChangeable(
  call: AdminCall,
  store: Reader,
  kind: ConfiguredKind,
  context: ConfiguredContext,
): Promise<Resource> {
  const found = await requireResource(call, store, kind, context);
  requireWritable(call.role, found);
  requireEtag(call.ifMatch, found);
  return found;
}

/**
 * The file's resource of this place, which takes precedence over one of the same name in the database; else the one
 * that applies to all tenants.
 */
export function fromFile(
  call: AdminCall,
  kind: ConfiguredKind,
  key: string,
  context: ConfiguredContext,
): Configured<JsonObject> | undefined {
  const all = context.inFile(kind, call.place!, call.caller).filter(({ id, name }) => id === key || name === key);
  return all.find((one) => isOf(call.place!, one)) ?? all[0];
}

export function isOf(
  place: TenantOrProject,
  { tenantId, projectId }: Pick<Configured<unknown>, "tenantId" | "projectId">,
): boolean {
  return tenantId === place.tenantId && projectId === place.projectId;
}

/** What an id or a name stands for in the place: in its part of the file, else in the database, else for all tenants. */
export async function findInUse(
  call: AdminCall,
  store: Reader,
  kind: ConfiguredKind,
  key: string,
  context: ConfiguredContext,
): Promise<Configured<JsonObject> | Resource | null> {
  const filed = fromFile(call, kind, key, context);
  if (filed !== undefined && isOf(call.place!, filed)) return filed;
  return (await findByIdOrName(store, kind, call.place!, key)) ?? filed ?? null;
}

interface Cursor {
  /** The number of the file's entries that were already shown; null when all of them were. */
  readonly shown: number | null;
  readonly store: string | null;
}

/** Throws `invalid_request`, also for the cursor of a list of another kind. */
function readCursor(text: string | undefined, kind: ConfiguredKind): Cursor {
  if (text === undefined) return { shown: 0, store: null };
  const own = text.startsWith(`${kind}.`) ? text.slice(kind.length + 1) : "";
  const [, shown, rest] = /^(?:f(\d{1,6})|s(.*))$/.exec(own) ?? [];
  if (shown !== undefined) return { shown: Number(shown), store: null };
  if (rest === undefined) throw invalidRequest("cursor", "cursor: expected next_cursor of another page of this list");
  return { shown: null, store: rest === "" ? null : rest };
}

export async function listPage(
  call: AdminCall<unknown, ListQuery>,
  kind: ConfiguredKind,
  store: Reader,
  context: ConfiguredContext,
): Promise<{ readonly data: readonly JsonObject[]; readonly next_cursor: string | null }> {
  const { limit, cursor, origin, name, search: word } = call.query;
  const place = call.place!;
  const at = readCursor(cursor, kind);
  const cursorAt = (next: string): string => `${kind}.${next}`;
  const shown: JsonObject[] = [];
  if (at.shown !== null && origin !== "store") {
    const low = word?.toLowerCase();
    const all = context
      .inFile(kind, place, call.caller)
      .filter(
        (one) =>
          (name === undefined || one.name === name) &&
          (low === undefined || one.id.toLowerCase().includes(low) || (one.name ?? "").toLowerCase().includes(low)),
      );
    shown.push(...all.slice(at.shown, at.shown + limit).map(shownFromFile));
    if (all.length > at.shown + limit) return { data: shown, next_cursor: cursorAt(`f${at.shown + limit}`) };
  }
  if (origin === "file") return { data: shown, next_cursor: null };
  if (shown.length === limit) return { data: shown, next_cursor: cursorAt("s") };
  const filter = { kind, ...place, ...(name !== undefined && { name }), ...(word !== undefined && { search: word }) };
  const { data, nextCursor }: Page<Resource> = await store.listResources(
    { limit: limit - shown.length, cursor: at.store },
    filter,
  );
  return {
    data: [...shown, ...data.map(shownResource)],
    next_cursor: nextCursor === null ? null : cursorAt(`s${nextCursor}`),
  };
}

export const listQuery = z.strictObject({
  ...pageQuery,
  search,
  name: z.string().min(1).max(100).optional(),
  origin: z.enum(["file", "store"]).optional(),
});
type ListQuery = z.output<typeof listQuery>;

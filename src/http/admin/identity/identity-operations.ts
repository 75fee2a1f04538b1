// The five operations on tenants, projects and users, made of one declaration of each: its fields, who may send them, and
// what is special about it.
import { z } from "zod";
import type { Json, JsonObject } from "../../../core/json.ts";
import type { Page, PageRequest, Reader } from "../../../store/reader.ts";
import type { Kept } from "../../../store/records.ts";
import type { Writer } from "../../../store/writer.ts";
import {
  type AdminCall,
  type AdminOperation,
  type Answer,
  reading,
  writing,
  type WriteOperation,
} from "../operation.ts";
import {
  chosenId,
  etagField,
  etagOf,
  label,
  listed,
  listOf,
  pageOf,
  pageQuery,
  requireEtag,
  search,
  shownVersion,
  time,
} from "../schemas.ts";

type Values = Readonly<Record<string, unknown>>;

/** A field of bodies and responses. What has no schema in one of them is not in it. */
export interface ShownField<T, Sent = unknown> {
  readonly created?: z.ZodType;
  readonly changed?: z.ZodType;
  readonly shown?: z.ZodType;
  of?(thing: T): Json;
  /** What becomes of the thing; `current` is null at the creation. */
  into?(sent: Sent, current: T | null): Partial<T>;
  /** Throws where the caller may not send it; `current` is null at the creation. */
  allow?(call: AdminCall, store: Reader, sent: Sent, current: T | null): Promise<void>;
  /** What is done beside the creation. */
  alsoCreate?(writer: Writer, sent: Sent, thing: T): Promise<unknown>;
}

/** A field that is sent and shown as it stands in a member; null where the member is absent. */
export const memberOf =
  <T>() =>
  <Name extends keyof T>(
    name: Name,
    shown: z.ZodType,
    sent: z.ZodType<T[Name] | undefined>,
    further: Pick<ShownField<T, T[Name]>, "allow"> = {},
  ): ShownField<T> => ({
    created: sent,
    changed: sent,
    shown,
    of: (thing) => thing[name] ?? null,
    into: (value) => ({ [name]: value }) as Partial<T>,
    ...further,
  });

interface Named {
  readonly id: string;
  readonly name: string;
  readonly tenantId?: string;
}

export const NAME = memberOf<Named>()("name", z.string(), label.optional());

interface ListFilter {
  readonly search?: string;
  readonly email?: string;
  readonly tenant_id?: string;
}

export interface Thing<T extends Named> {
  readonly word: "Tenant" | "Project" | "User";
  readonly summaries: Readonly<Record<"list" | "create" | "read" | "update" | "delete", string>>;
  readonly base: string;
  /** In the order of the OpenAPI document. */
  readonly fields: Readonly<Record<string, ShownField<T>>>;
  readonly filters?: Readonly<Record<string, z.ZodType>>;
  readonly placeOf?: WriteOperation["placeOf"];
  readonly list: (call: AdminCall, store: Reader, page: PageRequest, filter: ListFilter) => Promise<Page<Kept<T>>>;
  readonly require: (call: AdminCall, store: Reader) => Promise<Kept<T>>;
  /** Throws where the caller may neither change nor delete it. */
  readonly allow?: (call: AdminCall, store: Reader, current: T) => Promise<void>;
  /** Throws where it may not be deleted. */
  readonly allowDelete?: (call: AdminCall, store: Reader, current: T) => Promise<void>;
  readonly create: (writer: Writer, thing: T) => Promise<Kept<T>>;
  readonly change: (writer: Writer, id: string, change: (now: Kept<T>) => T) => Promise<Kept<T>>;
  readonly remove: (writer: Writer, id: string) => Promise<void>;
}

/** The schemas of a thing, how it is shown, and what a body makes of it. */
function fieldHandling<T extends Named>({ word, fields }: Thing<T>) {
  const schemas = (part: "created" | "changed" | "shown"): Readonly<Record<string, z.ZodType>> =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, { [part]: schema }]) => (schema === undefined ? [] : [[name, schema]])),
    );
  const ids = { id: chosenId, ...(word !== "Tenant" && { tenant_id: chosenId }) };
  const version = { etag: etagField, created_at: time.nullable(), updated_at: time.nullable() };
  const shown = (kept: Kept<T>): JsonObject => ({
    id: kept.id,
    ...(kept.tenantId !== undefined && { tenant_id: kept.tenantId }),
    ...Object.fromEntries(
      Object.entries(fields).flatMap(([name, field]) => (field.of === undefined ? [] : [[name, field.of(kept)]])),
    ),
    ...shownVersion(kept),
  });
  const sentIn = ({ body }: AdminCall): readonly (readonly [ShownField<T>, unknown])[] =>
    Object.entries(fields).flatMap(([name, field]) => {
      const value = (body as Values)[name];
      return value === undefined ? [] : [[field, value] as const];
    });
  return {
    created: z.strictObject({ id: chosenId, ...schemas("created") }).meta({ id: `New${word}` }),
    changed: z.strictObject(schemas("changed")).meta({ id: `${word}Change` }),
    answer: z.strictObject({ ...ids, ...schemas("shown"), ...version }).meta({ id: word }),
    shown,
    answered: (kept: Kept<T>, status: 200 | 201 = 200): Answer => ({ status, body: shown(kept), etag: etagOf(kept) }),
    sentIn,
    /** The members that the body sets. */
    members: async (call: AdminCall, store: Reader, current: Kept<T> | null): Promise<Partial<T>> => {
      for (const [field, value] of sentIn(call)) await field.allow?.(call, store, value, current);
      return Object.assign({}, ...sentIn(call).map(([field, value]) => field.into?.(value, current))) as Partial<T>;
    },
  };
}

export function identityOperations<T extends Named>(thing: Thing<T>): readonly AdminOperation[] {
  const { word, summaries, base } = thing;
  const { created, changed, answer, shown, answered, sentIn, members } = fieldHandling(thing);
  const one = word.toLowerCase();
  const item = `${base}/{${one}}`;
  const head = (verb: keyof typeof summaries, path: string) => ({
    id: `${verb}${word}${verb === "list" ? "s" : ""}`,
    tag: `${one}s`,
    path,
    summary: summaries[verb],
  });
  const permitted = async (call: AdminCall, store: Reader): Promise<Kept<T>> => {
    const current = await thing.require(call, store);
    await thing.allow?.(call, store, current);
    requireEtag(call.ifMatch, current);
    return current;
  };
  return [
    reading({
      ...head("list", base),
      query: z.strictObject({ ...pageQuery, search, ...thing.filters }),
      answer: listOf(answer, `${word}List`),
      run: async (call, store) => {
        const { limit, cursor, ...filter } = call.query;
        return { body: listed(await thing.list(call, store, pageOf({ limit, cursor }), filter as ListFilter), shown) };
      },
    }),
    writing({
      ...head("create", base),
      method: "post",
      body: created,
      answer,
      ...(thing.placeOf !== undefined && { placeOf: thing.placeOf }),
      run: async (call, writer) => {
        const { id } = call.body;
        const place = call.place !== null && { tenantId: call.place.tenantId };
        const sent = await members(call, writer, null);
        const made = await thing.create(writer, { id, ...place, name: id, ...sent } as Named as T);
        for (const [field, value] of sentIn(call)) await field.alsoCreate?.(writer, value, made);
        return answered(made, 201);
      },
    }),
    reading({
      ...head("read", item),
      answer,
      run: async (call, store) => answered(await thing.require(call, store)),
    }),
    writing({
      ...head("update", item),
      method: "patch",
      body: changed,
      answer,
      run: async (call, writer) => {
        const current = await permitted(call, writer);
        const sent = await members(call, writer, current);
        return answered(await thing.change(writer, current.id, (now) => ({ ...now, ...sent })));
      },
    }),
    writing({
      ...head("delete", item),
      method: "delete",
      run: async (call, writer) => {
        const current = await permitted(call, writer);
        await thing.allowDelete?.(call, writer, current);
        await thing.remove(writer, current.id);
        return { body: null };
      },
    }),
  ];
}

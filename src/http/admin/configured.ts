// The operations on providers, routes, policies, limits, budgets, prices, tool servers and settings, the same for
// tenants and projects. Resources in the configuration file are shown beside those in the database, and are read-only.
import { z } from "zod";
import {
  configuredOperationId,
  type ConfiguredNoun,
  mayBelongToProject,
  verbsOf,
} from "../../auth/admin-operations.ts";
import { type AdminCaller, requireWritable, nothingThere, type TenantOrProject, placeText } from "../../auth/grants.ts";
import { requireConfigures } from "../../auth/restriction-grants.ts";
import type { Configured, ConfiguredKind } from "../../core/configured.ts";
import { GatewayError } from "../../core/errors.ts";
import { ROLES } from "../../core/identity.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Resource } from "../../store/records.ts";
import type { Page, Reader } from "../../store/reader.ts";
import type { Writer } from "../../store/writer.ts";
import { withoutMasks } from "../../store/secret-fields.ts";
import { checked, problemsError } from "./input.ts";
import { requireAddresses, requireOwnAddresses } from "./documents.ts";
import type { DocumentRule, DocumentDependencies } from "./document-rule.ts";
import { type AdminCall, type AdminOperation, type Answer, reading, writing } from "./operation.ts";
import { requireUnreferenced } from "./references.ts";
import {
  chosenId,
  requireEtag,
  dryRunQuery,
  etagField,
  etagOf,
  iso,
  listOf,
  pageQuery,
  search,
  time,
} from "./schemas.ts";

export interface ConfiguredContext {
  readonly rules: Readonly<Partial<Record<ConfiguredNoun, DocumentRule>>>;
  readonly dependencies: DocumentDependencies;
  /** The file's resources of the place and those that apply to all tenants, with secrets masked. */
  inFile(kind: ConfiguredKind, place: TenantOrProject, caller: AdminCaller): readonly Configured<JsonObject>[];
}

type Call = AdminCall<unknown, unknown>;

/** The settings of a place are one document, which has no name of its own. */
const SETTINGS_NAME = "settings";

const HEAD_SHAPE = {
  id: z.string(),
  name: z.string().nullable(),
  tenant_id: z
    .string()
    .nullable()
    .meta({ description: "Null if it applies to all tenants, which is possible only in the configuration file." }),
  project_id: z.string().nullable(),
  origin: z.enum(["file", "store"]).meta({ description: "`file`: from the configuration file, and read-only here." }),
  set_by: z.enum(ROLES).nullable().meta({
    description: "The role of its last author; lower roles cannot change it. Null if it comes from the file.",
  }),
  version: z.int(),
  etag: etagField.nullable(),
  created_at: time.nullable(),
  updated_at: time.nullable(),
};
const READ_ONLY_FIELDS = z.array(z.string()).meta({
  description:
    "Fields that the configuration file sets. Their values from the file are shown here and can be changed only there.",
});
const GUARD_COST = z
  .strictObject({
    steps_per_character: z
      .int()
      .meta({ description: "The most steps that its patterns and classes take for each character of a text." }),
    worst_ms_per_1000_characters: z
      .number()
      .meta({ description: "Approximate CPU time for 1,000 characters of the most expensive text." }),
    a_tenth_of_a_second_from_characters: z
      .int()
      .meta({ description: "Length of the shortest text that could take 0.1 s." }),
  })
  .optional()
  .meta({
    id: "GuardCost",
    description: "What a guard may cost. Present when a single policy with a guard is created, changed or read.",
  });
const HEAD = new Set([...Object.keys(HEAD_SHAPE), "read_only_fields", "guard_cost"]);
/** Fields that responses show beside the document. A client may send them back. */
const sentHead = z.object({ ...HEAD_SHAPE, read_only_fields: z.array(z.string()), guard_cost: z.unknown() }).partial();

export function shownResource({
  id,
  name,
  tenantId,
  projectId,
  setBy,
  byOperator: _byOperator,
  version,
  createdAtMs,
  updatedAtMs,
  document,
  ...kept
}: Resource): JsonObject {
  const head = {
    id,
    name,
    tenant_id: tenantId,
    project_id: projectId,
    origin: "store",
    set_by: setBy,
    version,
    etag: etagOf({ version, createdAtMs, ...kept }),
    created_at: iso(createdAtMs),
    updated_at: iso(updatedAtMs),
  };
  return { ...head, ...withoutHead(document) };
}

function shownFromFile({ id, name, tenantId, projectId, document }: Configured<JsonObject>): JsonObject {
  return {
    id,
    name,
    tenant_id: tenantId,
    project_id: projectId,
    origin: "file",
    set_by: null,
    version: 0,
    etag: null,
    created_at: null,
    updated_at: null,
    ...withoutHead(document),
  };
}

function withoutHead(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !HEAD.has(key)));
}

const answer = (resource: Resource, status: 200 | 201 = 200): Answer => ({
  status,
  body: shownResource(resource),
  etag: etagOf(resource),
});

function withDerived(answered: Answer, { document }: Resource, { derive }: DocumentRule): Answer {
  return derive === undefined || answered.body === null
    ? answered
    : { ...answered, body: { ...answered.body, ...derive(document) } };
}

/** Finds a resource by its id, else by its name. */
export async function requireResource(
  call: Call,
  store: Reader,
  kind: ConfiguredKind,
  context: ConfiguredContext,
): Promise<Resource> {
  const place = call.place!;
  const key = call.params["id"] ?? SETTINGS_NAME;
  const byId = await store.findResource(kind, key);
  const found =
    byId !== null && byId.tenantId === place.tenantId && byId.projectId === place.projectId
      ? byId
      : await store.findResourceByName(kind, place, key);
  if (found !== null) return found;
  // A resource in the file that applies to all tenants cannot be changed here.
  if (fromFile(call, kind, key, context) !== undefined) requireWritable(call.role, { origin: "file", setBy: null });
  throw nothingThere(`${kind.replaceAll("_", " ")} ${key} in the ${placeText(place)}`);
}

/**
 * The file's resource of this place, which takes precedence over one of the same name in the database; else the one
 * that applies to all tenants.
 */
export function fromFile(
  call: Call,
  kind: ConfiguredKind,
  key: string,
  context: ConfiguredContext,
): Configured<JsonObject> | undefined {
  const all = context.inFile(kind, call.place!, call.caller).filter(({ id, name }) => id === key || name === key);
  return all.find((one) => isOf(call.place!, one)) ?? all[0];
}

function isOf(place: TenantOrProject, { tenantId, projectId }: Configured<JsonObject>): boolean {
  return tenantId === place.tenantId && projectId === place.projectId;
}

async function isStored({ place }: Call, store: Reader, kind: ConfiguredKind, key: string): Promise<boolean> {
  return (await store.findResourceByName(kind, place!, key)) !== null;
}

interface Desired {
  readonly name: string | null;
  readonly document: JsonObject;
}

function completed(
  { name, document }: Desired,
  rule: DocumentRule,
  before: Resource | null,
): { readonly becomes: Desired; readonly shown: JsonObject } {
  const { document: whole, shown } = rule.completed?.(document, before?.document ?? null) ?? { document, shown: {} };
  return { becomes: { name, document: whole }, shown };
}

/** Adds the fields that are shown only once: neither a dry run nor a repeated request shows them. */
function withShown(answered: Answer, shown: JsonObject, { dryRun }: Call): Answer {
  if (Object.keys(shown).length === 0 || answered.body === null) return answered;
  return { ...answered, body: dryRun ? answered.body : { ...answered.body, ...shown }, repeated: answered.body };
}

/**
 * The name and the document that the body asks for. Fields that responses show beside the document may be sent back
 * with it.
 */
function desired(body: unknown, rule: DocumentRule, before: Resource | null): Desired {
  const { name, ...rest } = body as JsonObject;
  if (before !== null) requireSamePlace(rest, before);
  if (before !== null || rule.named === "singleton")
    checked(
      sentHead,
      Object.fromEntries(Object.entries(rest).filter(([key, value]) => value !== null && HEAD.has(key))),
    );
  const sent = Object.fromEntries(
    Object.entries(rest).filter(
      ([key, value]) =>
        value !== null && value !== undefined && !((before !== null || rule.named === "singleton") && HEAD.has(key)),
    ),
  );
  const given = name ?? before?.name ?? null;
  if (rule.named === "singleton") return { name: SETTINGS_NAME, document: checkedDocument(rule, sent, before) };
  const checkedName =
    given === null ? null : checked(z.strictObject({ name: rule.name ?? chosenId }), { name: given }).name;
  if (checkedName === null && rule.named === "name")
    throw new GatewayError("invalid_request", "name: is missing", { param: "name" });
  if (before !== null && rule.named === "name" && checkedName !== before.name)
    throw new GatewayError(
      "invalid_request",
      "name: it cannot be changed, because others refer to it; create a new one instead",
      {
        param: "name",
      },
    );
  return { name: checkedName, document: checkedDocument(rule, sent, before) };
}

/** Fields that a response showed may be sent back unchanged; a different value is rejected. */
function requireSamePlace(sent: JsonObject, before: Resource): void {
  const stays: JsonObject = {
    id: before.id,
    tenant_id: before.tenantId,
    project_id: before.projectId,
    origin: "store",
  };
  for (const [key, value] of Object.entries(stays))
    if (sent[key] !== undefined && sent[key] !== value)
      throw new GatewayError("invalid_request", `${key}: it cannot be changed; create a new one instead`, {
        param: key,
      });
}

/** Throws `invalid_request` for a document that does not have the form of its noun. */
export function checkedDocument(
  { schema, kept = "kept" }: DocumentRule,
  sent: JsonObject,
  before: Resource | null,
): JsonObject {
  // A masked secret is checked as a placeholder: it stands for the stored secret.
  checked(schema, before === null ? sent : unmasked(sent, kept));
  return sent;
}

function unmasked(value: JsonObject, kept: string): JsonObject {
  const open = (one: Json | undefined): Json | undefined => {
    if (typeof one === "string") return withoutMasks(one, kept);
    if (Array.isArray(one)) return one.map((each) => open(each as Json) ?? null);
    return isObject(one) ? Object.fromEntries(Object.entries(one).map(([key, each]) => [key, open(each)])) : one;
  };
  return open(value) as JsonObject;
}

/** Applies a JSON merge patch (RFC 7396). */
export function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map<string, Json>(isObject(target) ? (Object.entries(target) as [string, Json][]) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

async function judged(call: Call, rule: DocumentRule, { name, document }: Desired, writer: Writer): Promise<void> {
  requireConfigures(call.caller.token);
  const problems = await rule.problems({ call, name, document, reader: writer });
  if (problems.length > 0) throw problemsError(problems);
}

interface Cursor {
  /** The number of the file's entries that were already shown; null when all of them were. */
  readonly shown: number | null;
  readonly store: string | null;
}

function readCursor(text: string | undefined): Cursor {
  if (text === undefined) return { shown: 0, store: null };
  const [, shown, rest] = /^(?:f(\d{1,6})|s(.*))$/.exec(text) ?? [];
  if (shown !== undefined) return { shown: Number(shown), store: null };
  if (rest === undefined)
    throw new GatewayError("invalid_request", "cursor: expected next_cursor of another page", { param: "cursor" });
  return { shown: null, store: rest === "" ? null : rest };
}

async function page(
  call: AdminCall<unknown, ListQuery>,
  kind: ConfiguredKind,
  store: Reader,
  context: ConfiguredContext,
): Promise<{ readonly data: readonly JsonObject[]; readonly next_cursor: string | null }> {
  const { limit, cursor, origin, name, search: word } = call.query;
  const place = call.place!;
  const at = readCursor(cursor);
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
    if (all.length > at.shown + limit) return { data: shown, next_cursor: `f${at.shown + limit}` };
  }
  if (origin === "file") return { data: shown, next_cursor: null };
  if (shown.length === limit) return { data: shown, next_cursor: "s" };
  const filter = { kind, ...place, ...(name !== undefined && { name }), ...(word !== undefined && { search: word }) };
  const { data, nextCursor }: Page<Resource> = await store.listResources(
    { limit: limit - shown.length, cursor: at.store },
    filter,
  );
  return { data: [...shown, ...data.map(shownResource)], next_cursor: nextCursor === null ? null : `s${nextCursor}` };
}

const listQuery = z.strictObject({
  ...pageQuery,
  search,
  name: z.string().min(1).max(100).optional(),
  origin: z.enum(["file", "store"]).optional(),
});
type ListQuery = z.output<typeof listQuery>;

const WORDS: Readonly<
  Record<ConfiguredNoun, { readonly one: string; readonly schema: string; readonly kind: ConfiguredKind }>
> = {
  providers: { one: "provider", schema: "Provider", kind: "provider" },
  routes: { one: "route", schema: "Route", kind: "route" },
  policies: { one: "policy", schema: "Policy", kind: "policy" },
  limits: { one: "limit", schema: "Limit", kind: "limit" },
  budgets: { one: "budget", schema: "Budget", kind: "budget" },
  prices: { one: "price", schema: "Price", kind: "price" },
  tool_servers: { one: "tool server", schema: "ToolServer", kind: "tool_server" },
  webhooks: { one: "webhook", schema: "Webhook", kind: "webhook" },
  settings: { one: "settings", schema: "Settings", kind: "setting" },
};

export function nounOf(kind: ConfiguredKind): ConfiguredNoun {
  return (Object.keys(WORDS) as ConfiguredNoun[]).find((noun) => WORDS[noun].kind === kind)!;
}

interface Noun {
  readonly noun: ConfiguredNoun;
  readonly reach: "tenant" | "project";
  readonly rule: DocumentRule;
  readonly context: ConfiguredContext;
  readonly answered: z.ZodType;
  readonly sent: z.ZodType;
  readonly described: z.ZodType;
  /** The schema of a body whose name is already known. */
  readonly fields: z.ZodType;
  readonly patch: z.ZodType;
}

function nounOperations(of: Noun): readonly AdminOperation[] {
  const { noun, reach, rule, context } = of;
  const { one, kind } = WORDS[noun];
  const single = rule.named === "singleton";
  const base = `/${reach}s/{${reach}}/${noun}`;
  const item = single ? base : `${base}/{id}`;
  const head = (verb: Parameters<typeof configuredOperationId>[0]) => ({
    id: configuredOperationId(verb, reach, noun),
    tag: noun,
  });
  const filedSettings = (call: Call): JsonObject =>
    single ? (fromFile(call, kind, SETTINGS_NAME, context)?.document ?? {}) : {};
  const respond = (call: Call, resource: Resource, status: 200 | 201 = 200): Answer =>
    single ? settingsAnswer(resource, filedSettings(call)) : withDerived(answer(resource, status), resource, rule);
  /** The file may contain some of the settings while the database holds the others. */
  const beside = (call: Call, { name, document }: Desired): Desired => ({
    name,
    document: withoutFiled(document, filedSettings(call)),
  });
  const save = async (call: Call, writer: Writer, want: (current: Resource) => Desired): Promise<Answer> => {
    const current = await requireResource(call, writer, kind, context);
    requireWritable(call.role, { origin: "store", setBy: current.setBy });
    requireEtag(call.ifMatch, current);
    const { becomes, shown } = completed(beside(call, want(current)), rule, current);
    requireOwnAddresses(rule, call, current, becomes.document);
    await judged(call, rule, becomes, writer);
    return withShown(respond(call, await writer.changeResource(kind, current.id, () => becomes)), shown, call);
  };
  const create = async (call: Call, writer: Writer): Promise<Answer> => {
    const { becomes, shown } = completed(beside(call, desired(call.body, rule, null)), rule, null);
    const place = call.place!;
    const filed = becomes.name === null ? undefined : fromFile(call, kind, becomes.name, context);
    if (!single && filed !== undefined && isOf(place, filed))
      requireWritable(call.role, { origin: "file", setBy: null });
    await judged(call, rule, becomes, writer);
    return withShown(
      respond(
        call,
        await writer.createResource({
          kind,
          ...place,
          ...becomes,
          setBy: call.role,
          byOperator: call.caller.isOperator,
        }),
        201,
      ),
      shown,
      call,
    );
  };
  /** Settings exist from the beginning but are stored only once they contain something. */
  const orCreate = async (call: Call, writer: Writer, change: () => Promise<Answer>): Promise<Answer> => {
    if (!single || (await writer.findResourceByName(kind, call.place!, SETTINGS_NAME)) !== null) return await change();
    if (call.ifMatch !== null) throw new GatewayError("etag_mismatch", "There are no settings yet.");
    return { ...(await create({ ...call, body: merged({}, call.body as Json) }, writer)), status: 200 };
  };
  const prepare = (call: Call): Promise<void> => requireAddresses(rule, call);
  const all: Readonly<Record<string, AdminOperation>> = {
    list: reading({
      ...head("list"),
      path: base,
      summary: `List the ${noun.replaceAll("_", " ")} of the ${reach}, those of the configuration file first`,
      query: listQuery,
      answer: listOf(of.answered, `${reach === "tenant" ? "Tenant" : "Project"}${WORDS[noun].schema}List`),
      run: async (call, store) => ({ body: await page(call, kind, store, context) }),
    }),
    create: writing({
      ...head("create"),
      method: "post",
      path: base,
      summary: `Create a ${one}`,
      query: z.strictObject(dryRunQuery),
      body: of.sent,
      described: of.described,
      answer: of.answered,
      prepare,
      run: create,
    }),
    read: reading({
      ...head("read"),
      path: item,
      summary: single ? `Get the settings of the ${reach}` : `Get a ${one} by its id or name`,
      answer: of.answered,
      run: async (call, store) => {
        if (single) {
          const stored = await store.findResourceByName(kind, call.place!, SETTINGS_NAME);
          return stored === null
            ? { body: unstoredSettings(call.place!, filedSettings(call)) }
            : settingsAnswer(stored, filedSettings(call));
        }
        const key = call.params["id"]!;
        const filed = fromFile(call, kind, key, context);
        if (filed !== undefined && (isOf(call.place!, filed) || !(await isStored(call, store, kind, key))))
          return { body: shownFromFile(filed) };
        return respond(call, await requireResource(call, store, kind, context));
      },
    }),
    replace: writing({
      ...head("replace"),
      method: "put",
      path: item,
      summary: single ? `Replace all settings of the ${reach}` : `Replace a ${one}`,
      query: z.strictObject(dryRunQuery),
      body: of.sent,
      described: of.fields,
      answer: of.answered,
      prepare,
      run: (call, writer) =>
        orCreate(call, writer, () => save(call, writer, (current) => desired(call.body, rule, current))),
    }),
    update: writing({
      ...head("update"),
      method: "patch",
      path: item,
      summary: `Change single ${single ? `settings of the ${reach}` : `fields of a ${one}`} (JSON merge patch, RFC 7396)`,
      query: z.strictObject(dryRunQuery),
      body: of.patch,
      answer: of.answered,
      prepare,
      run: (call, writer) =>
        orCreate(call, writer, () =>
          save(call, writer, (current) =>
            desired(merged({ ...current.document, name: current.name }, call.body as Json), rule, current),
          ),
        ),
    }),
    delete: writing({
      ...head("delete"),
      method: "delete",
      path: item,
      summary: single ? `Delete the settings of the ${reach}` : `Delete a ${one}`,
      query: z.strictObject(dryRunQuery),
      run: async (call, writer) => {
        const current = await requireResource(call, writer, kind, context);
        requireWritable(call.role, { origin: "store", setBy: current.setBy });
        requireEtag(call.ifMatch, current);
        requireConfigures(call.caller.token);
        await requireUnreferenced(context.dependencies, writer, current);
        await writer.removeResource(kind, current.id);
        return { body: null };
      },
    }),
  };
  return verbsOf(noun).map((verb) => all[verb]!);
}

function unstoredSettings({ tenantId, projectId }: TenantOrProject, filed: JsonObject): JsonObject {
  const origin = Object.keys(filed).length > 0 ? "file" : "store";
  return {
    id: SETTINGS_NAME,
    name: SETTINGS_NAME,
    tenant_id: tenantId,
    project_id: projectId,
    origin,
    set_by: null,
    version: 0,
    etag: null,
    created_at: null,
    updated_at: null,
    read_only_fields: Object.keys(filed),
    ...filed,
  };
}

function settingsAnswer(stored: Resource, filed: JsonObject): Answer {
  return { body: { ...shownResource(stored), read_only_fields: Object.keys(filed), ...filed }, etag: etagOf(stored) };
}

/** Fields from the file may be sent back as they were shown. Throws `read_only` when they differ. */
function withoutFiled(document: JsonObject, filed: JsonObject): JsonObject {
  for (const [field, value] of Object.entries(filed))
    if (document[field] !== undefined && JSON.stringify(document[field]) !== JSON.stringify(value))
      throw new GatewayError(
        "read_only",
        `${field}: set in the configuration file, which takes precedence; change it there.`,
        { param: field },
      );
  return Object.fromEntries(Object.entries(document).filter(([field]) => !Object.hasOwn(filed, field)));
}

/** The document's own fields and the name. Checks that concern several fields at once do not appear in the form. */
function formOf({ schema }: DocumentRule, named: Readonly<Record<string, z.ZodType>>): z.ZodType {
  const inner = schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodObject ? z.strictObject({ ...inner.shape, ...named }) : z.looseObject(named);
}

/** The schema of a document in a response: secrets are masked, and values need not satisfy the input checks. */
function answerOf({ schema, named, derive }: DocumentRule): z.ZodType {
  const inner = schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  const fields =
    inner instanceof z.ZodObject
      ? Object.fromEntries(
          Object.entries(inner.shape as Readonly<Record<string, z.ZodType>>).map(([name, field]) => [
            name,
            optionalField(field),
          ]),
        )
      : {};
  return z.looseObject({
    ...fields,
    ...HEAD_SHAPE,
    ...(named === "singleton" && { read_only_fields: READ_ONLY_FIELDS }),
    ...(derive !== undefined && { guard_cost: GUARD_COST }),
  });
}

function optionalField(field: z.ZodType): z.ZodType {
  return field.optional().meta({ description: field.meta()?.description ?? "" });
}

/**
 * Operations on a noun beyond creating, reading, changing and removing it; `answered` is the schema of one resource.
 */
export type FurtherOperations = Readonly<
  Partial<Record<ConfiguredNoun, (context: ConfiguredContext, answered: z.ZodType) => readonly AdminOperation[]>>
>;

export function configuredOperations(
  context: ConfiguredContext,
  further: FurtherOperations,
): readonly AdminOperation[] {
  return (Object.keys(WORDS) as ConfiguredNoun[]).flatMap((noun) => {
    const rule = context.rules[noun];
    if (rule === undefined) return [];
    const { schema } = WORDS[noun];
    const named =
      rule.named === "singleton"
        ? {}
        : { name: rule.named === "name" ? (rule.name ?? chosenId) : (rule.name ?? chosenId).nullish() };
    const sent = z.looseObject({});
    const described = formOf(rule, named).meta({ id: `New${schema}` });
    const fields = formOf(
      rule,
      Object.fromEntries(Object.entries(named).map(([key, value]) => [key, z.optional(value)])),
    ).meta({ id: `${schema}Fields` });
    const patch = z
      .looseObject({})
      .meta({ id: `${schema}Change`, description: "The fields to change; null removes a field." });
    const answered = answerOf(rule).meta({ id: schema });
    const own = (["tenant", "project"] as const)
      .filter((reach) => reach === "tenant" || mayBelongToProject(noun))
      .flatMap((reach) => nounOperations({ noun, reach, rule, context, answered, sent, described, fields, patch }));
    return [...own, ...(further[noun]?.(context, answered) ?? [])];
  });
}

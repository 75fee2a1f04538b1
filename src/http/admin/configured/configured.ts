// The operations on providers, routes, policies, limits, budgets, prices, tool servers and settings, the same for
// tenants and projects. Resources in the configuration file are shown beside those in the database, and are read-only.
import { z } from "zod";
import { configuredOperationId, mayBelongToProject, verbsOf } from "../../../auth/admin-operations.ts";
import { setInFile } from "../../../auth/grants.ts";
import { requireConfigures } from "../../../auth/tokens/restriction-grants.ts";
import {
  CONFIGURED_NOUNS,
  type ConfiguredNoun,
  EVERY_NOUN,
  UNSTORED_ETAG,
} from "../../../core/configured/configured.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import type { Simulations } from "../../../simulation/simulations.ts";
import type { Resource } from "../../../store/records.ts";
import type { Reader } from "../../../store/reader.ts";
import type { Writer } from "../../../store/writer.ts";
import { requireAddresses, requireOwnAddresses } from "./documents.ts";
import type { DocumentRule } from "./document-rule.ts";
import {
  type AdminCall,
  type AdminOperation,
  type Answer,
  PLACES,
  type Prepared,
  type PreparingStore,
  reading,
  writing,
} from "../operation.ts";
import { requireUnreferenced } from "./references.ts";
import { chosenId, listOf, noteQuery, overrideQuery, requireTag } from "../schemas.ts";
import {
  SETTINGS_NAME,
  shownFromFile,
  resourceAnswer,
  withDerived,
  withShown,
  unstoredSettings,
  settingsAnswer,
  withoutFiled,
  formOf,
  answerOf,
} from "./configured-shapes.ts";
import {
  type ConfiguredContext,
  requireChangeable,
  requireResource,
  findInUse,
  fromFile,
  isOf,
  listPage,
  listQuery,
} from "./configured-resources.ts";
import { type Desired, completed, desiredOf, merged, requireValid } from "./desired-document.ts";
import { requireTested, type TestsDone, testsOf } from "./tested-changes.ts";

interface Noun {
  readonly noun: ConfiguredNoun;
  readonly reach: "tenant" | "project";
  readonly rule: DocumentRule;
  /** Where tests are run; `null` where no calls are stored. */
  readonly simulations: Simulations | null;
  readonly context: ConfiguredContext;
  readonly answered: z.ZodType;
  readonly sent: z.ZodType;
  readonly described: z.ZodType;
  /** The schema of a body whose name is already known. */
  readonly fields: z.ZodType;
  readonly patch: z.ZodType;
}

/** What the operations on a noun do with the file, and how they answer and write. */
function nounHandling({ noun, rule, context }: Noun) {
  const { kind } = CONFIGURED_NOUNS[noun];
  const isSingle = rule.named === "singleton";
  const settingsOfFile = (call: AdminCall): JsonObject =>
    isSingle ? (fromFile(call, kind, SETTINGS_NAME, context)?.document ?? {}) : {};
  const respond = (call: AdminCall, resource: Resource, status: 200 | 201 = 200): Answer =>
    isSingle
      ? settingsAnswer(resource, settingsOfFile(call))
      : withDerived(resourceAnswer(resource, status), resource, rule);
  /** The file may contain some of the settings while the database holds the others. */
  const beside = (call: AdminCall, { name, document }: Desired): Desired => ({
    name,
    document: withoutFiled(document, settingsOfFile(call)),
  });
  const becoming = (call: AdminCall, current: Resource | null, desired: Desired): ReturnType<typeof completed> =>
    completed(beside(call, desired), rule, current);
  const save = async (
    call: AdminCall,
    writer: Writer,
    want: (current: Resource) => Desired,
    done: TestsDone,
  ): Promise<Answer> => {
    const current = await requireChangeable(call, writer, kind, context);
    const { becomes, shown } = becoming(call, current, want(current));
    requireOwnAddresses(rule, call, current, becomes.document);
    await requireValid(call, rule, becomes, writer);
    await requireTested(rule, call, becomes, writer, done);
    return withShown(respond(call, await writer.changeResource(kind, current.id, () => becomes)), shown, call);
  };
  const create = async (call: AdminCall, writer: Writer, done: TestsDone): Promise<Answer> => {
    const { becomes, shown } = becoming(call, null, desiredOf(call.body, rule, null));
    const place = call.place!;
    const filed = becomes.name === null ? undefined : fromFile(call, kind, becomes.name, context);
    if (!isSingle && filed !== undefined && isOf(place, filed)) throw setInFile();
    await requireValid(call, rule, becomes, writer);
    await requireTested(rule, call, becomes, writer, done);
    const owner = { setBy: call.role, byOperator: call.caller.isOperator };
    const created = await writer.createResource({ kind, ...place, ...becomes, ...owner });
    return withShown(respond(call, created, 201), shown, call);
  };
  /** Settings exist from the beginning but are stored only once they contain something. */
  const orCreate = async (
    call: AdminCall,
    writer: Writer,
    done: TestsDone,
    change: () => Promise<Answer>,
  ): Promise<Answer> => {
    if (!isSingle || (await writer.findResourceByName(kind, call.place!, SETTINGS_NAME)) !== null)
      return await change();
    requireTag(call.ifMatch, UNSTORED_ETAG);
    return { ...(await create({ ...call, body: merged({}, call.body as Json) }, writer, done)), status: 200 };
  };
  return { isSingle, settingsOfFile, respond, becoming, save, create, orCreate };
}

type Operations = Readonly<Record<string, AdminOperation>>;
/** What a request makes of the object that is there. */
type Want = (call: AdminCall, current: Resource) => Desired;

function nounOperations(of: Noun): readonly AdminOperation[] {
  const all: Operations = { ...readOperations(of), ...writeOperations(of) };
  return verbsOf(of.noun).map((verb) => all[verb]!);
}

/** The paths of a noun: of all its objects, and of one. */
function pathsOf({ noun, reach, rule }: Noun): { readonly base: string; readonly item: string } {
  const base = `${PLACES[reach].base}/${noun}`;
  return { base, item: rule.named === "singleton" ? base : `${base}/{id}` };
}

const headOf = ({ noun, reach }: Noun, verb: Parameters<typeof configuredOperationId>[0]) => ({
  id: configuredOperationId(verb, reach, noun),
  tag: noun,
});

function readOperations(of: Noun): Operations {
  const { noun, reach, context } = of;
  const { one, kind, id: schema } = CONFIGURED_NOUNS[noun];
  const { base, item } = pathsOf(of);
  const { isSingle, settingsOfFile, respond } = nounHandling(of);
  return {
    list: reading({
      ...headOf(of, "list"),
      path: base,
      summary: `List the ${noun.replaceAll("_", " ")} of the ${reach}, those of the configuration file first`,
      query: listQuery,
      answer: listOf(of.answered, `${PLACES[reach].name}${schema}List`),
      run: async (call, store) => ({ body: await listPage(call, kind, store, context) }),
    }),
    read: reading({
      ...headOf(of, "read"),
      path: item,
      summary: isSingle ? `Get the settings of the ${reach}` : `Get a ${one} by its id or name`,
      answer: of.answered,
      run: async (call, store) => {
        if (isSingle) {
          const stored = await store.findResourceByName(kind, call.place!, SETTINGS_NAME);
          return stored === null
            ? { body: unstoredSettings(call.place!, settingsOfFile(call)), etag: UNSTORED_ETAG }
            : settingsAnswer(stored, settingsOfFile(call));
        }
        const found = await findInUse(call, store, kind, call.params["id"]!, context);
        if (found !== null && "origin" in found) return { body: shownFromFile(found) };
        return respond(call, found ?? (await requireResource(call, store, kind, context)));
      },
    }),
  };
}

function writeOperations(of: Noun): Operations {
  const { noun, reach, rule, context } = of;
  const { one, kind } = CONFIGURED_NOUNS[noun];
  const { base, item } = pathsOf(of);
  const { isSingle, becoming, save, create, orCreate } = nounHandling(of);
  const further = { ...noteQuery, ...(rule.tests !== undefined && overrideQuery) };
  const replaced: Want = (call, current) => desiredOf(call.body, rule, current);
  const updated: Want = (call, current) =>
    desiredOf(merged({ ...current.document, name: current.name }, call.body as Json), rule, current);
  const preparing =
    (desired: (call: AdminCall, store: Reader) => Promise<Desired>) =>
    async (call: AdminCall, store: PreparingStore): Promise<Prepared<TestsDone>> => {
      await requireAddresses(rule, call);
      return await testsOf(rule, of.simulations, call, store, () => desired(call, store));
    };
  const changing = (want: Want) => ({
    prepare: preparing(async (call, store) => {
      const current = await requireResource(call, store, kind, context);
      return becoming(call, current, want(call, current)).becomes;
    }),
    run: (call: AdminCall, writer: Writer, done: TestsDone) =>
      orCreate(call, writer, done, () => save(call, writer, (current) => want(call, current), done)),
  });
  return {
    create: writing({
      ...headOf(of, "create"),
      method: "post",
      path: base,
      summary: `Create a ${one}`,
      further,
      body: of.sent,
      described: of.described,
      answer: of.answered,
      prepare: preparing((call) => Promise.resolve(becoming(call, null, desiredOf(call.body, rule, null)).becomes)),
      run: create,
    }),
    replace: writing({
      ...headOf(of, "replace"),
      method: "put",
      path: item,
      summary: isSingle ? `Replace all settings of the ${reach}` : `Replace a ${one}`,
      further,
      body: of.sent,
      described: of.fields,
      answer: of.answered,
      ...changing(replaced),
    }),
    update: writing({
      ...headOf(of, "update"),
      method: "patch",
      path: item,
      summary: `Change single ${isSingle ? `settings of the ${reach}` : `fields of a ${one}`} (JSON merge patch, RFC 7396)`,
      further,
      body: of.patch,
      answer: of.answered,
      ...changing(updated),
    }),
    delete: writing({
      ...headOf(of, "delete"),
      method: "delete",
      path: item,
      summary: isSingle ? `Delete the settings of the ${reach}` : `Delete a ${one}`,
      further: noteQuery,
      run: async (call, writer) => {
        const current = await requireChangeable(call, writer, kind, context);
        requireConfigures(call.caller.token);
        await requireUnreferenced(context.dependencies, writer, current);
        await writer.removeResource(kind, current.id);
        return { body: null };
      },
    }),
  };
}

/**
 * Operations on a noun beyond creating, reading, changing and removing it; `answered` is the schema of one resource.
 */
export type FurtherOperations = Readonly<
  Partial<Record<ConfiguredNoun, (context: ConfiguredContext, answered: z.ZodType) => readonly AdminOperation[]>>
>;

export function configuredOperations(
  context: ConfiguredContext,
  simulations: Simulations | null,
  further: FurtherOperations,
): readonly AdminOperation[] {
  return EVERY_NOUN.flatMap((noun) => {
    const rule = context.rules[noun];
    if (rule === undefined) return [];
    const { id: schema } = CONFIGURED_NOUNS[noun];
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
      .flatMap((reach) =>
        nounOperations({ noun, reach, rule, simulations, context, answered, sent, described, fields, patch }),
      );
    return [...own, ...(further[noun]?.(context, answered) ?? [])];
  });
}

// Drafts of routes and policies: what a caller has typed and not published. Everybody sees only their own.
import { z } from "zod";
import { CONFIGURED_NOUNS } from "../../../core/configured/configured.ts";
import { makerOf } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { DraftPlace, StoredDraft } from "../../../store/configuration/drafts.ts";
import type { DraftTable } from "../../../store/configuration/kysely-drafts.ts";
import type { Reader } from "../../../store/reader.ts";
import { type ConfiguredContext, findById, nameInPath } from "./configured-resources.ts";
import { type AdminCall, type AdminOperation, apart, PLACES_BELOW, reading } from "../operation.ts";
import { etagOf, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const MOST_CHARACTERS = 100_000;

const DRAFTED = ["routes", "policies"] as const;

const body = z
  .strictObject({
    text: z.string().max(MOST_CHARACTERS).meta({ description: "What was typed, usually YAML; it need not be valid." }),
    base_etag: z
      .string()
      .max(200)
      .nullish()
      .meta({ description: "The ETag of the object that the draft began with; null if there was none." }),
  })
  .meta({ id: "NewDraft" });
const draft = z
  .strictObject({
    kind: z.string(),
    name: z.string(),
    text: z.string().nullable().meta({ description: "Null if there is no draft." }),
    base_etag: z.string().nullable(),
    current_etag: z.string().nullable().meta({
      description: "The ETag of the object now. If it differs, somebody else has published a change meanwhile.",
    }),
    saved_at: time.nullable(),
  })
  .meta({ id: "Draft" });
const summary = z.strictObject({ kind: z.string(), name: z.string(), saved_at: time }).meta({ id: "DraftSummary" });
const listed = z.strictObject({ data: z.array(summary) }).meta({ id: "DraftList" });

/** Sessions and personal tokens of one person share the drafts. */
const ownerOf = ({ caller: { token } }: AdminCall): string => makerOf(token);

export function draftOperations(drafts: () => DraftTable, context: ConfiguredContext): readonly AdminOperation[] {
  return PLACES_BELOW.flatMap(({ name: place, base, scopeText }) => {
    const list = reading({
      id: `list${place}Drafts`,
      path: `${base}/drafts`,
      tag: "drafts",
      summary: `List your own drafts in ${scopeText}, the newest first`,
      answer: listed,
      run: async (call) => ({
        body: shownAs(listed, { data: await drafts().listDrafts({ ...call.place!, owner: ownerOf(call) }) }),
      }),
    });
    return [list, ...DRAFTED.flatMap((noun) => operationsOf(noun, { place, base }, drafts, context))];
  });
}

function operationsOf(
  noun: (typeof DRAFTED)[number],
  { place, base }: { readonly place: string; readonly base: string },
  drafts: () => DraftTable,
  context: ConfiguredContext,
): readonly AdminOperation[] {
  const { kind, id: one, one: word } = CONFIGURED_NOUNS[noun];
  const path = `${base}/${noun}/{id}/draft`;
  const tag = "drafts";
  const placeOf = async (call: AdminCall, store: Reader): Promise<DraftPlace> => ({
    ...call.place!,
    owner: ownerOf(call),
    kind,
    name: await nameInPath(call, store, kind, context),
  });
  return [
    reading({
      id: `read${place}${one}Draft`,
      path,
      tag,
      summary: `Get your own draft of a ${word}`,
      answer: draft,
      run: async (call, store) => {
        const at = await placeOf(call, store);
        return { body: await shown((await drafts().findDraft(at)) ?? { ...at, ...NO_DRAFT }, store) };
      },
    }),
    apart({
      id: `put${place}${one}Draft`,
      method: "put",
      path,
      tag,
      summary: `Save your own draft of a ${word}; nothing is published`,
      body,
      answer: draft,
      run: async (call, store) => {
        const { text, base_etag: etag = null } = call.body;
        const kept = { ...(await placeOf(call, store)), text, base: etag, savedAtMs: call.nowMs };
        await drafts().saveDraft(kept);
        return { body: await shown(kept, store) };
      },
    }),
    apart({
      id: `delete${place}${one}Draft`,
      method: "delete",
      path,
      tag,
      summary: `Discard your own draft of a ${word}`,
      run: async (call, store) => {
        await drafts().removeDraft(await placeOf(call, store));
        return { body: null };
      },
    }),
  ];
}

const NO_DRAFT = { text: null, base: null, savedAtMs: null };
type ShownDraft = DraftPlace & (Pick<StoredDraft, "text" | "base" | "savedAtMs"> | typeof NO_DRAFT);

async function shown(found: ShownDraft, store: Reader): Promise<JsonObject> {
  const { kind, name, base } = found;
  const object = (await store.findResourceByName(kind, found, name)) ?? (await findById(store, kind, found, name));
  return shownAs(draft, { ...found, baseEtag: base, currentEtag: object === null ? null : etagOf(object) });
}

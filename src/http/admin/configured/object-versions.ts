// The versions of one route or policy: who changed it when, why and how, how its calls went while it stood, and going back
// to one of them, which publishes it again.
import { z } from "zod";
import { scopeOf } from "../../../auth/grants.ts";
import { CONFIGURED_NOUNS, type ConfiguredNoun } from "../../../core/configured/configured.ts";
import { conflict } from "../../../core/refusals.ts";
import type { Version } from "../../../store/records.ts";
import type { Writer } from "../../../store/writer.ts";
import { resourceAnswer } from "./configured-shapes.ts";
import {
  type ConfiguredContext,
  findByIdOrName,
  fromFile,
  requireChangeable,
  requireResource,
} from "./configured-resources.ts";
import { change, versionHead } from "./history.ts";
import { type AdminCall, type AdminOperation, type Answer, PLACES_BELOW, reading, writing } from "../operation.ts";
import { type AdminCalls, readForEach } from "../report-reads.ts";
import { noteQuery, orNull } from "../schemas.ts";
import { rollBackTo } from "./rollback.ts";
import { shownAs, type ThingOf } from "../shown.ts";

type Noun = Extract<ConfiguredNoun, "routes" | "policies">;

const MOST_VERSIONS = 100;
/** Versions whose calls are counted. */
const MOST_COUNTED = 20;

const countedCalls = z
  .strictObject({ calls: z.int(), errors: z.int(), cost_usd: z.string() })
  .meta({ id: "VersionCalls" });
type CountedCalls = ThingOf<typeof countedCalls.shape>;
const calls = orNull(
  countedCalls,
  "Calls of the route from this version to the next one; null where they are not counted.",
);
const versions = z
  .strictObject({
    origin: z.enum(["file", "store"]).meta({
      description: "`file`: it stands in the configuration file, of which no versions are kept here.",
    }),
    data: z.array(z.strictObject({ ...versionHead, change, calls }).meta({ id: "ObjectVersion" })),
    as_of: z.string(),
  })
  .meta({ id: "ObjectVersions", description: "The newest first, at most 100; fewer where they are long." });
const goBack = z.strictObject({ to: z.int().min(1) }).meta({ id: "ObjectRollback" });

export function objectVersionOperations(
  noun: Noun,
  reads: AdminCalls | null,
): (context: ConfiguredContext, answered: z.ZodType) => readonly AdminOperation[] {
  const { kind, id: one, one: word } = CONFIGURED_NOUNS[noun];
  return (context, answered) =>
    PLACES_BELOW.flatMap(({ name: place, base }) => [
      reading({
        id: `list${place}${one}Versions`,
        path: `${base}/${noun}/{id}/versions`,
        tag: noun,
        summary: `List the versions of a ${word} with what each of them changed`,
        answer: versions,
        run: async (call, store) => {
          const asOf = new Date(call.nowMs).toISOString();
          const key = call.params["id"]!;
          if (
            (await findByIdOrName(store, kind, call.place!, key)) === null &&
            fromFile(call, kind, key, context) !== undefined
          )
            return { body: { origin: "file", data: [], as_of: asOf } };
          const { id, name } = await requireResource(call, store, kind, context);
          const found = await store.listObjectVersions(id, call.place!, MOST_VERSIONS);
          const counted = noun === "routes" && reads !== null ? await callsOf(found, name!, call, reads) : [];
          const data = found.map((version, index) => ({
            ...version,
            change: version.changes[0]!,
            calls: counted[index] ?? null,
          }));
          return { body: shownAs(versions, { origin: "store", data, asOf }) };
        },
      }),
      writing({
        id: `rollBack${place}${one}`,
        method: "post",
        path: `${base}/${noun}/{id}/rollback`,
        tag: noun,
        summary: `Publish a ${word} again as it was after a version; its tests are not tried`,
        further: noteQuery,
        body: goBack,
        answer: answered,
        run: (call, writer) => wentBack(call, call.body.to, writer, { noun, context }),
      }),
    ]);
}

/** The calls of a route under each of the newest versions. */
async function callsOf(
  found: readonly Version[],
  route: string,
  { place, nowMs }: AdminCall,
  reads: AdminCalls,
): Promise<readonly CountedCalls[]> {
  const scope = { ...scopeOf(place!), route };
  return await readForEach(
    found.slice(0, MOST_COUNTED).map(({ atMs: fromMs }, index) => ({ fromMs, toMs: found[index - 1]?.atMs ?? nowMs })),
    async ({ fromMs, toMs }) => {
      if (toMs <= fromMs) return { calls: 0, errors: 0, costNanoUsd: 0n };
      const { totals } = await reads.usage({ limit: 1 }, { ...scope, fromMs, toMs, by: [], order: "group" });
      return {
        calls: Number(totals?.calls ?? 0n),
        errors: Number(totals?.errors ?? 0n),
        costNanoUsd: totals?.costNanoUsd ?? 0n,
      };
    },
  );
}

/** Throws `etag_mismatch`, and what `rollBackTo` throws. */
async function wentBack(
  call: AdminCall,
  to: number,
  writer: Writer,
  { noun, context }: { readonly noun: Noun; readonly context: ConfiguredContext },
): Promise<Answer> {
  const { kind, one: word } = CONFIGURED_NOUNS[noun];
  const current = await requireChangeable(call, writer, kind, context);
  await rollBackTo(to, call, writer, context, { resourceId: current.id });
  const restored = await writer.findResource(kind, current.id);
  if (restored === null) throw conflict(`There was no ${word} of this id after version ${to}.`);
  return resourceAnswer(restored, 200);
}

// The versions of the configuration with their differences, and the rollback to one of them.
import { z } from "zod";
import { nothingThere, placeText } from "../../../auth/grants.ts";
import { openGate } from "../../../core/concurrency/gate.ts";
import { MOST_OF_CHANGES } from "../../../store/reader.ts";
import { type AdminOperation, PLACES, reading, writing } from "../operation.ts";
import { rollBackTo, type RollBackContext } from "./rollback.ts";
import { actor, auditedValue } from "../audit/audit-shapes.ts";
import { listed, listOf, noteQuery, pageOf, pageQuery, time, wholeNumber } from "../schemas.ts";
import { shownAs } from "../shown.ts";

export const change = z
  .strictObject({
    action: z.enum(["create", "change", "remove"]),
    kind: z.string(),
    id: z.string(),
    name: z.string().nullable(),
    tenant_id: z.string(),
    project_id: z.string().nullable(),
    before: auditedValue,
    after: auditedValue,
  })
  .meta({ id: "Change" });
export const versionHead = {
  number: z.int(),
  at: time,
  actor,
  rolled_back_to: z.int().nullable(),
  note: z.string().nullable().meta({ description: "Why it was made, as `note` of the change said." }),
};
const versionSummary = z.strictObject({ ...versionHead, changes: z.int() }).meta({ id: "VersionSummary" });
const version = z.strictObject({ ...versionHead, changes: z.array(change) }).meta({ id: "Version" });
const difference = z.strictObject({ from: z.int(), to: z.int(), changes: z.array(change) }).meta({ id: "Difference" });
const rolledBack = z.strictObject({ rolled_back_to: z.int(), changes: z.array(change) }).meta({ id: "RolledBack" });

const versionNumber = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Comparisons and whole versions that are read at once. */
const MOST_AT_ONCE = 2;

type Gate = ReturnType<typeof openGate>;

function versionOperations(
  reach: "tenant" | "project",
  context: RollBackContext,
  turn: Gate,
): readonly AdminOperation[] {
  const { name: place, base } = PLACES[reach];
  const within = reach === "tenant" ? "the tenant and its projects" : "the project";
  const list = reading({
    id: `list${place}Versions`,
    path: `${base}/versions`,
    tag: "versions",
    summary: `List the versions of the configuration of ${within}, the newest first`,
    query: z.strictObject(pageQuery),
    answer: listOf(versionSummary, `${place}VersionList`),
    run: async ({ place: at, query }, store) => ({
      body: listed(await store.listVersions(pageOf(query), at!), (one) => shownAs(versionSummary, one)),
    }),
  });
  const read = reading({
    id: `read${place}Version`,
    path: `${base}/versions/{id}`,
    tag: "versions",
    summary: "Get a version with its changes",
    answer: version,
    run: async ({ place: at, params }, store) => {
      const parsed = wholeNumber.safeParse(params["id"]);
      const found = parsed.success ? await turn(() => store.findVersion(parsed.data, at!), at!.tenantId) : null;
      if (found === null) throw nothingThere(`version ${params["id"]!} of the ${placeText(at!)}`);
      return { body: shownAs(version, found) };
    },
  });
  const diff = reading({
    id: `diff${place}Versions`,
    path: `${base}/diff`,
    tag: "versions",
    summary: "Compare two versions; 0 stands for the state before the first",
    query: z.strictObject({ from: wholeNumber, to: wholeNumber }),
    answer: difference,
    run: async ({ place: at, query: { from, to } }, store) => {
      const changes = await turn(() => store.diffVersions(from, to, at!, MOST_OF_CHANGES), at!.tenantId);
      return { body: shownAs(difference, { from, to, changes }) };
    },
  });
  const rollBack = writing({
    method: "post",
    id: `rollBack${place}`,
    path: `${base}/rollback`,
    tag: "versions",
    summary: `Restore the configuration of ${within} to what it was after a version`,
    further: noteQuery,
    body: z.strictObject({ to: versionNumber }).meta({ id: `${place}Rollback` }),
    answer: rolledBack,
    run: async (call, writer) => ({
      body: shownAs(rolledBack, {
        rolledBackTo: call.body.to,
        changes: await rollBackTo(call.body.to, call, writer, context),
      }),
    }),
  });
  return [list, read, diff, rollBack];
}

export function historyOperations(context: RollBackContext): readonly AdminOperation[] {
  const turn = openGate(MOST_AT_ONCE, "Too many versions are being read");
  return [...versionOperations("tenant", context, turn), ...versionOperations("project", context, turn)];
}

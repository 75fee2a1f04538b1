// The way back to a version of the configuration. What was right once may be wrong now: another version reads it, what it names is gone, a higher role had set it.
import { demandWritable } from "../../auth/grants.ts";
import { demandConfigures } from "../../auth/narrowing-grants.ts";
import { formatPath } from "../../config/problem.ts";
import { CONFIGURED_KINDS, type ConfiguredKind } from "../../core/configured.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Change, Resource } from "../../store/records.ts";
import type { Writer } from "../../store/writer.ts";
import { checkedDocument, type ConfiguredContext, nounOf } from "./configured.ts";
import type { DocumentRule } from "./document-rule.ts";
import type { AdminCall } from "./operation.ts";
import { newlyDangling, readNaming, titleOf } from "./references.ts";

export type RollBackContext = Pick<ConfiguredContext, "rules" | "world">;
type Call = AdminCall<unknown, unknown>;

interface Mistake {
  readonly param: string;
  readonly message: string;
}

const MAX_TOLD = 20;
/** What these name is looked at for all of them together. */
const NAMING: ReadonlySet<ConfiguredKind> = new Set(["route", "budget"]);

/** What it changed. Throws `read_only`, and `conflict` for what cannot be used as it was. */
export async function goBack(
  version: number,
  call: Call,
  writer: Writer,
  { rules, world }: RollBackContext,
): Promise<readonly Change[]> {
  const place = call.place!;
  demandConfigures(call.caller.token);
  const before = await readNaming(writer, place.tenantId);
  await demandOwn(await writer.diffVersions(Number.MAX_SAFE_INTEGER, version, place), call, writer);
  const changes = await writer.rollBack(place, version);
  const restored = await demandOwn(changes, call, writer);
  const mistakes: Mistake[] = [];
  for (const one of restored) mistakes.push(...(await mistakesIn(rules[nounOf(one.kind)], one, call, writer)));
  for (const one of newlyDangling(world, before, await readNaming(writer, place.tenantId)))
    mistakes.push({ param: one.param, message: `${titleOf(one, place.tenantId)}: ${one.message}` });
  const [first] = mistakes;
  if (first === undefined) return changes;
  const more = mistakes.length > 1 ? ` (and ${mistakes.length - 1} more: error.metadata.problems)` : "";
  throw new GatewayError("conflict", `What version ${version} holds cannot be used now: ${first.message}${more}`, {
    metadata: { problems: mistakes.slice(0, MAX_TOLD).map(({ param, message }) => ({ param, message })) },
  });
}

/** The things that are there of those. Throws `read_only` for what a higher role has set. */
async function demandOwn(changes: readonly Change[], { role }: Call, writer: Writer): Promise<readonly Resource[]> {
  const things: Resource[] = [];
  for (const { kind, id } of changes) {
    const found = isConfigured(kind) ? await writer.findResource(kind, id) : null;
    if (found === null) continue;
    demandWritable(role, { origin: "store", setBy: found.setBy });
    things.push(found);
  }
  return things;
}

function isConfigured(kind: Change["kind"]): kind is ConfiguredKind {
  return (CONFIGURED_KINDS as readonly string[]).includes(kind);
}

async function mistakesIn(
  rule: DocumentRule | undefined,
  thing: Resource,
  call: Call,
  writer: Writer,
): Promise<readonly Mistake[]> {
  const { kind, id, name, tenantId, projectId, document } = thing;
  if (rule === undefined) return [];
  const title = `the ${kind.replace("_", " ")} ${name ?? id}`;
  try {
    checkedDocument(rule, document, thing);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return [{ param: thrown.param ?? "", message: `${title}: ${thrown.message}` }];
  }
  if (NAMING.has(kind)) return [];
  const found = await rule.problems({
    call: { ...call, place: { tenantId, projectId } },
    name,
    document,
    reader: writer,
  });
  return found.map(({ path, message }) => ({ param: formatPath(path), message: `${title}: ${message}` }));
}

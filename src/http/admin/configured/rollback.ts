// Rolls the configuration, or one resource of it, back to a version. What was valid then may be invalid now: another
// version of the gateway reads it, a resource that it names is gone, or a higher role had written it.
import { requireWritable } from "../../../auth/grants.ts";
import { requireConfigures } from "../../../auth/tokens/restriction-grants.ts";
import { formatPath } from "../../../config/problem.ts";
import { isConfiguredKind, nounOf } from "../../../core/configured/configured.ts";
import { GatewayError } from "../../../core/errors.ts";
import { conflict } from "../../../core/refusals.ts";
import type { Change, HistoryScope, Resource } from "../../../store/records.ts";
import type { Writer } from "../../../store/writer.ts";
import type { ConfiguredContext } from "./configured-resources.ts";
import { checkedDocument } from "./desired-document.ts";
import type { DocumentRule } from "./document-rule.ts";
import type { AdminCall } from "../operation.ts";
import { newlyDangling, readNaming, titleOf } from "./references.ts";

export type RollBackContext = Pick<ConfiguredContext, "rules" | "dependencies">;
interface Mistake {
  readonly param: string;
  readonly message: string;
}

const MAX_LISTED = 20;

/**
 * Returns the changes. Throws `read_only`, `conflict` when the old state cannot be used now, and `insufficient_role` when
 * the caller may not write it.
 */
export async function rollBackTo(
  version: number,
  call: AdminCall,
  writer: Writer,
  { rules, dependencies }: RollBackContext,
  of: Pick<HistoryScope, "resourceId"> = {},
): Promise<readonly Change[]> {
  const place = { ...call.place!, ...of };
  requireConfigures(call.caller.token);
  const before = await readNaming(writer, place.tenantId);
  await requireOwn(await writer.diffVersions(Number.MAX_SAFE_INTEGER, version, place), call, writer);
  const changes = await writer.rollBack(place, version);
  const restored = await requireOwn(changes, call, writer);
  const dangling = newlyDangling(dependencies, before, await readNaming(writer, place.tenantId));
  const mistakes: Mistake[] = dangling.map((one) => ({
    param: one.param,
    message: `${titleOf(one, place.tenantId)}: ${one.message}`,
  }));
  // what names something that is gone would be refused as something that the caller may not name
  const isWhole = ({ kind, id, name, projectId }: Resource): boolean =>
    !dangling.some((one) => one.kind === kind && one.name === (name ?? id) && one.projectId === projectId);
  for (const one of restored.filter(isWhole))
    mistakes.push(...(await mistakesIn(rules[nounOf(one.kind)], one, call, writer)));
  const [first] = mistakes;
  if (first === undefined) return changes;
  const more = mistakes.length > 1 ? ` (and ${mistakes.length - 1} more: error.metadata.problems)` : "";
  throw conflict(`Version ${version} is not valid any more: ${first.message}${more}`, {
    metadata: { problems: mistakes.slice(0, MAX_LISTED).map(({ param, message }) => ({ param, message })) },
  });
}

/** The resources of these changes that exist now. Throws `read_only` for one that a higher role has written. */
async function requireOwn(
  changes: readonly Change[],
  { role }: AdminCall,
  writer: Writer,
): Promise<readonly Resource[]> {
  const things: Resource[] = [];
  for (const { kind, id } of changes) {
    const found = isConfiguredKind(kind) ? await writer.findResource(kind, id) : null;
    if (found === null) continue;
    requireWritable(role, found);
    things.push(found);
  }
  return things;
}

async function mistakesIn(
  rule: DocumentRule | undefined,
  thing: Resource,
  call: AdminCall,
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
  const found = await rule.problems({
    call: { ...call, place: { tenantId, projectId } },
    name,
    document,
    reader: writer,
  });
  return found.map(({ path, message }) => ({ param: formatPath(path), message: `${title}: ${message}` }));
}

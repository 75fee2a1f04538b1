// A target of a route as it is written, the model alone where nothing else is to be said of it, and which parameters it
// can set and leave out.
import { GatewayError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { COMMON_PARAMETERS, FIELDS } from "../core/params.ts";
import { type ForeignNode, plainOf } from "./foreign-file.ts";
import { type Mapping, type Value, valueOf } from "./reference.ts";
import type { Claims, WrittenPlace } from "./report.ts";

/** `own` are the settings beside the model. Those that are undefined, and lists and mappings without members, are left out. */
export function targetEntry(model: string, own: Mapping): Value {
  const settings = Object.entries(own).filter(
    ([, value]) => value !== undefined && !(typeof value === "object" && Object.keys(value).length === 0),
  );
  return settings.length === 0 ? model : { model, ...Object.fromEntries(settings) };
}

/** The caller decides the form of the answer, and messages refer to tools. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(["stream", "stream_options", "tools", "deployment_id"]);
const DROPPABLE: ReadonlySet<string> = new Set(COMMON_PARAMETERS.filter((name) => !NEVER_DROPPED.has(name)));

const MAX_NAME = 256;

/**
 * Adds a parameter to those of a target, unless an earlier one has its name. `how` says how it differs; `null` when it
 * does not.
 */
export function addParameter(
  params: Record<string, Value>,
  [name, node]: readonly [string, ForeignNode],
  { at, how, claims }: { readonly at: WrittenPlace; readonly how: string | null; readonly claims: Claims },
): void {
  const problem = parameterProblem(name, node);
  const value = valueOf(plainOf(node));
  if (problem !== null || value === undefined) return claims.without(node, problem ?? "it has no value");
  if (Object.hasOwn(params, name))
    return claims.changed(node, () => [], "another setting of this parameter takes precedence");
  params[name] = value;
  claims.moved(node, at, how);
}

/** Whether a target with these parameters can leave this one out. */
export function isDroppable(name: string, params: Readonly<Record<string, Value>>): boolean {
  return DROPPABLE.has(name) && !(name in params);
}

/** Why a target cannot set this parameter; `null` when it can. */
function parameterProblem(name: string, node: ForeignNode): string | null {
  if (name === "" || name.length > MAX_NAME || name === "__proto__") return "a parameter cannot have this name";
  const field = FIELDS.get(name);
  if (field?.class === "gateway" || name === "stream" || name === "stream_options")
    return "a target cannot set this field, only parameters of a model";
  if (field === undefined) return null;
  try {
    field.check(plainOf(node) as Json, name);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return "this parameter cannot have this value";
  }
}

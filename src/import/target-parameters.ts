// Which parameters a target of a route can set, and which it can leave out.
import { GatewayError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { COMMON_PARAMETERS, FIELDS } from "../core/params.ts";
import { type ForeignNode, plainOf } from "./foreign-file.ts";

/** The caller decides the form of the answer, and messages refer to tools. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(["stream", "stream_options", "tools", "deployment_id"]);
export const DROPPABLE: ReadonlySet<string> = new Set(COMMON_PARAMETERS.filter((name) => !NEVER_DROPPED.has(name)));

const MAX_NAME = 256;

/** Why a target cannot set this parameter; `null` when it can. */
export function parameterProblem(name: string, node: ForeignNode): string | null {
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

// Tools whose arguments the vendor holds to their schema:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use. A schema outside of the vendor's subset is
// refused as strict and taken otherwise.
import type { FunctionDefinition } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { isEnforceable } from "./json-output.ts";

/** The name under which a `strict` that was not sent is reported to the client. */
const STRICT = "tools[].function.strict";
/** For the documentation. */
export const STRICT_NOTE = "is sent where the schema is within the vendor's subset";

const isWithinSubset = memoizePerObject((parameters: JsonObject) => isEnforceable(parameters));

/** Whether the vendor would refuse the function as strict, although the client calls it so. */
function isTooStrict({ strict, parameters }: FunctionDefinition): boolean {
  return strict === true && parameters !== undefined && !isWithinSubset(parameters);
}

/** Returns the member `strict` as the vendor is sent it. */
export function strictMember(definition: FunctionDefinition): JsonObject {
  const { strict } = definition;
  return typeof strict === "boolean" && !isTooStrict(definition) ? { strict } : {};
}

/** Returns what is not sent of these tools, by its name in chat completions. */
export function leftOfTools(tools: readonly JsonObject[]): readonly string[] {
  const isLeft = ({ type, function: definition }: JsonObject): boolean =>
    type === "function" && isObject(definition) && isTooStrict(definition as FunctionDefinition);
  return tools.some(isLeft) ? [STRICT] : [];
}

// Tools whose arguments the vendor holds to their schema:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use. A schema outside of the vendor's subset is
// refused as strict and taken otherwise.
import type { FunctionDefinition } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { isEnforceable } from "./json-output.ts";

/** How it is told that a tool is not sent as strict. */
export const STRICT = "tools[].function.strict";
/** For the documentation. */
export const STRICT_NOTE = "is sent where the schema is within the vendor's subset";

/** Returns the functions that are sent as strict. */
export function strictFunctions(tools: readonly JsonObject[]): ReadonlySet<FunctionDefinition> {
  return new Set(functionsOf(tools).filter((one) => one.strict === true && isEnforceable(one.parameters)));
}

/** Whether a function that the client calls strict is not sent as strict. */
export function leavesStrict(tools: readonly JsonObject[], sent: ReadonlySet<FunctionDefinition>): boolean {
  return functionsOf(tools).some((one) => one.strict === true && !sent.has(one));
}

function functionsOf(tools: readonly JsonObject[]): readonly FunctionDefinition[] {
  return tools.flatMap(({ type, function: definition }) =>
    type === "function" ? [definition as FunctionDefinition] : [],
  );
}

// Tools that a client adds to every request by default, although its user did not ask for them (promise 12.14;
// core/configured/client-deviations.ts says of which client). A provider that cannot run such a tool is sent the request without it.
import type { ClientDeviationName } from "../../../core/configured/client-deviations.ts";
import type { JsonObject } from "../../../core/json.ts";

interface DefaultTool {
  readonly deviation: ClientDeviationName;
  /** Members by which the tool is recognized; each has this value. */
  readonly members: JsonObject;
}

const DEFAULT_TOOLS: readonly DefaultTool[] = [
  // the default: https://developers.openai.com/codex/config-reference
  { deviation: "default_search_tool", members: { type: "web_search", external_web_access: false } },
  // the default where it runs with full access
  { deviation: "default_search_tool", members: { type: "web_search", external_web_access: true } },
];

/** Returns the deviation for a tool that a client adds by default; `null` for any other tool. */
export function defaultedTool(tool: JsonObject): ClientDeviationName | null {
  const found = DEFAULT_TOOLS.find(({ members }) => Object.keys(members).every((name) => tool[name] === members[name]));
  return found?.deviation ?? null;
}

// Tools that a client adds to every request by default, although its user did not ask for them (promise 12.14). A
// provider that cannot run such a tool is sent the request without it, also where the caller does not set drop_params.
import type { JsonObject } from "../../core/json.ts";

interface DefaultTool {
  readonly client: string;
  /** Members by which the tool is recognized; each has this value. */
  readonly members: JsonObject;
}

const DEFAULT_TOOLS: readonly DefaultTool[] = [
  {
    // https://developers.openai.com/codex/config-reference: web_search is "cached" unless configured otherwise
    client: "Codex CLI",
    members: { type: "web_search", external_web_access: false },
  },
  {
    // the default of Codex when it runs with full access
    client: "Codex CLI",
    members: { type: "web_search", external_web_access: true },
  },
];

/** Returns the client that adds a tool of this form by default; `null` for any other tool. */
export function defaultedTool(tool: JsonObject): string | null {
  const found = DEFAULT_TOOLS.find(({ members }) => Object.keys(members).every((name) => tool[name] === members[name]));
  return found?.client ?? null;
}

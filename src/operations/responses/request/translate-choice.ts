// Translates `tool_choice` to that of chat completions. A list of allowed tools is a hard limit: the others are not sent,
// and calls of them are not passed on.
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { invalid } from "../../../core/refusals.ts";
import { FREEFORM_TYPE } from "../request-memo.ts";
import type { TranslatedTools } from "./translated-tools.ts";
import type { UntranslatedParts } from "./untranslated-parts.ts";

const MODES = ["none", "auto", "required"] as const;

export interface TranslatedChoice {
  /** `undefined` when the request does not choose. */
  readonly choice: Json | undefined;
  /** Names of the functions that may be called; `null` for all. */
  readonly allowed: ReadonlySet<string> | null;
}

/** Throws `invalid_request` with the path. */
export function translatedChoice(
  choice: Json | undefined,
  tools: TranslatedTools,
  left: UntranslatedParts,
): TranslatedChoice {
  if (choice === undefined || choice === null) return { choice: undefined, allowed: null };
  if (typeof choice === "string") {
    if (!(MODES as readonly string[]).includes(choice))
      throw invalid("tool_choice", `one of ${MODES.join(", ")}, or an object`, choice);
    return { choice, allowed: null };
  }
  if (!isObject(choice)) throw invalid("tool_choice", "a string or an object", choice);
  const type = choice["type"];
  if (typeof type !== "string") throw invalid("tool_choice.type", "the type of a tool", type);
  if (type === "allowed_tools") return allowedTools(choice, tools, left);
  if (type === "function" || type === FREEFORM_TYPE) {
    const name = functionOf(choice, type, "tool_choice", tools);
    return { choice: { type: "function", function: { name } }, allowed: null };
  }
  if (type === "mcp" && typeof choice["name"] === "string")
    return { choice: { type, server_label: choice["server_label"] ?? null, name: choice["name"] }, allowed: null };
  if (type === "mcp") {
    left.asked("tool_choice.server_label", "without a name has no counterpart at this provider");
    return { choice: "required", allowed: null };
  }
  left.asked(
    "tool_choice",
    `chooses a tool of the type ${JSON.stringify(type.slice(0, 64))}, which only providers that run it themselves can take`,
  );
  return { choice: undefined, allowed: null };
}

function allowedTools(choice: JsonObject, tools: TranslatedTools, left: UntranslatedParts): TranslatedChoice {
  const { mode, tools: listed } = choice;
  if (mode !== "auto" && mode !== "required") throw invalid("tool_choice.mode", '"auto" or "required"', mode);
  if (!Array.isArray(listed)) throw invalid("tool_choice.tools", "an array", listed);
  const names = new Set<string>();
  const servers = new Map<string, Set<string> | null>();
  (listed as readonly Json[]).forEach((tool, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isObject(tool)) throw invalid(path, "an object with a type", tool);
    const { type, server_label: label, name } = tool;
    if (type === "function" || type === FREEFORM_TYPE) names.add(functionOf(tool, type, path, tools));
    else if (type === "mcp" && typeof label === "string" && typeof name === "string") {
      if (servers.get(label) !== null) servers.getOrInsertComputed(label, () => new Set())!.add(name);
    } else if (type === "mcp" && typeof label === "string") servers.set(label, null);
    else left.always(path);
  });
  tools.keepOnly(names, servers);
  // names of tools that a server offers are known only once it has listed them
  return { choice: mode, allowed: servers.size > 0 ? null : names };
}

function functionOf(choice: JsonObject, type: string, path: string, tools: TranslatedTools): string {
  const { name, namespace } = choice;
  if (typeof name !== "string" || name === "") throw invalid(`${path}.name`, "the name of a tool", name);
  return tools.nameOf({
    kind: type === FREEFORM_TYPE ? "freeform" : "function",
    name,
    namespace: typeof namespace === "string" ? namespace : null,
  });
}

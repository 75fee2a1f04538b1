// The rules of `tools`, `tool_choice` and `response_format` (promises 5.5 and 5.7).
import type { RequestedToolServer, ChatRequest, VendorForm } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { functionDefinition, functionName } from "../../core/params.ts";
import { invalid } from "../../core/refusals.ts";
import { isFlatFunction } from "./flat-tools.ts";
import { checkedHeaders } from "../fit/caller-headers.ts";

const CHOICES = new Set(["none", "auto", "required"]);

/** Checks every tool except tool servers (parse-mcp.ts); types that only some vendors have are added to `forms`. */
export function parseTools(tools: readonly JsonObject[], forms: VendorForm[]): void {
  tools.forEach((tool, index) => {
    const path = `tools[${index}]`;
    if (!isObject(tool)) throw invalid(path, "an object", tool);
    const type = tool["type"];
    if (typeof type !== "string" && !(type === undefined && isObject(tool["function"])))
      throw invalid(`${path}.type`, '"function" or "mcp"', type);
    if (type === "mcp") return;
    const headers = tool["headers"];
    if (isObject(headers)) checkedHeaders(`${path}.headers`, headers);
    if (type === undefined)
      note(forms, "message_rule", "tool_without_type", `${path}.type`, 'must be "function" or "mcp"; got nothing');
    if (isFlatFunction(tool)) functionDefinition(tool, path);
    else if (type === undefined || type === "function") {
      if (!isObject(tool["function"])) throw invalid(`${path}.function`, "an object with a name", tool["function"]);
      functionDefinition(tool["function"], `${path}.function`);
    } else note(forms, "tool", type, `${path}.type`, `must be "function"; got ${JSON.stringify(type.slice(0, 64))}`);
  });
}

export function parseToolChoice(choice: Json, toolServers: readonly RequestedToolServer[], forms: VendorForm[]): void {
  if (typeof choice === "string") {
    if (CHOICES.has(choice)) return;
    note(
      forms,
      "tool_choice",
      choice,
      "tool_choice",
      `must be "none", "auto", "required" or an object; got ${JSON.stringify(choice.slice(0, 64))}`,
    );
    return;
  }
  const object = choice as JsonObject;
  const type = object["type"];
  const named = object["function"];
  const untyped = (type ?? null) === null && isObject(named);
  if (typeof type !== "string" && !untyped) throw invalid("tool_choice.type", '"function"', type);
  if (untyped)
    note(forms, "message_rule", "choice_without_type", "tool_choice.type", 'must be "function"; got nothing');
  if (type === "mcp" && toolServers.length > 0) return parseMcpChoice(object, toolServers);
  if (typeof type === "string" && type !== "function") {
    note(
      forms,
      "tool_choice",
      type,
      "tool_choice.type",
      `must be "function"; got ${JSON.stringify(type.slice(0, 64))}`,
    );
    return;
  }
  if (!isObject(named)) throw invalid("tool_choice.function", "an object with a name", named);
  functionName(named["name"] ?? null, "tool_choice.function.name");
}

/** Checks the choice of one tool of a tool server, as OpenAI names it in its responses operation. */
function parseMcpChoice(choice: JsonObject, toolServers: readonly RequestedToolServer[]): void {
  const label = choice["server_label"];
  if (!toolServers.some((server) => server.label === label))
    throw invalid("tool_choice.server_label", "the server_label of a tool server in tools", label);
  const name = choice["name"];
  if (typeof name !== "string" || name === "")
    throw invalid("tool_choice.name", "the name of a tool of that server", name);
}

function note(forms: VendorForm[], kind: VendorForm["kind"], value: string, path: string, expected: string): void {
  forms.push({ kind, value, path, message: `${path} ${expected}` });
}

/** A schema needs a name, except for vendors that accept it without one. */
export function parseResponseFormat(
  format: NonNullable<ChatRequest["params"]["response_format"]>,
  forms: VendorForm[],
): void {
  const path = "response_format.json_schema.name";
  if (format.type === "json_schema" && ((format.json_schema as JsonObject)["name"] ?? null) === null)
    note(forms, "message_rule", "schema_without_name", path, "must be present; got nothing");
}

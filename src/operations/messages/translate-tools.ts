// `tools` and `tool_choice` as those of a chat completion: https://platform.claude.com/docs/en/agents-and-tools/tool-use
import type { Untranslated } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import { invalid, objectAt, textAt } from "../../core/refusals.ts";
import { wordsOfTool } from "../../core/request/held-body.ts";
import { chatToolName } from "./call-names.ts";
import { bad, cacheMark, filledTextAt, given } from "./fields.ts";
import { invalidPart } from "../../engine/request/vendor-judged.ts";
import { inFunctionName, isNamedLikeTool } from "../../engine/tools/offered-tools.ts";
import { isToolServer } from "../../engine/tools/parse-mcp.ts";
import { asked, orLeft } from "./untranslated.ts";

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Members of a tool that chat completions have at the same place, beside `function`. */
const BESIDE = ["defer_loading", "allowed_callers", "input_examples", "eager_input_streaming"] as const;

/** Returns what tells whether a function is named like the tools of a tool server that the request names. */
export function toolsOfServers(body: JsonObject): (name: string) => boolean {
  const tools = objectsIn(body["tools"]);
  const labels = tools.filter(isToolServer).map(({ server_label: label }) => textOrEmpty(label));
  const own = new Set(tools.map(({ name }) => name));
  return (name) => !own.has(name) && isNamedLikeTool(name, labels);
}

export function translateTools(body: JsonObject, isServers: (name: string) => boolean, left: Untranslated[]) {
  const list = given(body, "tools") ?? [];
  if (!Array.isArray(list)) throw invalid("tools", "an array", list);
  const tools: JsonObject[] = [];
  const origins: string[] = [];
  const names: Record<string, string> = {};
  const known = new Set<string>();
  (list as readonly Json[]).forEach((tool, index) => {
    const path = `tools[${index}]`;
    if (!isObject(tool)) throw invalid(path, "an object", tool);
    const type = given(tool, "type") ?? "custom";
    if (typeof type !== "string") throw invalid(`${path}.type`, "a string", type);
    if (type === "custom") {
      const name = toolName(tool, path, known, left);
      if (nameInChat(name) !== name) names[nameInChat(name)] = name;
      tools.push(functionTool(tool, name, path, left));
      origins.push(path);
    } else if (isToolServer(tool)) {
      tools.push(tool);
      origins.push(path);
    } else left.push({ ...asked(path, `a tool of type ${type.slice(0, 64)}`), tool: wordsOfTool(tool) });
  });
  // only the model acts on a choice, so that a vendor that speaks the form judges it itself
  const choice = orLeft(left, {}, () =>
    translateChoice(body, (name) => known.has(name) || isServers(name), tools.length > 0, left),
  );
  return {
    /** `tools`, `tool_choice` and `parallel_tool_calls`, as far as they are set. */
    params: { ...(tools.length > 0 && { tools }), ...choice },
    origins,
    /** The client's names of tools by the names that the model gets, where these differ. */
    names,
  };
}

/** No translation is sent with a name that has other letters than the form allows. */
function nameInChat(name: string): string {
  return inFunctionName(chatToolName(name)) || "_";
}

function toolName(tool: JsonObject, path: string, known: Set<string>, left: Untranslated[]): string {
  const name = textAt(tool, "name", path);
  if (!NAME.test(name))
    left.push(invalidPart(invalid(`${path}.name`, "1 to 128 letters, digits, underscores or dashes", name)));
  if (known.has(name))
    left.push(invalidPart(bad(`${path}.name`, `must be unique; two tools are called ${JSON.stringify(name)}.`)));
  known.add(name);
  return name;
}

function functionTool(tool: JsonObject, name: string, path: string, left: Untranslated[]): JsonObject {
  const { strict } = tool;
  const beside: Record<string, Json> = {};
  for (const member of BESIDE) {
    const value = given(tool, member);
    if (value !== undefined && value !== false) beside[member] = value;
  }
  return {
    type: "function",
    function: {
      name: nameInChat(name),
      ...(given(tool, "description") !== undefined && { description: textAt(tool, "description", path) }),
      parameters: orLeft(left, {}, () => objectAt(tool, "input_schema", path)),
      ...(typeof strict === "boolean" && { strict }),
    },
    ...beside,
    ...cacheMark(tool, path),
  };
}

const CHOICES: Readonly<Record<string, string>> = { auto: "auto", any: "required", none: "none" };

function translateChoice(
  body: JsonObject,
  isKnown: (name: string) => boolean,
  hasTools: boolean,
  left: Untranslated[],
): JsonObject {
  const choice = given(body, "tool_choice");
  if (choice === undefined) return {};
  if (!isObject(choice)) throw invalid("tool_choice", "an object with a type", choice);
  const { type, disable_parallel_tool_use: single } = choice;
  if (single !== undefined && single !== null && typeof single !== "boolean")
    throw invalid("tool_choice.disable_parallel_tool_use", "true or false", single);
  const parallel = single === true && hasTools ? { parallel_tool_calls: false } : {};
  if (type === "tool") {
    const name = filledTextAt(choice, "name", "tool_choice");
    if (isKnown(name)) return { tool_choice: { type: "function", function: { name: nameInChat(name) } }, ...parallel };
    if (!left.some(({ path }) => path.startsWith("tools[")))
      left.push(
        invalidPart(bad("tool_choice.name", `names no tool of the request; got ${JSON.stringify(name.slice(0, 64))}.`)),
      );
    else left.push(asked("tool_choice", "the choice of such a tool"));
    return parallel;
  }
  if (typeof type !== "string") throw invalid("tool_choice.type", '"auto", "any", "tool" or "none"', type);
  if (!Object.hasOwn(CHOICES, type)) {
    left.push(asked("tool_choice.type", `a choice of type ${type.slice(0, 64)}`));
    return parallel;
  }
  const word = CHOICES[type]!;
  // without tools these two say what happens anyway
  if (!hasTools && word !== "required") return {};
  return { ...(word !== "auto" && { tool_choice: word }), ...parallel };
}

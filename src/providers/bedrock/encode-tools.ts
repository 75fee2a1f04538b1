// Encodes `toolConfig`: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html.
// Tools that Claude knows by a dated type, a choice that forces one of them, and the request for one tool call at a time
// have no place there and are sent among the model's own fields.
import type { ChatParams, FunctionDefinition } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { JsonOutput } from "../claude/json-output.ts";
import { strictMember } from "../claude/strict-tools.ts";
import { TOOLS_AS_THEY_ARE } from "./dialect.ts";
import { cachePoint } from "./encode-content.ts";
import type { FamilyFacts } from "./models.ts";

export interface EncodedTools {
  readonly toolConfig?: JsonObject;
  /** Members of `additionalModelRequestFields`. */
  readonly modelFields: JsonObject;
  /** The tool whose input is the answer's text. */
  readonly answerTool: string | null;
}

/** Stands for the tools of an earlier request where there are none, because the vendor wants some beside their calls. */
const NO_TOOL: JsonObject = {
  toolSpec: {
    name: "no_tool",
    description: "There are no tools any more. Do not call this one.",
    inputSchema: { json: { type: "object", properties: {} } },
  },
};

/**
 * Throws GatewayError `unsupported_value`. `usesTools` is true when the conversation holds tool calls or tool results.
 */
export function encodeTools(
  params: ChatParams,
  json: JsonOutput,
  facts: FamilyFacts,
  usesTools: boolean,
): EncodedTools {
  const all = params.tools ?? [];
  const ofClaude = all.filter(isToolOfClaude);
  const tools = all.filter((tool) => !isToolOfClaude(tool)).flatMap((tool) => encodeTool(tool, facts));
  const choice = encodeChoice(params.tool_choice);
  if (choice === "none") return withoutTools(json, usesTools, facts);
  const forcesCall = choice !== null && choice["auto"] === undefined;
  const forcesClaudes = forcesCall && (tools.length === 0 ? ofClaude.length > 0 : names(choice, ofClaude));
  const oneCallOnly = params.parallel_tool_calls === false && all.length > 0;
  const modelFields = (sent: JsonObject | null): JsonObject => ({
    ...claudeFields(ofClaude),
    ...((oneCallOnly || forcesClaudes) && { tool_choice: choiceOfClaude(sent, oneCallOnly) }),
  });
  // A tool call that the caller forces is already the whole answer, so no JSON output is added.
  if (json?.kind === "tool" && !forcesCall) {
    const free = all.length > 0 || facts.toolChoice === "any";
    const toolChoice = free ? { any: {} } : { tool: { name: json.tool.name } };
    return {
      toolConfig: { tools: [...tools, answerSpec(json.tool)], toolChoice },
      modelFields: modelFields(toolChoice),
      answerTool: json.tool.name,
    };
  }
  const noTools = usesTools && all.length === 0 ? { toolConfig: { tools: [NO_TOOL] } } : {};
  return {
    // The vendor refuses a choice without tools.
    ...(tools.length > 0
      ? { toolConfig: { tools, ...(choice !== null && !forcesClaudes && { toolChoice: choice }) } }
      : noTools),
    modelFields: modelFields(choice),
    answerTool: null,
  };
}

/** Converse has no choice `none`, so the tools are left out. */
function withoutTools(json: JsonOutput, usesTools: boolean, facts: FamilyFacts): EncodedTools {
  if (json?.kind === "tool") {
    const toolChoice = facts.toolChoice === "any" ? { any: {} } : { tool: { name: json.tool.name } };
    return { toolConfig: { tools: [answerSpec(json.tool)], toolChoice }, modelFields: {}, answerTool: json.tool.name };
  }
  if (usesTools)
    throw unsupportedValue(
      "tool_choice",
      'tool_choice "none" means that no tools are sent, but this provider requires tools if the conversation has tool calls and results; omit tool_choice.',
    );
  return { modelFields: {}, answerTool: null };
}

function isToolOfClaude({ type }: JsonObject): boolean {
  return type !== "function" && !TOOLS_AS_THEY_ARE.includes(type as string);
}

/** Beta features of dated tool types: https://docs.aws.amazon.com/bedrock/latest/userguide/computer-use.html */
const TOOL_BETAS: readonly (readonly [ending: RegExp, beta: string])[] = [
  [/_20241022$/, "computer-use-2024-10-22"],
  [/_20250124$/, "computer-use-2025-01-24"],
  [/_20251124$/, "computer-use-2025-11-24"],
];

function claudeFields(tools: readonly JsonObject[]): JsonObject {
  if (tools.length === 0) return {};
  const betas = TOOL_BETAS.filter(([ending]) =>
    tools.some(({ type }) => typeof type === "string" && ending.test(type)),
  ).map(([, beta]) => beta);
  return { tools, ...(betas.length > 0 && { anthropic_beta: betas }) };
}

function encodeTool(tool: JsonObject, facts: FamilyFacts): JsonObject[] {
  const { type, function: definition, cache_control: mark } = tool;
  if (type !== "function") return [{ [type as string]: tool[type as string] }];
  const { name, description, parameters, cache_control: innerMark } = definition as FunctionDefinition;
  const toolSpec = {
    name,
    ...(typeof description === "string" && description !== "" && { description }),
    inputSchema: {
      json:
        isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : { type: "object", properties: {} },
    },
    // Only models with structured output know `strict`; the others refuse it.
    ...(facts.jsonSchema && strictMember(definition as FunctionDefinition)),
  };
  return [{ toolSpec }, ...cachePoint(mark ?? innerMark)];
}

function answerSpec({ name, description, input_schema: schema }: JsonObject & { readonly name: string }): JsonObject {
  return { toolSpec: { name, description, inputSchema: { json: schema } } };
}

function encodeChoice(choice: Json | undefined): JsonObject | "none" | null {
  if (typeof choice === "string") {
    if (choice === "none") return "none";
    return choice === "auto" ? { auto: {} } : { any: {} };
  }
  if (!isObject(choice)) return null;
  const { type, function: named, name, tool } = choice;
  if (type === "any") return { any: {} };
  if (type === "function") return { tool: { name: (named as { readonly name: string }).name } };
  return { tool: isObject(tool) ? tool : { name } };
}

function names(choice: JsonObject, tools: readonly JsonObject[]): boolean {
  const { tool } = choice;
  return isObject(tool) && tools.some(({ name }) => name === tool["name"]);
}

/** Claude's own form of the choice, the only one that can ask for one call at a time and name Claude's own tools. */
function choiceOfClaude(choice: JsonObject | null, oneCallOnly: boolean): JsonObject {
  const tool = choice?.["tool"];
  return {
    ...(isObject(tool)
      ? { type: "tool", name: tool["name"] }
      : { type: choice?.["any"] === undefined ? "auto" : "any" }),
    ...(oneCallOnly && { disable_parallel_tool_use: true }),
  };
}

// Reads and checks a server's list of tools: a bounded number of pages, and tools with a name and the schema of an
// object. Invalid tools are left out, and the others are kept.
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { ToolDefinition } from "../core/configured/tool.ts";
import { isDeeperThan } from "./depth.ts";
import { ToolFault } from "./faults.ts";

export const MAX_TOOLS = 1000;
const MAX_PAGES = 64;
const MAX_NAME = 256;
const MAX_DESCRIPTION = 64 * 1024;
const MAX_SCHEMA_BYTES = 256 * 1024;
const MAX_ANNOTATIONS_BYTES = 16 * 1024;
const MAX_SCHEMA_DEPTH = 64;
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const CONTROL =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

export interface ReadList {
  readonly tools: readonly ToolDefinition[];
  /** The tools that were left out, each with the reason in one sentence. */
  readonly problems: readonly string[];
  /** The approximate size of all tools. */
  readonly bytes: number;
}

/** Reads all pages. Throws ToolFault for an invalid page. */
export async function readList(page: (cursor: string | undefined) => Promise<unknown>): Promise<ReadList> {
  const tools = new Map<string, ToolDefinition>();
  const problems: string[] = [];
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || cursor !== undefined; pages++) {
    if (pages >= MAX_PAGES) throw new ToolFault("failed", `its list of tools has more than ${MAX_PAGES} pages`);
    const answer = await page(cursor);
    if (!isObject(answer) || !Array.isArray(answer["tools"]))
      throw new ToolFault("failed", "its list of tools is not a list");
    const { tools: listed, nextCursor } = answer as { readonly tools: readonly Json[]; readonly nextCursor?: Json };
    for (const one of listed) {
      const read = readTool(one);
      if (typeof read === "string") problems.push(read);
      else if (tools.has(read.tool.name)) problems.push(`the tool ${read.tool.name} is listed twice`);
      else {
        bytes += read.bytes;
        if (bytes > MAX_LIST_BYTES)
          throw new ToolFault("failed", `its list of tools is larger than ${MAX_LIST_BYTES} bytes`);
        tools.set(read.tool.name, read.tool);
      }
      if (tools.size > MAX_TOOLS || problems.length > MAX_TOOLS)
        throw new ToolFault("failed", `it lists more than ${MAX_TOOLS} tools`);
    }
    const next = typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined;
    if (next !== undefined && next === cursor) throw new ToolFault("failed", "its list of tools repeats a page");
    cursor = next;
  }
  return { tools: [...tools.values()], problems, bytes };
}

/** Returns a message when the tool is invalid. */
function readTool(listed: Json): { readonly tool: ToolDefinition; readonly bytes: number } | string {
  if (!isObject(listed)) return "an entry is not a tool";
  const { name, title, description, inputSchema, outputSchema, annotations } = listed;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME || CONTROL.test(name))
    return `a tool has no name of 1 to ${MAX_NAME} characters`;
  if (!isObject(inputSchema) || inputSchema["type"] !== "object")
    return `the inputSchema of the tool ${name} is not of type object`;
  if (isDeeperThan(inputSchema, MAX_SCHEMA_DEPTH))
    return `the inputSchema of the tool ${name} is deeper than ${MAX_SCHEMA_DEPTH} levels`;
  const schemaBytes = JSON.stringify(inputSchema).length;
  if (schemaBytes > MAX_SCHEMA_BYTES)
    return `the inputSchema of the tool ${name} is larger than ${MAX_SCHEMA_BYTES} bytes`;
  if (typeof description === "string" && description.length > MAX_DESCRIPTION)
    return `the description of the tool ${name} is longer than ${MAX_DESCRIPTION} characters`;
  const ownTitle =
    typeof title === "string"
      ? title
      : isObject(annotations) && typeof annotations["title"] === "string"
        ? annotations["title"]
        : null;
  const tool: ToolDefinition = {
    name,
    title: ownTitle?.slice(0, MAX_NAME) ?? null,
    description: typeof description === "string" ? description : null,
    inputSchema,
    ...(isSmall(outputSchema, MAX_SCHEMA_BYTES) && { outputSchema }),
    ...(isSmall(annotations, MAX_ANNOTATIONS_BYTES) && { annotations }),
  };
  const further = JSON.stringify([tool.outputSchema, tool.annotations]).length;
  return { tool, bytes: schemaBytes + further + name.length + (tool.description?.length ?? 0) };
}

/** Anything but an object within the bounds is left out, because the tool can be used without it. */
function isSmall(value: Json | undefined, maxBytes: number): value is JsonObject {
  return isObject(value) && !isDeeperThan(value, MAX_SCHEMA_DEPTH) && JSON.stringify(value).length <= maxBytes;
}

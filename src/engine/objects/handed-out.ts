// Finds the ids of things that live at a vendor in what the vendor answers. Only members that the vendor's own forms
// define count, because a model can be made to write any other: a tool's input, an echo of metadata.
// https://platform.openai.com/docs/api-reference/responses/object, https://platform.claude.com/docs/en/api/messages
import { isObject, type Json, type JsonObject, listIn } from "../../core/json.ts";
import { parseJson } from "../../wire/json/json.ts";

/** Members with ids, by the type of the object in which they stand. */
const BY_TYPE: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["code_interpreter_call", ["container_id"]],
  ["container_reference", ["container_id"]],
  ["container_file_citation", ["container_id", "file_id"]],
  ["file_citation", ["file_id"]],
  ["file_path", ["file_id"]],
  ["code_execution_output", ["file_id"]],
  ["bash_code_execution_output", ["file_id"]],
]);
/** Members whose object has an `id` that counts, in an answer or an event of it. */
const WITH_ID: ReadonlySet<string> = new Set(["container", "conversation"]);
/** Where these objects stand: the answer, and what holds it or a part of it in an event. */
const FRAMES: ReadonlySet<string> = new Set(["", "message", "delta", "response"]);
/** What a model, a caller or a third party writes. */
const FREE: ReadonlySet<string> = new Set([
  "input",
  "arguments",
  "metadata",
  "parameters",
  "schema",
  "input_schema",
  "attributes",
  "tools",
  "text",
]);
const ANY = /"(?:container|container_id|conversation|file_id)"/;
const MAX_IDS = 1000;

export interface HandedOut {
  /** Files, containers and conversations. */
  readonly ids: Set<string>;
  /** The vendor's id of the whole answer; `null` while it is not known. */
  responseId: string | null;
  /** Ids of its items. */
  readonly itemIds: Set<string>;
}

/** Adds what an answer, or an event of one, hands out. `isStored`: the vendor stores the answer, and its ids count. */
export function collectHandedOut(text: string, into: HandedOut, isStored: boolean): void {
  if (!isStored && !ANY.test(text)) return;
  const value = parseJson(text);
  if (!isObject(value)) return;
  visit(value, "", into);
  if (isStored) collectStored(value, into);
}

function visit(value: Json | undefined, frame: string | null, into: HandedOut): void {
  if (into.ids.size >= MAX_IDS) return;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) visit(item, null, into);
    return;
  }
  if (!isObject(value)) return;
  const { type } = value;
  // what another tool server says is its own
  if (typeof type === "string" && type.startsWith("mcp_")) return;
  for (const name of BY_TYPE.get(type) ?? []) add(value[name], into.ids);
  if (type === "file_search_call" && Array.isArray(value["results"]))
    for (const result of value["results"] as readonly Json[]) if (isObject(result)) add(result["file_id"], into.ids);
  for (const [name, member] of Object.entries(value)) {
    if (FREE.has(name)) continue;
    if (frame !== null && FRAMES.has(frame) && WITH_ID.has(name) && isObject(member)) add(member["id"], into.ids);
    visit(member, frame === "" ? name : null, into);
  }
}

/**
 * The ids of a response and of its items, and that of a message: https://platform.openai.com/docs/api-reference/responses/retrieve,
 * https://platform.claude.com/docs/en/api/messages
 */
function collectStored(value: JsonObject, into: HandedOut): void {
  const message = value["type"] === "message_start" ? value["message"] : value;
  if (isObject(message) && message["type"] === "message" && message["role"] === "assistant")
    return add(message["id"], into.itemIds);
  const event = isObject(value["response"]) ? value["response"] : value;
  if (event["object"] === "response" && typeof event["id"] === "string") into.responseId ??= event["id"];
  for (const item of [...listIn(event["output"]), value["item"]])
    if (isObject(item) && into.itemIds.size < MAX_IDS) add(item["id"], into.itemIds);
}

function add(id: Json | undefined, into: Set<string>): void {
  if (typeof id === "string" && id !== "" && into.size < MAX_IDS) into.add(id);
}

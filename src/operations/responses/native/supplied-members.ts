// What clients read of items, parts and usage without looking whether it is there, and some servers leave out.
// https://platform.openai.com/docs/api-reference/responses/object
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { isCount, tokenCount } from "../../../core/record/token-count.ts";
import type { JsonEdit } from "../../../core/request/json-edit.ts";
import { formOfCall, formOfPart, PARTS } from "../../../providers/responses/stream-grammar.ts";
import { partJson } from "../part-members.ts";

type Path = JsonEdit["path"];

/** The types of items whose status clients look at. */
const WITH_STATUS: ReadonlySet<unknown> = new Set(["message", "function_call", "custom_tool_call", "mcp_call"]);

/** Returns what an item lacks. `id` is that under which the client knows it. */
export function itemEdits(item: JsonObject, id: string, status: string, path: Path): readonly JsonEdit[] {
  const edits: JsonEdit[] = [];
  const supply = (name: string, value: Json): void => {
    if ((item[name] ?? null) === null) edits.push({ path: [...path, name], value });
  };
  const { type, content } = item;
  if (item["id"] !== id) edits.push({ path: [...path, "id"], value: id });
  if (WITH_STATUS.has(type)) supply("status", status);
  switch (type) {
    case "message":
      supply("role", "assistant");
      if (!Array.isArray(content)) edits.push({ path: [...path, "content"], value: contentOf(content) });
      else edits.push(...(content as readonly Json[]).flatMap((part, at) => partEdits(part, [...path, "content", at])));
      break;
    case "reasoning":
      supply("summary", []);
      break;
    default: {
      const call = formOfCall(type);
      if (call === null) break;
      supply("call_id", id);
      supply(call.whole, "");
    }
  }
  return edits;
}

/** Some servers send the text in place of the list of parts. */
function contentOf(content: Json | undefined): readonly JsonObject[] {
  return typeof content === "string" && content !== "" ? [partJson(PARTS.message.output_text, { text: content })] : [];
}

export function partEdits(part: Json | undefined, path: Path): readonly JsonEdit[] {
  if (!isObject(part) || formOfPart(null, part["type"])?.isAnnotated !== true) return [];
  return (["annotations", "logprobs"] as const).flatMap((name) =>
    Array.isArray(part[name]) ? [] : [{ path: [...path, name], value: [] }],
  );
}

const DETAILS = { input_tokens_details: "cached_tokens", output_tokens_details: "reasoning_tokens" } as const;

/** Where the form requires a number that the provider did not tell, or that cannot be, it is 0 (promise 12.7). */
export function usageEdits(usage: Json | undefined, path: Path): readonly JsonEdit[] {
  if (!isObject(usage)) return [];
  const edits: JsonEdit[] = [];
  for (const name of ["input_tokens", "output_tokens"] as const)
    if (!isCount(usage[name])) edits.push({ path: [...path, name], value: 0 });
  if (!isCount(usage["total_tokens"])) {
    const sum = tokenCount(usage["input_tokens"]) + tokenCount(usage["output_tokens"]);
    edits.push({ path: [...path, "total_tokens"], value: sum });
  }
  for (const [name, member] of Object.entries(DETAILS)) {
    const details = usage[name];
    if (!isObject(details) || !isCount(details[member])) edits.push({ path: [...path, name, member], value: 0 });
  }
  return edits;
}

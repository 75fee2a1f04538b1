// The request of the operation tools.call: which tool, and with which arguments. It is translated to a conversation that
// ends with the call and has the tool, so that policies, guards, limits and records see it as they see a tool call of a
// model.
import { invalid } from "../../core/refusals.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { functionName } from "../../core/params.ts";

/** The body. Its other members go nowhere. */
export interface ToolCallRequest extends JsonObject {
  /** Says to guards that the name is that of a function, which no service is asked about. */
  readonly type: "function_call";
  /** The tool's name as `/mcp` lists it: `<server_label>__<tool>`. */
  readonly name: string;
  readonly arguments: JsonObject;
  /** Whether a person has approved the call. */
  readonly approved: boolean;
  /** Whether the client can ask a person for approval. */
  readonly can_ask: boolean;
}

export type ToolCallMemo = Pick<ToolCallRequest, "name" | "approved" | "can_ask">;

/** The id of the call in its conversation, which nobody else sees. */
export const CALL_ID = "call_1";

export const TOOL_CALL_FORM = translatedForm({ translate, names: { messages: "arguments" } });

/** Throws `invalid_request` with the path. */
function translate({ name, arguments: args = {}, approved, can_ask: canAsk }: JsonObject): Translation {
  functionName(name!, "name");
  if (!isObject(args)) throw invalid("arguments", "an object", args);
  const memo: ToolCallMemo = { name: name as string, approved: approved === true, can_ask: canAsk === true };
  const call = { id: CALL_ID, type: "function", function: { name: memo.name, arguments: JSON.stringify(args) } };
  return {
    chat: {
      messages: [{ role: "assistant", content: null, tool_calls: [call] }],
      tools: [{ type: "function", function: { name: memo.name } }],
    },
    origins: { messages: ["arguments"], tools: ["name"] },
    untranslated: [],
    memo,
  };
}

// Collects what a project keeps of a long non-streaming answer, in the thread that holds the answer (promises 5.8 and
// 11.3): as much of its texts as the recorder still has room for, and one character more, which shows the recorder that
// something is missing. It visits the answer in the order of ContentRecorder, which decides in the end.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { cutWithMargin, MAX_KEPT_CALLS } from "./content-size.ts";

const TEXTS = ["content", "reasoning_content", "refusal"] as const;

/** `room` is the number of characters of texts that the recorder still has room for. */
export function keptAnswer(body: JsonObject, room: number): JsonObject {
  let left = room + 1;
  const fit = (text: string): string => {
    const fitting = text.slice(0, left);
    left = Math.max(1, left - fitting.length);
    return fitting;
  };
  const call = ({ function: called, ...rest }: JsonObject): JsonObject => ({
    ...beside(rest, room),
    ...(isObject(called) && {
      function: {
        ...beside({ name: called["name"] }, room),
        ...(typeof called["arguments"] === "string" && { arguments: fit(called["arguments"]) }),
      },
    }),
  });
  const message = (given: JsonObject): JsonObject => ({
    ...Object.fromEntries(
      TEXTS.flatMap((name) => (typeof given[name] === "string" ? [[name, fit(given[name])] as const] : [])),
    ),
    ...(Array.isArray(given["tool_calls"]) && {
      tool_calls: (given["tool_calls"] as readonly Json[])
        .filter(isObject)
        .slice(0, MAX_KEPT_CALLS + 1)
        .map(call),
    }),
    ...(isObject(given["function_call"]) && {
      function_call: call({ function: given["function_call"] })["function"]!,
    }),
  });
  const choices = (body["choices"] as readonly JsonObject[]).map(({ index, finish_reason, message: given }) => ({
    index,
    finish_reason,
    message: isObject(given) ? message(given) : {},
  }));
  return { choices };
}

/** Bounds ids, names, and what only some vendors have in a tool call. */
function beside(value: JsonObject, room: number): JsonObject {
  return (cutWithMargin([value], room).kept[0] ?? {}) as JsonObject;
}

// Turns of the model in OpenAI's chat completions, and what a request in that form says.
import type { CannedAnswer } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { type End, isText, json, type Piece, pieces, type Said, STREAM_TYPE, type Vendor } from "./said.ts";

const textsOf = (said: readonly Said[]): string =>
  said
    .filter(isText)
    .map(({ text }) => text)
    .join("");

const OPENAI_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

function openaiEnd(said: readonly Said[], end: End): string {
  if (end !== "done") return end === "length" ? "length" : "content_filter";
  return said.some((one) => "call" in one) ? "tool_calls" : "stop";
}

const openaiCalls = (said: readonly Said[]) =>
  said.flatMap((one) =>
    "call" in one
      ? [{ id: one.call, type: "function", function: { name: one.name, arguments: JSON.stringify(one.input) } }]
      : [],
  );

/** The calls come interleaved, as some servers send them. */
function openaiStream(said: readonly Said[], end: End = "done"): CannedAnswer {
  const calls = openaiCalls(said);
  const texts = said.flatMap((one) =>
    "thinking" in one
      ? pieces(one.thinking).map((reasoning_content) => openaiChunk({ reasoning_content }))
      : isText(one)
        ? pieces(one.text).map((content) => openaiChunk({ content }))
        : [],
  );
  const begun = calls.map((call, index) =>
    openaiChunk({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }] }),
  );
  const longest = Math.max(0, ...calls.map((call) => pieces(call.function.arguments).length));
  const rest = Array.from({ length: longest }, (_, at) =>
    calls.flatMap((call, index) => {
      const piece = pieces(call.function.arguments)[at];
      return piece === undefined ? [] : [openaiChunk({ tool_calls: [{ index, function: { arguments: piece } }] })];
    }),
  ).flat();
  const last = { ...openaiChunk({}), choices: [], usage: OPENAI_USAGE };
  return {
    headers: STREAM_TYPE,
    chunk: "event",
    body: eventStream(
      openaiChunk({ role: "assistant", content: "" }),
      ...texts,
      ...begun,
      ...rest,
      openaiChunk({}, openaiEnd(said, end)),
      last,
    ),
  };
}

function heardByOpenai({ messages }: any): readonly Piece[] {
  return (messages as readonly any[]).flatMap<any>(
    ({ role, content, reasoning_content: thinking, tool_calls: calls, ...more }) => {
      const parts: readonly any[] =
        typeof content === "string"
          ? content === "" && (calls ?? thinking) !== undefined
            ? []
            : [{ type: "text", text: content }]
          : (content ?? []);
      const said = parts.map((part) =>
        part.type === "text" ? { role, text: part.text } : { role, image: part.image_url.url.split(",")[1] },
      );
      if (role === "tool")
        return [{ role: "user", result: more.tool_call_id, text: said.map(({ text }) => text).join("") }];
      return [
        // an empty text stands for the reasoning of calls that has not come back
        ...(thinking === undefined || thinking === "" ? [] : [{ role, thinking }]),
        ...said,
        ...((calls as readonly any[] | undefined) ?? []).map(({ id, function: { name, arguments: text } }) => ({
          role,
          call: id,
          name,
          input: JSON.parse(text),
        })),
      ];
    },
  );
}

export const OPENAI: Vendor = {
  model: "deepseek:deepseek-reasoner",
  counted: { input: 100, cached: 30, written: 10, output: 20, thinking: 5 },
  answer: (said, end = "done") => {
    const calls = openaiCalls(said);
    const thinking = said.flatMap((one) => ("thinking" in one ? [one.thinking] : [])).join("");
    const message = {
      ...(thinking !== "" && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const content = said.some(isText) ? textsOf(said) : null;
    return json({
      ...openaiAnswer(content, { message, finish_reason: openaiEnd(said, end) }),
      usage: OPENAI_USAGE,
    });
  },
  stream: openaiStream,
  heard: heardByOpenai,
};

// Rewrites that more than one row uses. A vendor's own rewrites are beside its row.
import { isWebAddress } from "../../core/text/web-address.ts";
import type { ContentPart, Message, MessageRole } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { describe, isObject, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";
import type { BlockRewrite, ParameterRewrite } from "./row.ts";

/**
 * Values and types of `tool_choice` that some vendors have beside OpenAI's first three, for servers that forward
 * requests to any of these vendors. Other values are not accepted: a value that no vendor has is a mistake of the
 * caller.
 */
export const VENDOR_CHOICES: readonly string[] = ["any", "tool", "custom", "allowed_tools"];

/** For schemas that accept only a list. */
export const stopAsList: ParameterRewrite = {
  note: "sent as an array",
  write: (stop) => (typeof stop === "string" ? { stop: [stop] } : null),
};

/** For servers whose JSON mode always requires a schema. */
export const jsonObjectAsSchema: ParameterRewrite = {
  support: "emulated",
  note: "json_object is sent as a json_schema that accepts any object",
  write: (format) =>
    isObject(format) && format["type"] === "json_object"
      ? { response_format: { type: "json_schema", json_schema: { name: "object", schema: { type: "object" } } } }
      : null,
};

/** A rewrite of documents, of which those that are already text become text blocks; `write` writes all others. */
export function documentAs(note: string, write: (source: JsonObject, path: string) => ContentPart): BlockRewrite {
  return {
    note: `${note}; plain text as a text block`,
    write(part, path) {
      const source = sourceOf(part);
      return source["type"] === "text" ? textPart(source, path) : write(source, path);
    },
  };
}

/** OpenAI's `file` part accepts a data URL: https://platform.openai.com/docs/guides/pdf-files */
export const documentAsFile = documentAs("sent as a file block with file_data", (source, path) => {
  if (source["type"] === "file" && typeof source["file_id"] === "string")
    return { type: "file", file: { file_id: source["file_id"] } };
  const { mediaType, data } = base64Of(source, path);
  return {
    type: "file",
    file: { filename: `document.${extensionOf(mediaType)}`, file_data: `data:${mediaType};base64,${data}` },
  };
});

/** For vendors without files: only documents that are already text are accepted. */
export const textDocument: BlockRewrite = {
  note: "plain text documents only, sent as text blocks",
  write: (part, path) => {
    const source = sourceOf(part);
    if (source["type"] !== "text") throw unsupportedSource(source, path, '"text"');
    return textPart(source, path);
  },
};

function sourceOf(part: ContentPart): JsonObject {
  return isObject(part["source"]) ? part["source"] : {};
}

function textPart(source: JsonObject, path: string): ContentPart {
  if (typeof source["data"] !== "string") throw unsupportedSource(source, path, "text in data");
  return { type: "text", text: source["data"] };
}

export function base64Of(source: JsonObject, path: string): { readonly mediaType: string; readonly data: string } {
  const { data, media_type: mediaType } = source;
  if (source["type"] !== "base64" || typeof data !== "string")
    throw unsupportedSource(source, path, '"base64" with data, or "text"');
  return { mediaType: typeof mediaType === "string" ? mediaType : "application/pdf", data };
}

export function unsupportedSource(source: JsonObject, path: string, expected: string): GatewayError {
  return unsupportedValue(
    `${path}.source`,
    `The provider takes documents whose ${path}.source.type is ${expected}; got ${describe(source["type"])}.`,
  );
}

function extensionOf(mediaType: string): string {
  const subtype = /\/([a-z0-9]{1,8})$/i.exec(mediaType)?.[1];
  return subtype === undefined ? "bin" : subtype === "plain" ? "txt" : subtype;
}

/**
 * For vendors without `tool_choice`: tools that are offered may be called freely, and `none` is sent as a request
 * without tools.
 */
export const toolChoiceByOffer: ParameterRewrite = {
  support: "emulated",
  note: "auto is not sent; for none, the tools are not sent",
  write: (choice) => (choice === "auto" ? {} : choice === "none" ? { tools: null } : null),
};
export const CHOICE_BY_OFFER = { support: "emulated", note: toolChoiceByOffer.note, values: ["auto", "none"] } as const;

/** For vendors whose choice is only a string: only the named tool is offered, and a call is required. */
export const namedToolAlone: ParameterRewrite = {
  support: "emulated",
  note: "for a named function, only that tool is sent, with required",
  write: (choice, params) => {
    const named = isObject(choice) && isObject(choice["function"]) ? choice["function"]["name"] : undefined;
    const tools = (params.tools ?? []).filter(
      (tool) => isObject(tool["function"]) && tool["function"]["name"] === named,
    );
    return named === undefined || tools.length === 0 ? null : { tools, tool_choice: "required" };
  },
};

/** For models that can only switch thinking on or off: `thinking` of Z.ai, Moonshot and Baidu. */
export const thinkingSwitch: ParameterRewrite = {
  note: "thinking: disabled for none, otherwise enabled",
  write: (effort) => ({ thinking: { type: effort === "none" ? "disabled" : "enabled" } }),
};

/** The same switch under the name `enable_thinking`, for Qwen and the servers that host it. */
export const enableThinking: ParameterRewrite = {
  note: "enable_thinking: false for none, otherwise true",
  write: (effort) => ({ enable_thinking: effort !== "none" }),
};

/** The effort inside `reasoning`: Snowflake's Claude and Vercel. */
export const effortInReasoning: ParameterRewrite = {
  note: "reasoning, with an effort",
  write: (effort) => ({ reasoning: { effort } }),
};

/** A file whose id may be an address; `write` writes those with an address, `rest` being the members beside it. */
export function fileAtAddress(note: string, write: (address: string, rest: JsonObject) => JsonObject): BlockRewrite {
  return {
    note,
    write(part) {
      const { file } = part;
      if (!isObject(file) || !isWebAddress(file["file_id"])) return part;
      const { file_id: address, ...rest } = file;
      return { ...part, file: write(address, rest) };
    },
  };
}

/** Sends audio as a data URL in a block type of its own: SiliconFlow, Friendli. */
export const audioAsUrl: BlockRewrite = {
  note: "sent as an audio_url block with a data URL",
  write: (part) => {
    const audio = isObject(part["input_audio"]) ? part["input_audio"] : {};
    return {
      type: "audio_url",
      audio_url: {
        url: `data:audio/${typeof audio["format"] === "string" ? audio["format"] : "wav"};base64,${textOrEmpty(audio["data"])}`,
      },
    };
  },
};

/** Joins adjacent messages of one of these roles, for vendors that refuse two in a row. Calls of tools stay apart. */
export function joinedRuns(
  messages: readonly Message[],
  roles: ReadonlySet<MessageRole>,
  joins: Joins,
): readonly Message[] {
  const continues = ({ role, tool_calls: calls }: Message, index: number): boolean =>
    index > 0 &&
    roles.has(role) &&
    messages[index - 1]!.role === role &&
    calls === undefined &&
    messages[index - 1]!.tool_calls === undefined;
  if (!messages.some(continues)) return messages;
  const runs: Message[][] = [];
  messages.forEach((message, index) => {
    if (continues(message, index)) runs.at(-1)!.push(message);
    else runs.push([message]);
  });
  return runs.map((run) => (run.length === 1 ? run[0]! : joinedRun(run, joins)));
}

function joinedRun(run: readonly Message[], joins: Joins): Message {
  const texts = run.flatMap(({ content }) => (typeof content === "string" ? [content] : []));
  const parts = run.flatMap(({ content }) =>
    typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []),
  );
  return { ...run[0]!, content: texts.length === run.length ? joinTexts(texts, "\n\n", joins) : parts };
}

/** Puts what the system says first, as one message, for vendors and templates that refuse it anywhere else. */
export function systemFirst(messages: readonly Message[], joins: Joins): readonly Message[] {
  const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer";
  const said = messages.filter(isSystem);
  if (said.length === 0 || (said.length === 1 && messages[0]!.role === "system")) return messages;
  const first = said.map((message): Message => ({ ...message, role: "system" }));
  return joinedRuns([...first, ...messages.filter((message) => !isSystem(message))], SYSTEM, joins);
}
const SYSTEM: ReadonlySet<MessageRole> = new Set(["system"]);

/** A message whose only text is empty stays as it is, and the vendor decides about it. */
export function withoutEmptyTexts(messages: readonly Message[]): readonly Message[] {
  return mappedList(messages, (message) => {
    if (!Array.isArray(message.content)) return message;
    const parts = message.content as readonly ContentPart[];
    const filled = parts.filter((part) => part.type !== "text" || part["text"] !== "");
    return filled.length === parts.length || filled.length === 0 ? message : { ...message, content: filled };
  });
}

/**
 * Also leaves out answers that say nothing, and writes `empty` in place of an empty text beside calls of tools. The vendor
 * decides about an answer that is begun, and about one of which only the reasoning is there.
 */
export function withoutEmptyAnswers(messages: readonly Message[], empty: "" | " "): readonly Message[] {
  const isEmpty = ({ role, content }: Message): boolean =>
    role === "assistant" &&
    (Array.isArray(content)
      ? (content as readonly ContentPart[]).every((part) => part.type === "text" && part["text"] === "")
      : (content ?? "") === "");
  const says = (message: Message): boolean =>
    !isEmpty(message) ||
    message.tool_calls !== undefined ||
    message["partial"] === true ||
    textOrEmpty(message.reasoning_content) !== "";
  const kept = messages.every(says) || !messages.some(says) ? messages : messages.filter(says);
  return mappedList(withoutEmptyTexts(kept), (message) =>
    message.tool_calls !== undefined && isEmpty(message) && message.content != null && message.content !== empty
      ? { ...message, content: empty }
      : message,
  );
}

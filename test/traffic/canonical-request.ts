// Whether two requests of a protocol are equivalent. Null means "not set"; different spellings of the same value are
// brought into one form.
type Value = any;

const isObject = (value: Value): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** Without nulls, and without what is empty and means nothing then. */
function pruned(value: Value): Value {
  if (Array.isArray(value)) return value.map(pruned);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, pruned(member)] as const);
  return Object.fromEntries(
    members.filter(
      ([key, member]) => member !== null && member !== undefined && !(MAY_BE_EMPTY.has(key) && isEmpty(member)),
    ),
  );
}
const MAY_BE_EMPTY = new Set([
  "generationConfig",
  "safetySettings",
  "toolConfig",
  "tools",
  "tool_calls",
  "system",
  "stop_sequences",
  "stopSequences",
  "metadata",
  "documents",
  "options",
]);
const isEmpty = (value: Value): boolean =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;

/** Neighbours of one role are one turn. */
function turns(list: readonly Value[], content: string): readonly Value[] {
  return list.reduce<Value[]>((all, turn) => {
    const last = all.at(-1);
    if (last?.role === turn.role && Array.isArray(last[content]) && Array.isArray(turn[content]))
      all[all.length - 1] = { ...last, [content]: [...last[content], ...turn[content]] };
    else all.push(turn);
    return all;
  }, []);
}

const asParts = (content: Value): Value => (typeof content === "string" ? [{ type: "text", text: content }] : content);
const words = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** A system prompt of plain text may be split or joined. */
function systemWords(parts: Value): Value {
  if (typeof parts === "string") return words(parts) || undefined;
  const plain =
    Array.isArray(parts) &&
    parts.every(
      (part) => typeof part.text === "string" && Object.keys(part).every((key) => key === "text" || key === "type"),
    );
  return plain ? words(parts.map((part: Value) => part.text).join(" ")) || undefined : parts;
}

function anthropicForm(body: Value): Value {
  const { stream, system, messages = [], tools, tool_choice, ...rest } = body;
  const block = (part: Value): Value =>
    part.type === "tool_result"
      ? { ...part, is_error: part.is_error || undefined, content: asParts(part.content) }
      : part;
  return {
    ...rest,
    stream: stream || undefined,
    system: systemWords(system),
    messages: turns(
      messages.map((message: Value) => ({ ...message, content: asParts(message.content) })),
      "content",
    ).map((turn) => ({ ...turn, content: turn.content.map(block) })),
    tools: tools?.map((tool: Value) => ({
      ...tool,
      type: tool.type === "custom" ? undefined : tool.type,
      description: tool.description || undefined,
    })),
    tool_choice: tool_choice?.type === "auto" && Object.keys(tool_choice).length === 1 ? undefined : tool_choice,
  };
}

const several = (value: Value): Value => (value === undefined ? undefined : Array.isArray(value) ? value : [value]);
const camel = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const GEMINI_WORDS = new Set(
  "system_instruction function_declarations function_call function_response inline_data file_data mime_type file_uri generation_config safety_settings tool_config function_calling_config allowed_function_names response_mime_type response_schema thinking_config max_output_tokens stop_sequences candidate_count".split(
    " ",
  ),
);
const SAME_MIME: Record<string, string> = { "audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav" };

function renamed(value: Value): Value {
  if (Array.isArray(value)) return value.map(renamed);
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([key, member]) => [GEMINI_WORDS.has(key) ? camel(key) : key, renamed(member)]),
      )
    : value;
}

/** Type names in either case are the same to the service, and `$schema` says nothing to it. */
function schemaForm(schema: Value): Value {
  if (Array.isArray(schema)) return schema.map(schemaForm);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== "$schema")
      .map(([key, member]) => [
        key,
        key === "type" && typeof member === "string" ? member.toLowerCase() : schemaForm(member),
      ]),
  );
}

function geminiPart({ thought, ...part }: Value): Value {
  const out = { ...part, ...(thought && { thought }) };
  if (out.functionCall) out.functionCall = { ...out.functionCall, id: undefined };
  if (out.functionResponse) out.functionResponse = { ...out.functionResponse, id: undefined };
  if (out.inlineData)
    out.inlineData = {
      ...out.inlineData,
      mimeType: SAME_MIME[out.inlineData.mimeType] ?? out.inlineData.mimeType,
      data: out.inlineData.data?.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, ""),
    };
  return out;
}

function geminiForm(given: Value): Value {
  const {
    model: _model,
    contents,
    systemInstruction,
    tools,
    toolConfig,
    generationConfig,
    ...rest
  } = pruned(renamed(given));
  const turn = (content: Value): Value => ({
    ...content,
    role: content.role === "function" ? "user" : (content.role ?? "user"),
    parts: (several(content.parts) ?? []).map(geminiPart),
  });
  const { responseSchema, responseJsonSchema, ...config } = generationConfig ?? {};
  const schema = responseJsonSchema ?? responseSchema;
  const declaration = ({ parametersJsonSchema, parameters, ...named }: Value): Value => {
    const form = schemaForm(parametersJsonSchema ?? parameters);
    return { ...named, parameters: form && !isEmpty(form.properties ?? {}) ? form : undefined };
  };
  const declared = (several(tools) ?? []).flatMap((tool: Value) => tool.functionDeclarations ?? []).map(declaration);
  const others = (several(tools) ?? [])
    .map(({ functionDeclarations: _declared, ...tool }: Value) => tool)
    .filter((tool: Value) => !isEmpty(tool));
  return {
    ...rest,
    contents: turns((several(contents) ?? []).map(turn), "parts"),
    systemInstruction: systemWords(
      (several(systemInstruction?.parts) ?? []).map(({ thought: _thought, ...part }: Value) => part),
    ),
    tools: [declared, others],
    toolConfig: (toolConfig?.functionCallingConfig?.mode ?? "AUTO").toUpperCase() === "AUTO" ? undefined : toolConfig,
    generationConfig: { ...config, ...(schema && { schema: schemaForm(schema) }) },
  };
}

function converseForm(body: Value): Value {
  const { system, messages = [], toolConfig, ...rest } = body;
  const part = (block: Value): Value =>
    block.toolResult?.status === "success"
      ? { ...block, toolResult: { ...block.toolResult, status: undefined } }
      : block;
  return {
    ...rest,
    inferenceConfig: isEmpty(rest.inferenceConfig) ? undefined : rest.inferenceConfig,
    system: systemWords(system),
    messages: turns(messages, "content").map((turn) => ({ ...turn, content: turn.content.map(part) })),
    toolConfig: toolConfig?.toolChoice?.auto ? { ...toolConfig, toolChoice: undefined } : toolConfig,
  };
}

/** What the gateway adds on purpose to a request of the same shape: it meters, and one bound has two names. */
function openaiForm(body: Value, recorded: Value): Value {
  const out = { ...body, stream: body.stream || undefined };
  if (!recorded.stream_options && JSON.stringify(out.stream_options) === '{"include_usage":true}')
    delete out.stream_options;
  if (!("model" in recorded)) delete out.model;
  if (
    recorded.max_tokens !== undefined &&
    out.max_tokens === undefined &&
    out.max_completion_tokens === recorded.max_tokens
  ) {
    out.max_tokens = out.max_completion_tokens;
    delete out.max_completion_tokens;
  }
  return out;
}

function cohereForm(body: Value): Value {
  return {
    ...body,
    stream: body.stream || undefined,
    messages: body.messages?.map((message: Value) => ({ ...message, content: asParts(message.content) })),
  };
}

/** It streams by default. */
const ollamaForm = (body: Value): Value => ({ ...body, stream: body.stream === false ? false : undefined });

const FORMS: Readonly<Record<string, (body: Value) => Value>> = {
  "anthropic-messages": (body) => anthropicForm(pruned(body)),
  gemini: geminiForm,
  "bedrock-converse": (body) => converseForm(pruned(body)),
  "cohere-v2": (body) => cohereForm(pruned(body)),
  "ollama-chat": (body) => ollamaForm(pruned(body)),
};

export function canonicalRequest(protocol: string, body: Value, recorded: Value): Value {
  const form = FORMS[protocol]?.(body) ?? openaiForm(pruned(body), recorded);
  return parsedArguments(pruned(form));
}

/** Arguments are JSON in a string: compared as JSON. */
function parsedArguments(value: Value): Value {
  if (Array.isArray(value)) return value.map(parsedArguments);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (key !== "arguments" || typeof member !== "string") return [key, parsedArguments(member)];
      try {
        return [key, JSON.parse(member)];
      } catch {
        return [key, member];
      }
    }),
  );
}

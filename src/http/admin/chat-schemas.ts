// The chat operation and the listings as OpenAPI schemas. Request fields come from the table in core/params.ts; the
// check of each field determines its type and bounds.
import { CATALOGUE, GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { COMMON, type Field, GATEWAY } from "../../core/params.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Values of each JSON type: a check that accepts the type accepts at least one of them. */
const PROBES: readonly (readonly [type: string, values: readonly Json[]])[] = [
  ["number", [0.5, 1, 5]],
  ["integer", [1, 0, 5]],
  ["string", ["a", "auto", "user", "low", "default", "http://a.example"]],
  ["boolean", [true, false]],
  ["array", [[], ["a"], ["text"]]],
  ["object", [{}, { a: "b" }, { type: "text" }]],
];

export function chatSchemas(): Readonly<Record<string, Schema>> {
  return {
    Error: {
      type: "object",
      required: ["error", "x_gateway_trace_id"],
      properties: {
        error: {
          type: "object",
          required: ["message", "type", "param", "code"],
          properties: {
            message: { type: "string" },
            type: { type: "string" },
            param: { type: ["string", "null"], description: "Path of the invalid field." },
            code: { type: "string", enum: Object.keys(CATALOGUE), description: "docs/errors.md explains each code." },
            metadata: { type: "object", additionalProperties: true },
          },
        },
        x_gateway_trace_id: { type: "string" },
      },
    },
    ChatMessage: {
      type: "object",
      required: ["role"],
      properties: {
        role: { type: "string", enum: ["system", "developer", "user", "assistant", "tool", "function"] },
        content: {
          description: "Text, or a list of blocks of text, images, audio, video and files.",
          type: ["string", "array", "null"],
          items: { type: "object", required: ["type"], properties: { type: { type: "string" } } },
        },
        name: { type: ["string", "null"] },
        tool_calls: { type: ["array", "null"], items: { type: "object", additionalProperties: true } },
        tool_call_id: { type: ["string", "null"] },
      },
      additionalProperties: true,
    },
    ChatRequest: {
      type: "object",
      required: ["messages"],
      description: "Fields that are not listed here are passed to the provider.",
      properties: {
        ...fields(GATEWAY),
        ...fields(COMMON),
        messages: { type: "array", minItems: 1, items: { $ref: "#/components/schemas/ChatMessage" } },
      },
      additionalProperties: true,
    },
    ChatAnswer: {
      type: "object",
      required: ["id", "object", "created", "model", "choices", "usage", "route", "x_gateway_trace_id"],
      properties: {
        id: { type: "string" },
        object: { const: "chat.completion" },
        created: { type: "integer" },
        model: { type: "string", description: "The model that answered, as `<provider>:<model_name>`." },
        route: { type: "string" },
        choices: {
          type: "array",
          items: {
            type: "object",
            required: ["index", "message", "finish_reason"],
            properties: {
              index: { type: "integer" },
              message: { $ref: "#/components/schemas/ChatMessage" },
              finish_reason: { type: "string" },
              logprobs: { type: ["object", "null"], additionalProperties: true },
            },
          },
        },
        usage: USAGE,
        x_gateway_trace_id: { type: "string" },
      },
      additionalProperties: true,
    },
    ChatChunk: {
      type: "object",
      description: "One event of a stream; the last one is `[DONE]`.",
      required: ["id", "object", "created", "model", "choices"],
      properties: {
        id: { type: "string" },
        object: { const: "chat.completion.chunk" },
        created: { type: "integer" },
        model: { type: "string" },
        route: { type: "string" },
        choices: { type: "array", items: { type: "object", additionalProperties: true } },
        x_gateway_trace_id: { type: "string" },
      },
      additionalProperties: true,
    },
    Model: {
      type: "object",
      required: ["id", "object", "created", "owned_by"],
      properties: {
        id: { type: "string" },
        object: { const: "model" },
        created: { type: "integer" },
        owned_by: { type: "string" },
        name: { type: "string" },
        context_length: { type: "integer" },
        supported_parameters: { type: "array", items: { type: "string" } },
        operations: { type: "array", items: { type: "string" } },
      },
      additionalProperties: true,
    },
    ModelList: {
      type: "object",
      required: ["object", "data"],
      properties: { object: { const: "list" }, data: { type: "array", items: { $ref: "#/components/schemas/Model" } } },
    },
    ModelParameters: {
      type: "object",
      description: "How a model handles each parameter.",
      additionalProperties: true,
    },
  };
}

const USAGE: Schema = {
  type: "object",
  required: ["prompt_tokens", "completion_tokens", "total_tokens"],
  properties: {
    prompt_tokens: { type: "integer" },
    completion_tokens: { type: "integer" },
    total_tokens: { type: "integer" },
  },
  additionalProperties: true,
};

function fields(table: Readonly<Record<string, Field>>): Schema {
  return Object.fromEntries(Object.entries(table).map(([name, field]) => [name, fieldSchema(name, field)]));
}

/** null means "not set" in every optional field. */
function fieldSchema(name: string, field: Field): Schema {
  const types = PROBES.filter(([, values]) => values.some((value) => refusal(name, field, value) === null)).map(
    ([type]) => type,
  );
  const known = types.includes("number") ? types.filter((type) => type !== "integer") : types;
  const message = refusal(name, field, -0.5) ?? refusal(name, field, "?") ?? "";
  const [, low, high] = /from (-?[\d.]+) to (-?[\d.]+)/.exec(message) ?? [];
  const bounds =
    low === undefined || high === undefined ? {} : { minimum: Number(low), maximum: Number(high.replace(/\.$/, "")) };
  return {
    ...(known.length > 0 && { type: [...known, "null"] }),
    ...(known.includes("array") && { items: {} }),
    ...bounds,
    description: field.meaning,
  };
}

/** The message with which the check rejects a value; null when it accepts the value. */
function refusal(name: string, field: Field, value: Json): string | null {
  try {
    field.check(value, name);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return thrown.message;
  }
}

const json = (name: string): Schema => ({ "application/json": { schema: { $ref: `#/components/schemas/${name}` } } });
const answer = (description: string, name: string): Schema => ({ description, content: json(name) });
export const REFUSED = {
  "4XX": { $ref: "#/components/responses/Refused" },
  "5XX": { $ref: "#/components/responses/Failed" },
} as const;
export const RESPONSES: Schema = {
  Refused: answer("The request is invalid or cannot be carried out.", "Error"),
  Failed: answer("The gateway or a provider failed.", "Error"),
};

/** Every path except those of the admin API. */
export function chatPaths(): Readonly<Record<string, Schema>> {
  return {
    "/api/v1/chat/completions": {
      post: {
        operationId: "createChatCompletion",
        tags: ["chat"],
        summary: "Create a chat completion",
        requestBody: { required: true, content: json("ChatRequest") },
        responses: {
          "200": {
            description: "The completion, or with `stream: true` a stream of chunks.",
            content: {
              ...json("ChatAnswer"),
              "text/event-stream": { schema: { $ref: "#/components/schemas/ChatChunk" } },
            },
          },
          ...REFUSED,
        },
      },
    },
    "/api/v1/models": {
      get: {
        operationId: "listModels",
        tags: ["models"],
        summary: "List the models and routes that the access token may call",
        responses: { "200": answer("Routes first, then models.", "ModelList"), ...REFUSED },
      },
    },
    "/api/v1/models/{model}": {
      get: {
        operationId: "readModel",
        tags: ["models"],
        summary: "One model or route",
        parameters: [{ name: "model", in: "path", required: true, schema: { type: "string" } }],
        responses: { "200": answer("The model.", "Model"), ...REFUSED },
      },
    },
    "/api/v1/params": {
      get: {
        operationId: "listParameters",
        tags: ["models"],
        summary: "How a model handles each parameter",
        parameters: [{ name: "model", in: "query", required: true, schema: { type: "string" } }],
        responses: { "200": answer("One entry for each parameter.", "ModelParameters"), ...REFUSED },
      },
    },
  };
}

// Schemas of what the Responses API answers, written from the vendor's pages: every member that an object must have, and
// no other. https://platform.openai.com/docs/api-reference/responses/object and .../responses-streaming; the members that
// Open Responses requires beside them: https://www.openresponses.org/specification
import { Ajv } from "ajv";

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const id: Schema = { type: "string", minLength: 1 };
const count: Schema = { type: "integer", minimum: 0 };
const flag: Schema = { type: "boolean" };
const any: Schema = {};
const named = (...values: readonly unknown[]): Schema => ({ enum: values });
const list = (items: Schema): Schema => ({ type: "array", items });
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const oneOf = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas });

/** An object with exactly these members, of which some may be absent. */
const exact = (required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  type: "object",
  required: Object.keys(required),
  properties: { ...required, ...optional },
  additionalProperties: false,
});

const logprob = { token: text, logprob: { type: "number" }, bytes: list(count) };
const logprobs = list(exact({ ...logprob, top_logprobs: list(exact(logprob)) }));
const annotation = oneOf(
  exact({ type: named("url_citation"), url: text, title: text, start_index: count, end_index: count }),
  exact({ type: named("file_citation"), file_id: text, index: count, filename: text }),
  exact({ type: named("file_path"), file_id: text, index: count }),
);
const outputText = exact({ type: named("output_text"), text, annotations: list(annotation), logprobs });
const refusal = exact({ type: named("refusal"), refusal: text });
const summaryText = exact({ type: named("summary_text"), text });
const reasoningText = exact({ type: named("reasoning_text"), text });
const status = named("in_progress", "completed", "incomplete");

const call = { id, call_id: id, status, name: id };
const items: Readonly<Record<string, Schema>> = {
  message: exact({
    id,
    type: named("message"),
    role: named("assistant"),
    status,
    content: list(oneOf(outputText, refusal)),
  }),
  reasoning: exact(
    { id, type: named("reasoning"), summary: list(summaryText) },
    { content: list(reasoningText), encrypted_content: text, status },
  ),
  function_call: exact({ ...call, type: named("function_call"), arguments: text }, { namespace: id }),
  custom_tool_call: exact({ ...call, type: named("custom_tool_call"), input: text }, { namespace: id }),
  tool_search_call: exact({
    id,
    type: named("tool_search_call"),
    status,
    call_id: orNull(id),
    execution: named("client", "server"),
    arguments: { type: "object" },
  }),
  mcp_list_tools: exact(
    {
      id,
      type: named("mcp_list_tools"),
      server_label: id,
      tools: list(
        exact(
          { name: id, input_schema: { type: "object" } },
          { description: orNull(text), annotations: orNull({ type: "object" }) },
        ),
      ),
    },
    { error: orNull(text) },
  ),
  mcp_call: exact(
    { id, type: named("mcp_call"), server_label: id, name: id, arguments: text },
    {
      status: named("in_progress", "completed", "incomplete", "calling", "failed"),
      output: orNull(text),
      error: orNull(exact({ type: named("mcp_tool_execution_error"), content: any })),
      approval_request_id: orNull(id),
    },
  ),
  mcp_approval_request: exact({
    id,
    type: named("mcp_approval_request"),
    server_label: id,
    name: id,
    arguments: text,
  }),
};
const item: Schema = {
  type: "object",
  required: ["type"],
  properties: { type: named(...Object.keys(items)) },
  allOf: Object.entries(items).map(([type, schema]) => ({
    if: { properties: { type: { const: type } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
    then: schema,
  })),
};

const usage = exact({
  input_tokens: count,
  input_tokens_details: exact({ cached_tokens: count }, { cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: exact({ reasoning_tokens: count }),
  total_tokens: count,
});

const response = exact({
  id: { type: "string", pattern: "^resp_" },
  object: named("response"),
  created_at: count,
  completed_at: orNull(count),
  status: named("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
  error: orNull(exact({ code: named("server_error", "rate_limit_exceeded", "invalid_prompt"), message: text })),
  incomplete_details: orNull(exact({ reason: named("max_output_tokens", "content_filter") })),
  model: text,
  output: list(item),
  usage: orNull(usage),
  instructions: orNull(text),
  max_output_tokens: orNull(count),
  max_tool_calls: orNull(count),
  metadata: { type: "object", additionalProperties: text },
  parallel_tool_calls: flag,
  previous_response_id: orNull(id),
  prompt_cache_key: orNull(text),
  reasoning: exact({ effort: orNull(text), summary: orNull(text) }),
  safety_identifier: orNull(text),
  service_tier: named("auto", "default", "flex", "scale", "priority"),
  store: flag,
  background: flag,
  temperature: { type: "number" },
  text: exact({ format: { type: "object", required: ["type"] } }, { verbosity: text }),
  tool_choice: oneOf(named("none", "auto", "required"), { type: "object", required: ["type"] }),
  tools: list({ type: "object", required: ["type"] }),
  top_logprobs: count,
  top_p: { type: "number" },
  presence_penalty: { type: "number" },
  frequency_penalty: { type: "number" },
  truncation: named("auto", "disabled"),
  user: orNull(text),
});

const inItem = { item_id: id, output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const part = oneOf(outputText, refusal, reasoningText);
const members: Readonly<Record<string, Record<string, Schema>>> = {
  "response.created": { response },
  "response.in_progress": { response },
  "response.completed": { response },
  "response.incomplete": { response },
  "response.failed": { response },
  "response.output_item.added": { output_index: count, item },
  "response.output_item.done": { output_index: count, item },
  "response.content_part.added": { ...inContent, part },
  "response.content_part.done": { ...inContent, part },
  "response.output_text.delta": { ...inContent, delta: text, logprobs },
  "response.output_text.done": { ...inContent, text, logprobs },
  "response.output_text.annotation.added": { ...inContent, annotation_index: count, annotation },
  "response.refusal.delta": { ...inContent, delta: text },
  "response.refusal.done": { ...inContent, refusal: text },
  "response.reasoning_text.delta": { ...inContent, delta: text },
  "response.reasoning_text.done": { ...inContent, text },
  "response.reasoning_summary_part.added": { ...inSummary, part: summaryText },
  "response.reasoning_summary_part.done": { ...inSummary, part: summaryText },
  "response.reasoning_summary_text.delta": { ...inSummary, delta: text },
  "response.reasoning_summary_text.done": { ...inSummary, text },
  "response.function_call_arguments.delta": { ...inItem, delta: text },
  "response.function_call_arguments.done": { ...inItem, name: id, arguments: text },
  "response.custom_tool_call_input.delta": { ...inItem, delta: text },
  "response.custom_tool_call_input.done": { ...inItem, input: text },
  "response.mcp_list_tools.in_progress": inItem,
  "response.mcp_list_tools.completed": inItem,
  "response.mcp_list_tools.failed": inItem,
  "response.mcp_call.in_progress": inItem,
  "response.mcp_call.completed": inItem,
  "response.mcp_call.failed": inItem,
  "response.mcp_call_arguments.delta": { ...inItem, delta: text },
  "response.mcp_call_arguments.done": { ...inItem, arguments: text },
  // the object in it is read by clients that do not read the members beside it
  error: { code: orNull(text), message: text, param: orNull(text), error: { type: "object" } },
};

const ajv = new Ajv({ strict: false, allErrors: true });
const ofResponse = ajv.compile(response);
const ofEvents = new Map(
  Object.entries(members).map(([type, own]) => [
    type,
    ajv.compile(exact({ type: named(type), sequence_number: count, ...own })),
  ]),
);

type Faults = readonly string[];

function faultsOf(check: ReturnType<Ajv["compile"]>, value: unknown): Faults {
  if (check(value)) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** What is wrong with a response object; empty where nothing is. */
export const responseFaults = (value: unknown): Faults => faultsOf(ofResponse, value);

/** What is wrong with an event; an event of an unknown type is wrong. */
export function eventFaults(event: { readonly type: string }): Faults {
  const check = ofEvents.get(event.type);
  return check === undefined
    ? [`${event.type} is no event of the API`]
    : faultsOf(check, event).map((fault) => `${event.type}: ${fault}`);
}

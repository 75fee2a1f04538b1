// Forms of clouds, scripted: Bedrock's Converse with its binary streams, a container of OpenAI's form on SageMaker, Gemini as Vertex AI serves it, and
// OpenAI's models on Azure. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
// https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpointWithResponseStream.html,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference, https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference
import { awsEventStream, awsMessage } from "../../harness/servers/aws-events.ts";
import type { ScriptedAnswer, ScriptedChoice } from "./scripted-answers.ts";
import { data, joined, told, type WireFailure, type WireFamily } from "./wire-family.ts";
import { anthropic, EMULATED_JSON_TOOL, gemini, geminiError, openai, openaiError } from "./wire-families.ts";

// --- Bedrock

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "content_filtered",
} as const;
type Block = Readonly<Record<string, any>>;

/** A request that forces the tool by which JSON mode is emulated gets its text as that tool's input, as the real one does. */
function converseBlocks(
  { reasoning, text, calls }: ScriptedChoice,
  request: Readonly<Record<string, any>>,
): readonly Block[] {
  if (isForcedJson(request))
    return [
      { toolUse: { toolUseId: "tooluse_json", name: EMULATED_JSON_TOOL, input: JSON.parse(joined(text)) as object } },
    ];
  return [
    ...(reasoning ? [{ reasoningContent: { reasoningText: { text: joined(reasoning), signature: "c2lnbmVk" } } }] : []),
    ...(text ? [{ text: joined(text) }] : []),
    ...(calls ?? []).map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })),
  ];
}
const isForcedJson = (request: Readonly<Record<string, any>>): boolean =>
  request["toolConfig"]?.toolChoice?.tool?.name === EMULATED_JSON_TOOL;

/** Only calls have a start of their own; a call without input has no delta. */
function converseBlockEvents(block: Block, contentBlockIndex: number): readonly (readonly [string, object])[] {
  const split = (text: string): readonly string[] => text.match(/[\s\S]{1,6}/gu) ?? [];
  const delta = (value: object) => ["contentBlockDelta", { contentBlockIndex, delta: value }] as const;
  const stop = ["contentBlockStop", { contentBlockIndex }] as const;
  const { toolUse, reasoningContent, text } = block;
  if (reasoningContent !== undefined) {
    const { text: thought, signature } = reasoningContent.reasoningText;
    return [
      ...split(thought).map((piece) => delta({ reasoningContent: { text: piece } })),
      delta({ reasoningContent: { signature } }),
      stop,
    ];
  }
  if (toolUse === undefined) return [...split(text).map((piece) => delta({ text: piece })), stop];
  const { toolUseId, name, input } = toolUse;
  const pieces = Object.keys(input).length === 0 ? [] : split(JSON.stringify(input));
  return [
    ["contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId, name } } }],
    ...pieces.map((piece) => delta({ toolUse: { input: piece } })),
    stop,
  ];
}

const converseUsage = ({ usage: { prompt, completion } }: ScriptedAnswer): object => ({
  inputTokens: prompt,
  outputTokens: completion,
  totalTokens: prompt + completion,
});
const converseEvents = (events: readonly (readonly [string, object])[]): Uint8Array =>
  awsEventStream(events.map(([event, value]) => ({ event, data: JSON.stringify(value) })));
const converseError = (
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): WireFailure =>
  told(
    status,
    { message },
    { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`, ...headers },
  );

export const bedrock: WireFamily = {
  whole(answer, request) {
    const [choice] = answer.choices;
    return {
      output: { message: { role: "assistant", content: converseBlocks(choice!, request) } },
      stopReason: isForcedJson(request) ? "tool_use" : STOP_REASONS[choice!.finish],
      usage: converseUsage(answer),
      metrics: { latencyMs: 7 },
    };
  },
  stream(answer, request) {
    const [choice] = answer.choices;
    const content = [
      ["messageStart", { role: "assistant" }] as const,
      ...converseBlocks(choice!, request).flatMap(converseBlockEvents),
    ];
    // nothing of the block's end has come when something else than the end follows
    if (answer.afterwards !== undefined) return converseEvents(content.slice(0, -1));
    const stopReason = isForcedJson(request) ? "tool_use" : STOP_REASONS[choice!.finish];
    return converseEvents([
      ...content,
      ["messageStop", { stopReason }],
      ["metadata", { usage: converseUsage(answer), metrics: { latencyMs: 7 } }],
    ]);
  },
  contentType: "application/vnd.amazon.eventstream",
  errorEvent: converseEvents([["internalServerException", { message: "The engine stopped." }]]),
  failures: {
    context: converseError(400, "ValidationException", "Input is too long for requested model."),
    "rate-limit": converseError(429, "ThrottlingException", "Too many requests, please wait before trying again.", {
      "retry-after": "0.02",
    }),
    "not-found": converseError(404, "ResourceNotFoundException", "Could not find the model gone."),
    "refused-key": converseError(
      403,
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
    ),
    server: converseError(
      500,
      "InternalServerException",
      "The system encountered an unexpected error during processing. Try your request again.",
    ),
    overloaded: converseError(503, "ServiceUnavailableException", "The model is overloaded. Try again later."),
    invalid: converseError(400, "ValidationException", "The value at temperature is wrong: the sum is odd"),
  },
};

// --- SageMaker

/** The container's events, cut where it happens: also inside of a character. */
function payloadParts(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const parts = Array.from({ length: Math.ceil(bytes.length / 41) }, (_, at) => bytes.subarray(at * 41, (at + 1) * 41));
  return Buffer.concat(
    parts.map((part) =>
      awsMessage(
        { ":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream" },
        part,
      ),
    ),
  );
}

/** A container's message is inside AWS's message about it. */
function fromContainer({ status, body }: WireFailure): WireFailure {
  const words = JSON.stringify(body);
  const kind = status < 500 ? "client" : "server";
  return told(424, {
    ErrorCode: `${kind.toUpperCase()}_ERROR_FROM_MODEL`,
    LogStreamArn: "arn:aws:logs:eu-central-1:123456789012:log-group:scripted",
    Message: `Received ${kind} error (${status}) from primary with message "${words}".`,
    OriginalMessage: words,
    OriginalStatusCode: status,
  });
}

export const sagemaker: WireFamily = {
  whole: (answer, request) => openai.whole(answer, request),
  stream: (answer, request) => payloadParts(openai.stream(answer, request) as string),
  contentType: "application/vnd.amazon.eventstream",
  errorEvent: awsMessage(
    { ":message-type": "exception", ":exception-type": "ModelStreamError", ":content-type": "application/json" },
    JSON.stringify({ Message: "The engine stopped.", ErrorCode: "StreamBroken" }),
  ),
  failures: {
    context: fromContainer(openai.failures.context),
    "rate-limit": bedrock.failures["rate-limit"],
    "not-found": told(400, { __type: "ValidationError", Message: "Endpoint gone of account 123456789012 not found." }),
    "refused-key": bedrock.failures["refused-key"],
    server: fromContainer(openai.failures.server),
    overloaded: fromContainer(openai.failures.overloaded),
    invalid: fromContainer(openai.failures.invalid),
  },
};

// --- Vertex AI

export const vertex: WireFamily = {
  ...gemini,
  failures: {
    ...gemini.failures,
    "not-found": told(
      404,
      geminiError(
        404,
        "NOT_FOUND",
        "Publisher Model `projects/scripted-project/locations/europe-west4/publishers/google/models/gone` was not found or your project does not have access to it.",
      ),
    ),
    "refused-key": told(
      401,
      geminiError(
        401,
        "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
      ),
    ),
  },
};

/** Claude in its own form, with Google in front of it. */
export const vertexClaude: WireFamily = {
  ...anthropic,
  failures: {
    ...anthropic.failures,
    "rate-limit": told(
      429,
      geminiError(
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-sonnet-4-5.",
      ),
      { "retry-after": "0.02" },
    ),
    "not-found": told(
      404,
      geminiError(
        404,
        "NOT_FOUND",
        "Publisher Model `projects/scripted-project/locations/europe-west4/publishers/anthropic/models/gone` was not found or your project does not have access to it.",
      ),
    ),
    "refused-key": vertex.failures["refused-key"],
  },
};

// --- Azure OpenAI

const HARMLESS = {
  hate: { filtered: false, severity: "safe" },
  violence: { filtered: false, severity: "safe" },
} as const;
/** What the service's filters found, in the prompt and in each choice. */
export const AZURE_PROMPT_FILTER = [{ prompt_index: 0, content_filter_results: HARMLESS }] as const;

export const azure: WireFamily = {
  ...openai,
  whole: (answer, request) => ({ ...openai.whole(answer, request), prompt_filter_results: AZURE_PROMPT_FILTER }),
  // a chunk without choices goes before everything else
  stream: (answer, request) =>
    data({ id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: AZURE_PROMPT_FILTER }) +
    (openai.stream(answer, request) as string),
  failures: {
    ...openai.failures,
    "rate-limit": told(
      429,
      {
        error: {
          code: "429",
          message:
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded the token rate limit of your current pricing tier.",
        },
      },
      { "retry-after-ms": "20" },
    ),
    "not-found": told(404, {
      error: {
        code: "DeploymentNotFound",
        message:
          "The API deployment gone for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
      },
    }),
    "refused-key": told(401, {
      error: {
        code: "401",
        message:
          "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription.",
      },
    }),
    invalid: told(
      400,
      openaiError("Invalid 'temperature': the sum is odd.", "invalid_request_error", null, "temperature"),
    ),
  },
};

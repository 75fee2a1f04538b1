// The internal language: OpenAI's chat completion wire types, with the wire's spelling, so that objects are passed and patched and unknown fields survive.
// https://platform.openai.com/docs/api-reference/chat
import type { CredentialForm, StoredCredential } from "./credential.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Permission } from "./identity.ts";
import type { ToolApproval } from "./tool.ts";

export const MESSAGE_ROLES = ["system", "developer", "user", "assistant", "function", "tool"] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

export interface Message extends JsonObject {
  readonly role: MessageRole;
  readonly content?: string | readonly ContentPart[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly function_call?: { readonly name: string; readonly arguments: string };
  readonly refusal?: string | null;
  /** Reasoning of an earlier answer, brought back by the client. */
  readonly reasoning_content?: string | null;
  /** Reasoning blocks with what the provider needs to take the turn back: signatures, encrypted parts. */
  readonly reasoning_details?: readonly ReasoningDetail[];
}

/** One block of reasoning, in the form that OpenRouter publishes: https://openrouter.ai/docs/use-cases/reasoning-tokens */
export interface ReasoningDetail extends JsonObject {
  readonly type: "reasoning.text" | "reasoning.encrypted" | "reasoning.summary";
  readonly text?: string;
  readonly summary?: string;
  /** The encrypted block of `reasoning.encrypted`. */
  readonly data?: string;
  readonly signature?: string | null;
  readonly format?: string;
  readonly index?: number;
}

/** The content block types of the specification. A provider's own further types are in its dialect. */
export const BLOCK_TYPES = ["text", "image_url", "input_audio", "video_url", "file", "document"] as const;
export type BlockType = (typeof BLOCK_TYPES)[number];

export interface ContentPart extends JsonObject {
  readonly type: string;
}
export interface TextPart extends ContentPart {
  readonly type: "text";
  readonly text: string;
}
export interface ImagePart extends ContentPart {
  readonly type: "image_url";
  readonly image_url: { readonly url: string; readonly detail?: string };
}
export interface AudioPart extends ContentPart {
  readonly type: "input_audio";
  readonly input_audio: { readonly data: string; readonly format: string };
}
export interface VideoPart extends ContentPart {
  readonly type: "video_url";
  readonly video_url: { readonly url: string };
}
export interface FilePart extends ContentPart {
  readonly type: "file";
  readonly file: { readonly file_id?: string; readonly filename?: string; readonly file_data?: string };
}
export interface DocumentPart extends ContentPart {
  readonly type: "document";
  readonly source: {
    readonly type: string;
    readonly media_type?: string;
    readonly data?: string;
    readonly url?: string;
  };
}

export interface ToolCall extends JsonObject {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  /** Opaque vendor data that belongs to the call, such as `google.thought_signature`. */
  readonly extra_content?: JsonObject;
}

export interface FunctionDefinition extends JsonObject {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; absent: no arguments. */
  readonly parameters?: JsonObject;
  readonly strict?: boolean | null;
}
export interface FunctionTool extends JsonObject {
  readonly type: "function";
  readonly function: FunctionDefinition;
}

export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly json_schema: {
        readonly name: string;
        readonly schema?: JsonObject;
        readonly strict?: boolean | null;
        readonly description?: string;
      };
    };

/**
 * The common parameters that the caller sent, with the wire's spelling; a key that was absent or null is absent.
 * `max_tokens` and `max_completion_tokens` are one bound (decisions 5.5): both stand here when either was sent. `functions` and
 * `function_call` never stand here: they have become `tools` and `tool_choice` (decisions 6.6).
 */
export interface ChatParams {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly n?: number;
  readonly stream?: boolean;
  readonly stream_options?: JsonObject & { readonly include_usage?: boolean };
  readonly stop?: string | readonly string[];
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly logit_bias?: JsonObject;
  readonly user?: string;
  readonly safety_identifier?: string;
  readonly response_format?: ResponseFormat;
  /** May be a RawNumber when the digits exceed a double. */
  readonly seed?: Json;
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: Json;
  readonly parallel_tool_calls?: boolean;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly reasoning_effort?: string;
  readonly verbosity?: string;
  readonly modalities?: readonly string[];
  readonly audio?: JsonObject;
  readonly prediction?: JsonObject;
  readonly service_tier?: string;
  readonly store?: boolean;
  readonly prompt_cache_key?: string;
  readonly web_search_options?: JsonObject;
  readonly deployment_id?: string;
  readonly initial_prompt_value?: string;
  readonly roles?: JsonObject;
  readonly final_prompt_value?: string;
  readonly bos_token?: string;
  readonly eos_token?: string;
  readonly hf_model_name?: string;
}

/** Values of provider settings that the request brings, by field; each fits `ADDRESS_WORD`. */
export type CallerSettings = Readonly<
  Partial<Record<"api_version" | "aws_region_name" | "vertex_project" | "vertex_location", string>>
>;

/** What the gateway itself acts on. */
export interface CallOptions {
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly route: string | null;
  readonly model: string | null;
  /** Wall clock of the whole operation; null: not sent. */
  readonly timeoutMs: number | null;
  readonly metadata: JsonObject | null;
  readonly dropParams: boolean | null;
  /** `headers` and `extra_headers` together, lower-case names, checked by decisions 2.10. */
  readonly headers: Readonly<Record<string, string>>;
  readonly baseUrl: string | null;
  /** The name under which the caller sent it, for errors. */
  readonly baseUrlField: "base_url" | "api_base";
  /** Credentials that the request brings, by form. */
  readonly credentials: ReadonlyMap<CredentialForm, { readonly stored: StoredCredential; readonly field: string }>;
  readonly settings: CallerSettings;
  /** The client spoke the deprecated `functions` form and is answered in it. */
  readonly legacyFunctions: boolean;
  /** The caller's own price, in rates of core/price.ts; each is null where it was not sent. Null: none was. */
  readonly ownPrice: { readonly prompt: number | null; readonly completion: number | null } | null;
  /** Further attempts at the same target; null: not sent. */
  readonly numRetries: number | null;
  /** What is tried in order when the attempts at the first target are spent (decisions 7.3). */
  readonly fallbacks: readonly RequestFallback[];
  /** Model, with or without its provider, to the model that is used when the conversation is too long for it. */
  readonly contextWindowFallbacks: ReadonlyMap<string, string>;
  /** The inline route of this one call; null: none. */
  readonly modelList: readonly ModelListEntry[] | null;
  /** `tools` of type mcp, which never stand in `params` (decisions 10.1). */
  readonly toolServers: readonly AskedToolServer[];
  /** Null: not sent. */
  readonly maxToolRounds: number | null;
  /** Special permissions that the request's fields ask for, each with the first field that does. */
  readonly needs: ReadonlyMap<Permission, string>;
}

/** An entry of `tools` of type mcp (decisions 10.1). */
export interface AskedToolServer {
  readonly label: string;
  /** `server_url`; null: it is a registered one. */
  readonly url: string | null;
  /** Lower-case names, checked by decisions 2.10. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: all that the server allows. */
  readonly allowedTools: readonly string[] | null;
  /** Null: what the server's own settings say. */
  readonly approval: ToolApproval | null;
  /** `tools[0]`, for errors. */
  readonly path: string;
}

/** An entry of `fallbacks`: a request of its own, made of the client's request and the parameters that stand here. At least one of model and route is set. */
export interface RequestFallback {
  readonly model: string | null;
  readonly route: string | null;
  /** As they were sent; null takes the request's own away. */
  readonly params: JsonObject;
  /** `fallbacks[0]`, for errors. */
  readonly path: string;
}

/** An entry of `model_list` (decisions 1.6). */
export interface ModelListEntry {
  /** What the request's `model` is compared with. */
  readonly modelName: string;
  /** `<provider>:<model_name>` */
  readonly model: string;
  /** `params` without `model`. */
  readonly params: JsonObject;
  readonly weight: number;
  readonly order: number;
  /** `model_list[0].params`, for errors. */
  readonly path: string;
}

/** Something in the request that only some vendors understand (decisions 5.7): refused unless the target's dialect names it. */
export interface VendorForm {
  readonly kind: "block" | "tool" | "tool_choice" | "message_rule";
  /** The block type, tool type, word, or the name of the relaxed rule. */
  readonly value: string;
  readonly path: string;
  /** The refusal, for targets whose dialect does not name it. */
  readonly message: string;
}

/** The text that the caller sent and where its top-level members stand in it, for targets of the same shape. */
export interface RequestSource {
  readonly text: string;
  readonly members: ReadonlyMap<string, MemberSpan>;
  /** Top-level members whose value in the request is no longer what the text says: legacy functions turned into tools. */
  readonly rewritten: ReadonlySet<string>;
}
/** Offsets into the text, in UTF-16 units: the opening quote of the key, the value's first, and one past the value's last. */
export interface MemberSpan {
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** What the gateway itself offers to the model beside the client's own functions (decisions 10.2). */
export interface OfferedTools {
  /** The request as it was sent: that is what rules of policies speak of. */
  readonly asked: ChatRequest;
  /** They stand behind the client's own in `params.tools`. */
  readonly functions: readonly FunctionTool[];
  /** Their names, by `toolPlace`. */
  readonly names: ReadonlyMap<string, string>;
  /** `asked`: as the request says; `auto`: nothing is forced any more; `none`: no tool may be called. */
  readonly choice: "asked" | "auto" | "none";
}

/**
 * What is known here of a conversation that another thread holds, because the body is too long for the thread that serves calls (decisions 5.8).
 * chat/long-requests.ts has the rest.
 */
export interface HeldConversation {
  readonly id: number;
  /** Members of the body that it holds as well: long ones that only pass through. */
  readonly members: readonly string[];
  readonly count: number;
  /** Messages by role, and parts by type. */
  readonly roles: Readonly<Record<string, number>>;
  readonly parts: Readonly<Record<string, number>>;
  /** Of its texts, and of the whole body. */
  readonly characters: number;
  readonly bodyCharacters: number;
  readonly promptTokens: number;
  /** Messages without what they say: of each role one, with every member that messages, parts and calls of that role have, so that it is known which a provider has no place for. */
  readonly skeleton: readonly Message[];
  /** Its first two messages as JSON, as far as a sticky route looks at them. */
  readonly opening: string;
  /** Types of blocks that stand there with the address of a file on the web. */
  readonly addressed: ReadonlySet<BlockType>;
  /** Calls at its end wait for their results. */
  readonly isUnanswered: boolean;
  /** What rules may be given of `members`: their JSON, or why a rule that asks for them fails; null: there are none. */
  readonly memberFacts: { readonly json: string } | { readonly fault: string } | null;
  /** Guards, by the ids of their policies, that put words in the place of what they found in it: they do it there, before it is written for a target. */
  readonly masks?: readonly string[];
  /** Which of the files that were fetched for it stand in the place of their addresses; left out: none. */
  readonly fill?: number;
}

export interface ChatRequest {
  /** Where `held` says that another thread has the conversation, what rounds of tools have put behind it. */
  readonly messages: readonly Message[];
  readonly held?: HeldConversation;
  readonly params: ChatParams;
  /** Fields outside the common set, `extra_body` merged in: they go to the provider untouched. */
  readonly extra: JsonObject;
  readonly options: CallOptions;
  /** Block types that occur, each with the path of its first occurrence. */
  readonly blocks: ReadonlyMap<BlockType, string>;
  readonly vendorForms: readonly VendorForm[];
  readonly source: RequestSource;
  /** Functions of tool servers that the gateway offers; null: none. */
  readonly offered: OfferedTools | null;
  /** Places of messages with images that came of tools: for a model that takes none they are told in words (decisions 10.2). */
  readonly toolImages: ReadonlySet<number>;
  /** What the parser changed, for `x-gateway-warnings`. */
  readonly warnings: readonly string[];
}

export const FINISH_REASONS = ["stop", "length", "tool_calls", "content_filter", "function_call"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

export function isFinishReason(value: unknown): value is FinishReason {
  return typeof value === "string" && (FINISH_REASONS as readonly string[]).includes(value);
}

export interface Usage extends JsonObject {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** `cache_write_1h_tokens`: those of `cache_write_tokens` that live for an hour. */
  readonly prompt_tokens_details?: JsonObject & {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly cache_write_1h_tokens?: number;
  };
  readonly completion_tokens_details?: JsonObject & { readonly reasoning_tokens?: number };
  /** What other models used within the call: a part of the figures above, at the prices of those models. */
  readonly other_models?: readonly (Usage & { readonly model: string })[];
}

/**
 * A whole answer as a provider's decoder gives it: OpenAI's shape, not yet complete or strict. The reply writer fills in what the schema
 * demands (`object`, `refusal`, `logprobs`, dense indexes, usage). `finish_reason` is one of ours or null; the vendor's own word, where it was
 * another, stands beside it as `native_finish_reason`. Unknown fields stay.
 */
export interface ChatAnswer extends JsonObject {
  readonly id?: string;
  readonly created?: number;
  readonly choices: readonly AnswerChoice[];
  readonly usage?: Usage | null;
}
export interface AnswerChoice extends JsonObject {
  readonly index?: number;
  readonly message: AnswerMessage;
  readonly finish_reason?: FinishReason | null;
  readonly native_finish_reason?: string | null;
  readonly logprobs?: JsonObject | null;
}
export interface AnswerMessage extends JsonObject {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly tool_calls?: readonly ToolCall[];
}

/**
 * One step of a stream as a provider's decoder gives it, as loose as ChatAnswer: role may be missing or repeated, several kinds of content
 * may share a delta, indexes may have holes. The stream grammar (chat/) makes it strict. `usage` may stand on any chunk; the last one counts.
 */
export interface ChatChunk extends JsonObject {
  readonly id?: string;
  readonly created?: number;
  readonly choices: readonly ChunkChoice[];
  readonly usage?: Usage | null;
}
export interface ChunkChoice extends JsonObject {
  readonly index?: number;
  readonly delta?: ChunkDelta;
  readonly finish_reason?: FinishReason | null;
  readonly native_finish_reason?: string | null;
  readonly logprobs?: JsonObject | null;
}
export interface ChunkDelta extends JsonObject {
  readonly role?: string;
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly tool_calls?: readonly ToolCallDelta[] | null;
}
/** `index` counts the calls of a choice; a decoder whose provider has none numbers them by order. */
export interface ToolCallDelta extends JsonObject {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
  readonly extra_content?: JsonObject;
}

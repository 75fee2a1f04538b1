// The internal representation of requests and answers: OpenAI's chat completion wire types with their wire spelling, so
// that objects can be passed on and patched, and unknown fields survive.
// https://platform.openai.com/docs/api-reference/chat
import type { BodyBounds } from "./request/body-bounds.ts";
import type { CacheRequest } from "./configured/cache.ts";
import type { CacheMarks } from "./configured/prompt-cache.ts";
import type { ClientDeviationName } from "./configured/client-deviations.ts";
import type { CredentialForm, StoredCredential } from "./configured/credential.ts";
import type { HeldBody } from "./request/held-body.ts";
import { isFilled, type Json, type JsonObject } from "./json.ts";
import type { JsonEdit } from "./request/json-edit.ts";
import type { Permission } from "./identity.ts";
import type { OperationName, TaskName } from "./operation.ts";
import type { RequestSource, Sourced } from "./request/request-source.ts";
import type { ToolApproval } from "./configured/tool.ts";
import type { VendorReference } from "./request/vendor-reference.ts";

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
  /** Reasoning of an earlier answer, sent back by the client. */
  readonly reasoning_content?: string | null;
  /**
   * Reasoning blocks with what the provider needs in order to accept the turn again: signatures and encrypted parts.
   */
  readonly reasoning_details?: readonly ReasoningDetail[];
}

/** What an answer may have in place of a text. Clients send it back as it came. */
const IN_PLACE_OF_TEXT = [
  "tool_calls",
  "function_call",
  "refusal",
  "audio",
  "images",
  "reasoning_content",
  "reasoning_details",
  "reasoning",
] as const;

/** Whether the message is one of the assistant that says something beside its content, which may then be null. */
export function saysMoreThanText(message: JsonObject): boolean {
  return message["role"] === "assistant" && IN_PLACE_OF_TEXT.some((name) => isFilled(message[name]));
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

/** The content block types of the specification. Further types of a single provider are in its dialect. */
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
  /** Opaque vendor data that belongs to the tool call, such as `google.thought_signature`. */
  readonly extra_content?: JsonObject;
}

export interface FunctionDefinition extends JsonObject {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; absent when the function takes none. */
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
 * The common parameters that the caller sent, with their wire spelling. A key that was absent or null in the request is
 * absent here. `max_tokens` and `max_completion_tokens` are one bound (promise 5.5): both are set when either was sent.
 * `functions` and `function_call` never occur here, because they have become `tools` and `tool_choice` (promise 6.6).
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
  /** This is a RawNumber when a double cannot hold the digits. */
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

/** Values of provider settings that the request contains, by field; each matches `ADDRESS_WORD`. */
export type CallerSettings = Readonly<
  Partial<Record<"api_version" | "aws_region_name" | "vertex_project" | "vertex_location", string>>
>;

/** The fields that the gateway itself acts on. */
export interface CallOptions {
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly route: string | null;
  readonly model: string | null;
  /** Wall-clock time for the whole operation; `null` when it was not sent. */
  readonly timeoutMs: number | null;
  readonly metadata: JsonObject | null;
  readonly dropParams: boolean | null;
  /** `headers` and `extra_headers` merged, with lower-case names, checked as promise 2.10 says. */
  readonly headers: Readonly<Record<string, string>>;
  readonly baseUrl: string | null;
  /** The name under which the caller sent the address, for errors. */
  readonly baseUrlField: "base_url" | "api_base";
  /** Credentials that the request contains, by form. */
  readonly credentials: ReadonlyMap<CredentialForm, { readonly stored: StoredCredential; readonly field: string }>;
  readonly settings: CallerSettings;
  /** The client has put members into `extra_body`, which only an encoder of the gateway writes into a body. */
  readonly hasExtraBody: boolean;
  /** The client used the deprecated `functions` form, so that its answer has that form too. */
  readonly legacyFunctions: boolean;
  /**
   * The caller's own price, in the rates of core/configured/price.ts. A rate that was not sent is `null`; the whole is `null` when
   * neither was.
   */
  readonly ownPrice: { readonly prompt: number | null; readonly completion: number | null } | null;
  /** What the request says of the response cache; `null` when it leaves it to its route or project. */
  readonly cache: CacheRequest | "off" | null;
  /** Further attempts at the same target; `null` when the field was not sent. */
  readonly numRetries: number | null;
  /** The fallbacks that are attempted in this order once the attempts at the first target are used up (promise 7.3). */
  readonly fallbacks: readonly RequestFallback[];
  /** Maps a model, with or without its provider, to the model to use when the conversation is too long for it. */
  readonly contextWindowFallbacks: ReadonlyMap<string, string>;
  /** The inline route of this one call; `null` when the request has none. */
  readonly modelList: readonly ModelListEntry[] | null;
  /** The entries of `tools` of type mcp, which never occur in `params` (promise 10.1). */
  readonly toolServers: readonly RequestedToolServer[];
  /** `null` when the field was not sent. */
  readonly maxToolRounds: number | null;
  /** Special permissions that fields of the request require, each with the first field that requires it. */
  readonly needs: ReadonlyMap<Permission, string>;
}

/** An entry of `tools` of type mcp (promise 10.1). */
export interface RequestedToolServer {
  readonly label: string;
  /** `server_url`; `null` when the entry names a registered server. */
  readonly url: string | null;
  /** Lower-case names, checked as promise 2.10 says. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null` when the request does not narrow what the server allows. */
  readonly allowedTools: readonly string[] | null;
  /** `null` when the server's own settings decide. */
  readonly approval: ToolApproval | null;
  /** The path of the entry, such as `tools[0]`, for errors. */
  readonly path: string;
}

/**
 * An entry of `fallbacks`: a request of its own, made of the client's request and these parameters. At least one of
 * model and route is set.
 */
export interface RequestFallback {
  readonly model: string | null;
  readonly route: string | null;
  /** The parameters as they were sent; `null` removes the request's own value. */
  readonly params: JsonObject;
  /** The path of the entry, such as `fallbacks[0]`, for errors. */
  readonly path: string;
}

/** An entry of `model_list` (promise 1.6). */
export interface ModelListEntry {
  /** The request's `model` is compared with this name. */
  readonly modelName: string;
  /** `<provider>:<model_name>` */
  readonly model: string;
  /** `params` without `model`. */
  readonly params: JsonObject;
  readonly weight: number;
  readonly order: number;
  /** The path of the parameters, such as `model_list[0].params`, for errors. */
  readonly path: string;
}

/**
 * Something in the request that only some vendors understand (promise 5.7). It is refused unless the target's dialect
 * names it.
 */
export interface VendorForm {
  readonly kind: "block" | "tool" | "tool_choice" | "message_rule";
  /** The block type, tool type or literal, or the name of the relaxed rule. */
  readonly value: string;
  readonly path: string;
  /** The error message for targets whose dialect does not name it. */
  readonly message: string;
}

/** What the gateway itself offers to the model beside the client's own functions (promise 10.2). */
export interface OfferedTools {
  /** The request as it was sent; rules of policies are evaluated on it. */
  readonly requested: ChatRequest;
  /** These functions follow the client's own in `params.tools`. */
  readonly functions: readonly FunctionTool[];
  /** The names of these functions, by `toolPlace`. */
  readonly names: ReadonlyMap<string, string>;
  /** `asked`: as the request says; `auto`: no tool call is forced any more; `none`: no tool may be called. */
  readonly choice: "asked" | "auto" | "none";
}

/** A tool call of the last turn that has no result, and its path in the request. */
export interface UnansweredCall {
  readonly call: ToolCall;
  readonly path: string;
}

/**
 * What this thread knows of a conversation that another thread holds, because the body is too long for the thread that
 * serves calls (promise 5.8). engine/long-bodies/long-requests.ts has the rest.
 */
export interface HeldConversation {
  readonly id: number;
  /** Other long members of the body that the other thread holds as well; they are only passed through. */
  readonly members: readonly string[];
  readonly count: number;
  /** The number of messages by role; `parts` is the number of content parts by type. */
  readonly roles: Readonly<Record<string, number>>;
  readonly parts: Readonly<Record<string, number>>;
  /** The characters of the conversation's texts; `bodyCharacters` counts the whole body. */
  readonly characters: number;
  readonly bodyCharacters: number;
  readonly promptTokens: number;
  /**
   * Messages without their text: one message for each role, with every member that messages, parts and tool calls of
   * that role have. They show which members a provider cannot represent.
   */
  readonly skeleton: readonly Message[];
  /** The client has set marks of the vendor's prompt cache in the body; absent where it has set none. */
  readonly isMarked?: true;
  /** The ids of things at vendors that the body holds; absent where it holds none. */
  readonly references?: readonly VendorReference[];
  /** The first two messages as JSON, as far as sticky routing uses them. */
  readonly opening: string;
  /** The roles that have a message without content. */
  readonly emptyRoles?: ReadonlySet<MessageRole>;
  /** Types of content blocks that contain the address of a file on the web. */
  readonly addressed: ReadonlySet<BlockType>;
  /** The tool calls at the end of the conversation that have no results yet, if the request names tool servers. */
  readonly unanswered: readonly UnansweredCall[];
  /**
   * Where the first `count` of the request's messages stand in the conversation: before the images that end it. All
   * other messages of the request follow the conversation; absent when all do.
   */
  readonly inserted?: { readonly at: number; readonly count: number };
  /**
   * What rules may read of `members`: their JSON, or why a rule that uses them fails; `null` when there are no such
   * members.
   */
  readonly memberFacts: { readonly json: string } | { readonly fault: string } | null;
  /**
   * Ids of the policies whose guards mask what they found in the conversation. The other thread masks it before it
   * writes the conversation for a target.
   */
  readonly masks?: readonly string[];
  /** Says which of the files that were fetched for the conversation replace their addresses; absent when none do. */
  readonly fill?: number;
  /** With what the other thread opens carriers of reasoning; absent where the client's form has none. */
  readonly carriers?: CarrierOpening;
}

/** Whose reasoning a carrier has, and which model it is for (promise 12.9). */
export interface CarrierPlace {
  readonly tenantId: string;
  readonly projectId: string;
  /** The id of the provider in the configuration. */
  readonly provider: string;
  readonly model: string;
}

/** What opens the carriers of one place. */
export interface CarrierOpening {
  /** The keys of the tenant. */
  readonly keys: readonly Uint8Array[];
  readonly place: CarrierPlace;
  /** The names of the credentials that the target is called with: what a vendor has encrypted is for one account. */
  readonly credentials: readonly string[];
  /** Ids of reasoning that the vendor stores for the project, and that need no content. */
  readonly known: readonly string[];
}

/**
 * What a client wrote in a form other than that of chat completions. The request has its translation; a target that
 * speaks the operation itself is sent what the client wrote.
 */
export interface WrittenRequest {
  /** The text of the body. It is empty where another thread holds the conversation. */
  readonly text: string;
  /** The parsed body; without `x_gateway`. */
  readonly body: JsonObject;
  readonly origins: Origins;
  /** What a chat completion cannot say of the body. */
  readonly untranslated: readonly Untranslated[];
  /**
   * Parameters of chat completions that stand for less than the client would miss: where a target lacks one, or takes
   * other values of it, the parameter is left out without `drop_params`, and named among the dropped ones.
   */
  readonly advisory: readonly Advisory[];
  /** The members of `x_gateway`. */
  readonly ownFields: readonly string[];
  /** What entries and targets of routes have added, with the names of chat completions; null removes a parameter. */
  readonly added: JsonObject;
  /** What the form has to remember of the request to write its answer; only the form itself reads it. */
  readonly memo: unknown;
  /**
   * What a target that speaks the operation is sent in place of members of the body, by their names; undefined removes
   * one. Absent where such a target takes all of them as they are.
   */
  readonly replaced?: JsonObject;
  /** What such a target is not sent of the members that it takes. Absent where that is nothing. */
  readonly removed?: readonly JsonEdit[];
  /** The ids of calls of tool servers that the client approves in the request. Absent where the form has no such place. */
  readonly approved?: readonly string[];
  /**
   * The tools of tool servers whose calls the client was asked to approve, as keys of `OfferedTools.names`, by the ids of
   * the calls.
   */
  readonly asked?: ReadonlyMap<string, string>;
  /** The most calls of tool servers; absent where the form or the client sets no bound. */
  readonly maxToolCalls?: number;
  /** Set where what the provider needs back of its reasoning is kept with the answer, and the client did not ask for it. */
  readonly keepsReasoning?: true;
  /** How long a summary of its reasoning the client asks for, in the words of the Responses API; absent without a wish. */
  readonly reasoningSummary?: string;
  /** Set where nothing is to be generated, so that an empty answer is what was asked for. */
  readonly asksForNothing?: true;
  /** Set where the request is fitted to a target that speaks the operation: how the text changes for it. */
  readonly edits?: readonly JsonEdit[];
  /** How guards mask the text for a target that speaks the operation. */
  readonly masks?: readonly JsonEdit[];
  /** Ids of the policies whose guards mask what they found in it, where another thread holds the body. */
  readonly maskedBy?: readonly string[];
  /** Set with `edits`: how the provider is asked for the operation. */
  readonly spoken?: SpokenOperation;
  /** With what the other thread opens carriers of reasoning; absent where the body has none. */
  readonly carriers?: CarrierOpening;
  /** What is known of the body where another thread holds it; `text` and `body` are empty then. */
  readonly held?: HeldBody;
  /** Set with `edits` where the gateway sets marks of the prompt cache in the text when it is written. */
  readonly cacheMarks?: CacheMarks;
  /** What such a target is sent in place of the client's own HTTP headers; an empty text stands for none. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a provider has to know to say how it speaks an operation. */
export interface SpokenOperation {
  readonly operation: OperationName;
  readonly circumstance: NativeCircumstance;
}

/** Why a provider is asked: its row says so, or the operator; `elsewhere` is an address that is not the row's own. */
export type NativeCircumstance = "row" | "elsewhere" | "set";

/** Where the parts of the translated request stand in the client's body, by their indexes, for errors. */
export interface Origins {
  readonly messages: readonly string[];
  /** Of the parts of each message, where they stand elsewhere than their message; null for a message of plain text. */
  readonly parts?: readonly (readonly string[] | null)[];
  readonly tools: readonly string[];
  /** Where parameters stand that a form has in several places, by their names in chat completions. */
  readonly params?: Readonly<Record<string, string>>;
}

/** A parameter that is left out where a target lacks it. */
export interface Advisory {
  readonly name: string;
  /** Set where that is done for a named client only. */
  readonly deviation?: ClientDeviationName;
}

/**
 * A part of a client's body that has no counterpart in a chat completion. A target that speaks the operation itself
 * takes it; every other target is sent the request without it, or is not called.
 */
export interface Untranslated {
  readonly path: string;
  /** The error message where it is refused, which begins with the path. */
  readonly message: string;
  /**
   * Where the request may go without it: `always`, because the answer means the same; `asked`, where `drop_params`
   * allows it; `never`. In the first two cases the answer's head names it among the dropped parameters.
   */
  readonly dropped: "always" | "asked" | "never";
  /** Set where it is left out `always` only for a named client. Where that is switched off, it is left out if `asked`. */
  readonly deviation?: ClientDeviationName;
  /** Set where the rules of the form do not allow the value: only the vendor of a target that speaks the form judges it. */
  readonly isInvalid?: true;
  /** The type and the name of a tool, or the label of its server, which rules of policies see; absent for any other part. */
  readonly tool?: { readonly type: string | null; readonly name: string | null };
}

/** What the engine has to know of an operation whose answers are values for inputs, and no generated text. */
export interface TaskRules {
  readonly name: TaskName;
  /** Parameters that a target may lack; it is then refused, or sent the request without them. */
  readonly parameters: ReadonlySet<string>;
  /** Members of a body that only the gateway writes. */
  readonly reserved: ReadonlySet<string>;
  /** Set where the client gets what the vendor said, in which guards on answers search texts. */
  readonly passesAnswer?: true;
}

/** What the engine has to know of an operation whose requests are raw prompts. */
export interface RawPromptRules {
  /** Members of a request that a target may lack; it is then refused, or sent the request without them. */
  readonly parameters: ReadonlySet<string>;
  /** Those of them that are a part of the prompt and are never left out. */
  readonly content: ReadonlySet<string>;
}

/** The form in which a client wrote its request: that of an operation. */
export interface RequestForm {
  /** Set where each message of the request is a raw prompt, which the model continues without roles and templates. */
  readonly rawPrompts?: RawPromptRules;
  /** Set where the answer is no generated text: each message of the request is one input. */
  readonly task?: TaskRules;
  /** Set where the answer is a count of the tokens of the request, which uses none and costs nothing (promise 12.11). */
  readonly counts?: true;
  /** Set where vendors that speak the form run the tools of servers that the caller names by address (promise 12.3). */
  readonly leavesServers?: true;
  /**
   * Turns the text of a body into a request, without I/O. `bounds` is null when the engine has made the text of parts
   * that were checked before: it then has the form of chat completions. Throws GatewayError, whose `param` is a path in
   * this form.
   */
  parse(text: string, bounds: BodyBounds | null): ChatRequest;
  /** Returns where the client's body has what chat completions name with `path`, such as `messages[2].content`. */
  pathOf(path: string, request: ChatRequest): string;
  /** The types of content blocks that have other names here than in chat completions, each by its name there. */
  readonly blockNames?: Readonly<Record<string, string>>;
  /**
   * Returns the request with the parameters of `added`, which have the names of chat completions and override its own;
   * null removes one. Address and credentials of the request are left out unless it `keepsEndpoint`. Throws as `parse`
   * does, with a path in `added`.
   */
  withEntry(request: ChatRequest, added: JsonObject, keepsEndpoint: boolean, author: EntryAuthor): ChatRequest;
  /** Set where a request can refer to what is kept of earlier answers (promise 12.8). */
  readonly keeping?: KeepingForm;
}

/** How requests of callers for whom answers are kept refer to those. Names and what is found are plain data. */
export interface KeepingForm {
  /** Returns false for bytes of a body that surely names nothing. */
  mayName(body: Uint8Array): boolean;
  /** Returns what a body names, or null where it names nothing. Throws as `parse` does. */
  namedIn(text: string, bounds: BodyBounds): unknown;
  /** Returns the form of a request for whose names this was found; null stands for a request that names nothing. */
  formWith(found: unknown): RequestForm;
}

/** Who wrote the parameters of an entry. Only what the caller wrote needs a permission of the caller (promise 6.5). */
export type EntryAuthor = "caller" | "configuration";

export interface ChatRequest {
  readonly form: RequestForm;
  /** Absent where the client wrote a chat completion. */
  readonly written?: WrittenRequest;
  /**
   * `client`: as the client sent it. `entry`: an entry of `fallbacks` or `model_list`, a fallback of a route, or a
   * target of a route has added parameters or another model, which makes it a request of its own for policies.
   */
  readonly variant: "client" | "entry";
  /** What the client's own entries have set, null included; absent in a request that is made of none. */
  readonly entryParams?: JsonObject;
  /**
   * Where `held` is set, another thread has the conversation, and these are only the messages that tool rounds have
   * added to it.
   */
  readonly messages: Sourced<readonly Message[]>;
  readonly held?: HeldConversation;
  readonly params: Sourced<ChatParams>;
  /** Fields outside the common set, merged with `extra_body`. They go to the provider untouched. */
  readonly extra: Sourced<JsonObject>;
  /** Names of such fields that only the configuration of the route has set; absent when there are none. */
  readonly configured?: ReadonlySet<string>;
  readonly options: CallOptions;
  /** Block types that occur, each with the path of its first occurrence. */
  readonly blocks: ReadonlyMap<BlockType, string>;
  readonly vendorForms: readonly VendorForm[];
  readonly source: RequestSource;
  /** Functions of tool servers that the gateway offers; `null` when it offers none. */
  readonly offered: OfferedTools | null;
  /**
   * Indexes of messages with images that tools returned. For a model that does not accept images, text describes them
   * (promise 10.2).
   */
  readonly toolImages: ReadonlySet<number>;
  /** What the parser changed, for the header `x-gateway-warnings`. */
  readonly warnings: readonly string[];
  /** Set in a request that is fitted to a target where the gateway sets marks of the prompt cache when it is written. */
  readonly cacheMarks?: CacheMarks;
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
  /** `cache_write_1h_tokens` is the part of `cache_write_tokens` that is cached for an hour. */
  readonly prompt_tokens_details?: JsonObject & {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly cache_write_1h_tokens?: number;
  };
  readonly completion_tokens_details?: JsonObject & { readonly reasoning_tokens?: number };
  /** What the provider bills in place of tokens for a ranking. */
  readonly search_units?: number;
  /** What the provider bills of the tokens of prompt and answer, where it does not bill all of them. */
  readonly billed_units?: JsonObject;
  /** How the provider says it served the call, where that is not as by default (`PriceFactor`). */
  readonly service_tier?: string;
  readonly inference_geo?: string;
  readonly speed?: string;
  readonly search_context_size?: string;
  /** How often the provider ran each of its own tools. */
  readonly hosted_tools?: Readonly<Record<string, number>>;
  /** What other models used within the call. It is part of the figures above, at the prices of those models. */
  readonly other_models?: readonly (Usage & { readonly model: string })[];
}

/**
 * A non-streaming answer as a provider's decoder returns it: in OpenAI's shape, but not yet complete or strict. The
 * reply writer fills in what the schema requires (`object`, `refusal`, `logprobs`, dense indexes, usage).
 * `finish_reason` is one of ours or null; where the vendor's own value differs, it is in `native_finish_reason`.
 * Unknown fields are kept.
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
 * One step of a stream as a provider's decoder yields it, as lenient as ChatAnswer: the role may be missing or
 * repeated, several kinds of content may share a delta, and indexes may have gaps. The stream normalizer in engine/ makes
 * it strict. `usage` may be on any chunk; the last one counts.
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
/** `index` numbers the tool calls of a choice. A decoder whose provider sends no index numbers them in order. */
export interface ToolCallDelta extends JsonObject {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
  readonly extra_content?: JsonObject;
}

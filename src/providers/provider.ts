// The interface of a provider: it only translates, and uses no clock, no environment and no socket.
// test/contract/provider.suite.ts is run against every provider.
import type { CapabilityTable } from "../core/capability.ts";
import type {
  BlockType,
  CallerSettings,
  ChatAnswer,
  ChatChunk,
  ChatRequest,
  MessageRole,
  NativeCircumstance,
  ReasoningDetail,
} from "../core/chat.ts";
import type { CredentialForm } from "../core/configured/credential.ts";
import type { Credential, ModelFacts, Target } from "../core/target.ts";
import type { CacheMarks } from "../core/configured/prompt-cache.ts";
import type { PricedTool } from "../core/configured/hosted-tool.ts";
import type { SearchUnitPrice } from "../core/configured/price.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import type { SseEvent } from "../wire/sse.ts";
import type { UpstreamRequest } from "../wire/upstream.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { JsonEdit } from "../core/request/json-edit.ts";
import type { OperationName, TaskName } from "../core/operation.ts";
import type { ConversationMembers } from "./conversation/conversation-members.ts";
import type { FollowUp } from "./answers/follow-up.ts";
import type { TaskValues } from "./tasks/task-values.ts";
import type { ProviderServiceType } from "../core/configured/outside-guard.ts";
import type { ProviderForm } from "./judging-form.ts";

/** Why a provider refused or failed. The class decides the status and whether the call is retried (promise 7.8). */
export type FailureClass =
  | "authentication"
  | "permission"
  | "not_found"
  /** Something that lives at the vendor and that the request names, other than the model. */
  | "reference"
  | "rate_limit"
  | "quota"
  | "context_length"
  | "content_policy"
  | "invalid_request"
  | "overloaded"
  | "server"
  | "timeout";

export interface UpstreamFailure {
  readonly class: FailureClass;
  /** The provider's own message, or the gateway's when the provider sent none. */
  readonly message: string;
  /** The field that the provider named. */
  readonly param: string | null;
  /** The provider's own code or type, for the record. */
  readonly nativeCode: string | null;
  /** How long the provider asks to wait, when its body says so and no header does. */
  readonly retryAfterMs?: number;
}

export interface ErrorAnswer {
  /** The HTTP status. For an error inside a 200 it is the status that the error itself names, or else 200. */
  readonly status: number;
  /** The body, or the data of the event that carried the error. */
  readonly body: string;
}

/** What only this vendor understands beyond the common forms (promise 5.7). */
export interface Dialect {
  readonly blocks: readonly string[];
  readonly tools: readonly string[];
  readonly toolChoices: readonly string[];
  readonly messageRules: readonly string[];
  /** Only an assistant message may follow tool results, so images from tools cannot follow in a user message. */
  readonly assistantAfterTools?: true;
}
export const PLAIN_DIALECT: Dialect = { blocks: [], tools: [], toolChoices: [], messageRules: [] };

/** Returns what one model understands. */
export function dialectOf(provider: Provider, model: string): Dialect {
  return provider.dialectOf?.(model) ?? provider.dialect;
}

/** What a decoder needs to know about the request that was sent. */
export interface DecodeContext {
  readonly model: string;
  /** The request had raw prompts. */
  readonly isRaw?: true;
  /**
   * Opaque to everything but the provider that encoded the request. It holds, for example, renamed tools or the forced
   * tool of an emulated JSON mode.
   */
  readonly memo: unknown;
}

export interface EncodedRequest {
  /** Unsigned: it holds no credential yet. */
  readonly request: UpstreamRequest;
  readonly memo: unknown;
  /**
   * Wire names under which common parameters were sent when they differ from the common name, for explain and the
   * record: `max_tokens -> max_output_tokens`.
   */
  readonly mapped?: readonly string[];
}

/** A value specific to the provider that its address or its requests contain: a region, a project, a version. */
export interface ProviderSetting {
  /** Its key in the file, in `Target.settings` and, in braces, in `baseUrl`. */
  readonly name: string;
  /** Environment variables that hold it. Error messages name the first one. */
  readonly variables: readonly string[];
  /** The field of a request that sets it for one call. */
  readonly field?: keyof CallerSettings;
  readonly default?: string;
  /** A description for the documentation. */
  readonly meaning: string;
}

/**
 * How a stream is cut into events. `ndjson`: each line is one JSON text and becomes an event without a name.
 * `aws-event-stream`: binary messages, each named by its event or exception type.
 */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** What a signature depends on beside the request. */
export interface SignContext {
  readonly nowMs: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Says which events may be written as an earlier one was. */
export interface EventPasses {
  /** Whether all of some events may, judged by their text as it came, their pieces apart. */
  events(text: string): boolean;
  /**
   * Returns what says it of further pieces of the text `name` in the delta of the choice `index`. A piece of which it
   * returns true counts as passed on.
   */
  pieces(index: number, name: string): (piece: string) => boolean;
}

/** A synchronous push decoder. Each stream has its own. */
export interface StreamDecoder {
  /** The data of events is the model's own text, in which `[DONE]` is ordinary text. */
  readonly isPlainText?: boolean;
  /**
   * Whether the protocol's own terminator has come, such as `[DONE]` or `message_stop`. Absent when the form has no
   * terminator beside the finish reason; `push` does not receive `[DONE]` then.
   */
  readonly isTerminated?: boolean;
  /**
   * Present when an event that brings a piece of text leaves no trace in the decoder but what `growth` takes, so that one
   * that differs from an earlier one only in its piece may be written in the same way without passing `push`; `true` where
   * all may.
   */
  readonly passes?: true | EventPasses;
  /**
   * Present where a piece of text belongs to what earlier events have begun, such as a block. Returns what takes further
   * pieces behind the last event: those that differ from it only in their piece of text need not pass `push`.
   */
  growth?(): (piece: string) => void;
  /** The member of an event that only pads it: it may differ from event to event, and no chunk has it. */
  readonly padding?: string;
  /** Returns the piece of text in the JSON of an event. Absent in the form of chat completions. */
  pieceIn?(event: Json): Json | undefined;
  /** Throws StreamError when the event carries an error of the provider. */
  push(event: SseEvent): readonly ChatChunk[];
  /**
   * Called at the end of the bytes. Returns what was still held back. The decoder does not decide whether the answer is
   * complete: without a finish reason and without the protocol's own terminator it was cut off (promise 8.3).
   */
  end(): readonly ChatChunk[];
}

/**
 * `inner` with another `push`, `end` and `passes`. All other properties reflect the present values of `inner`.
 */
export function decoderAround(
  inner: StreamDecoder,
  { push, end, passes }: Pick<StreamDecoder, "push" | "end" | "passes">,
): StreamDecoder {
  const around: StreamDecoder = {
    push,
    end,
    ...(passes !== undefined && { passes }),
    ...(inner.growth !== undefined && { growth: () => inner.growth!() }),
    ...(inner.padding !== undefined && { padding: inner.padding }),
    ...(inner.pieceIn !== undefined && { pieceIn: (event: Json) => inner.pieceIn!(event) }),
    ...(inner.isPlainText !== undefined && { isPlainText: inner.isPlainText }),
  };
  // Whether the form has a terminator is known from the start; whether the terminator has come changes.
  if (inner.isTerminated !== undefined)
    Object.defineProperty(around, "isTerminated", { enumerable: true, get: () => inner.isTerminated });
  return around;
}

/** An error that came inside a stream or inside a 200. */
export class StreamError extends Error {
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure) {
    super(failure.message);
    this.name = "StreamError";
    this.failure = failure;
  }
}

/** A response that violates the protocol. The fault is the provider's or a proxy's, and the client gets status 502. */
export class MalformedAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MalformedAnswer";
  }
}

/** What all who speak an operation have in common. */
export interface NativeForm {
  /** Where parameters of chat completions stand in the form, by their names there. Only those with the same value. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  /**
   * Members that choose a model, an address, a credential or a template that is stored at the vendor. They need the
   * permission `byo_endpoint`.
   */
  readonly privileged: readonly string[];
  /** Members of a tool that lead to an address or choose a credential, which need the same. */
  readonly privilegedInTools: readonly string[];
  /** Whether a tool of this type is run by the client. Every other tool runs at the vendor, also one of an unknown type. */
  isClientTool(tool: JsonObject, type: string): boolean;
  /** Names of members with ids of things that live at the vendor. */
  readonly vendorIds: readonly string[];
  /** Types of objects whose `id` is one of these; absent where there are none. */
  readonly referenceTypes?: readonly string[];
  /** Types of objects whose `id` is one where they have none of these members, which hold their content. */
  readonly emptyReferenceTypes?: Readonly<Record<string, readonly string[]>>;
  /** Members that only the gateway itself can do what they ask for; absent where there are none. */
  readonly ownMembers?: readonly string[];
  /** The member of a request that makes the vendor keep the conversation; absent where the form has no such member. */
  readonly threadMember?: string;
  /** Members for which the vendor keeps something of the answer, so that its id counts; absent where there are none. */
  readonly keptFor?: readonly string[];
  /**
   * Set where clients of the form read a refusal of a feature and ask again without it, so that the refusal is theirs and
   * leads to no other target unless the route says so.
   */
  readonly refusalsAreClients?: true;
  /** The header in which clients list features; absent where they list none. */
  readonly features?: FeatureHeader;
  /**
   * Returns the item or block in which the vendor takes its own reasoning back; null where these details are none of its
   * own. Absent where the form has no such place.
   */
  reasoningBack?(details: readonly ReasoningDetail[]): JsonObject | null;
  /** Returns the prompt of a body; null where the vendor has a part of the conversation that the body does not show. */
  prompt(body: JsonObject): NativePrompt | null;
  /** The members in which vendors seal their reasoning, by the types of the items and blocks that have one. */
  readonly reasoningSeals: Readonly<Record<string, string>>;
  /** The member that makes the vendor store the answer unless it is false; absent where the form has none. */
  readonly storeMember?: string;
  /** The member that lists what the answer shall include, and its item for encrypted reasoning; absent where there is none. */
  readonly reasoningMember?: { readonly name: string; readonly item: string };
}

/** The pieces of a prompt, in the order in which prompt caches read them. */
export interface NativePrompt {
  readonly tools: Json | undefined;
  readonly system: Json | undefined;
  readonly turns: Json | undefined;
}

/** A header of the client that lists features, with those that only their own vendor's platform has. */
export interface FeatureHeader {
  readonly name: string;
  readonly foreign: readonly {
    /** Matches the feature in the header. */
    readonly feature: RegExp;
    /** Beginnings of the strings in a body that uses the feature. The feature goes along with such a body. */
    readonly inBody: readonly string[];
  }[];
}

/**
 * How a provider is called for a model that speaks the operation of a call itself (promise 12.3): the client's own body
 * goes out, and the provider's own answer comes back. The answer is read only for its figures.
 */
export interface NativeOperation {
  /** The vendor's page. */
  readonly source: string;
  readonly form: NativeForm;
  readonly framing: Framing;
  /** The client's own HTTP headers that are sent along, in lower case. */
  readonly clientHeaders: readonly string[];
  /** Members of the query of the client's own request that are sent along. */
  readonly clientQuery: readonly string[];
  /**
   * Returns the changes that set marks of the prompt cache in a body that has none, where the provider has `cacheMarks`
   * for the model. `edits` are the changes that the body gets before. Absent where the gateway sets none.
   */
  markEdits?(body: JsonObject, edits: readonly JsonEdit[], marks: CacheMarks): readonly JsonEdit[];
  /** Set where the platform lacks the foreign features of the form. */
  readonly lacksFeatures?: true;
  /** The models that are known to encrypt their reasoning where the request asks for it; absent where none is. */
  readonly encryptedReasoning?: RegExp;
  /** Matches signatures that are known to be of other vendors, whose reasoning this one refuses. Signatures of unknown origin are sent. */
  readonly foreignSeal?: RegExp;
  /** Reasoning as text without a seal is refused. */
  readonly refusesOpenReasoning?: true;
  /** Set where the platform keeps conversations for the thread member of the form. */
  readonly keepsThreads?: true;
  /** Headers of the provider's response that the client receives, in lower case. */
  readonly answerHeaders: readonly string[];
  /** `request` has the client's own body with its edits. Throws GatewayError. */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  /**
   * `value` is what the body says, where it was parsed before. Throws StreamError for an error inside a 200, and
   * MalformedAnswer for a body that is not an answer.
   */
  decodeResponse(body: string, context: DecodeContext, value?: JsonObject): ChatAnswer;
  openStream(context: DecodeContext): StreamDecoder;
  /** Returns an event of the operation for one of the stream; null for one that holds none. Absent where both are equal. */
  eventIn?(event: SseEvent): SseEvent | null;
  /**
   * Returns the body of a refusal in the form of the operation; null for a body that cannot be shown in it. Absent where
   * the provider refuses in that form.
   */
  refusalIn?(body: string): string | null;
}

/**
 * How one model does a task: something for a list of inputs, where the answer is no generated text. A request has one
 * message for each input.
 */
export interface TaskForm<Value> {
  /** The vendor's page. */
  readonly docs: string;
  /** The most inputs of one upstream request. */
  readonly mostInputs: number;
  /** The parameters of the operation that the model takes, under the operation's own names. */
  readonly takes: ReadonlySet<string>;
  /** Estimates what is billed for so many inputs, at a vendor that bills search units in place of tokens. */
  searchUnits?(inputs: number): number;
  /** The response header with the number of tokens, where the answer itself has none. */
  readonly tokenHeader?: string;
  /** Writes the request for these inputs. Throws GatewayError with the path. */
  encode(request: ChatRequest, target: Target): EncodedRequest;
  /** Throws StreamError for an error inside a 200, and MalformedAnswer for values that do not fit the inputs. */
  decode(body: string, context: DecodeContext): TaskAnswer<Value>;
}

export interface TaskAnswer<Value> {
  /** One value for each input, in the order of the inputs, unless the operation says otherwise. */
  readonly values: readonly Value[];
  /** What the provider counted; `null` where it tells nothing. */
  readonly tokens: number | null;
  /** The provider's own figures, where the operation passes them on. */
  readonly usage?: JsonObject;
  /** The model that answered, as the provider reports it. */
  readonly model: unknown;
  /** What the vendor says it bills, where it does not bill tokens. */
  readonly searchUnits?: number;
}

/** The tasks of a provider. Each returns `null` for a model that does not do it. */
export type Tasks = {
  readonly [Name in TaskName]?: (model: string) => TaskForm<TaskValues[Name]> | null;
};

/** How a provider is called for a raw prompt: a text or tokens that the model continues, without roles and templates. */
export interface RawPrompts extends Pick<
  Provider,
  | "framing"
  | "capabilities"
  | "conversation"
  | "reserved"
  | "encodeRequest"
  | "decodeResponse"
  | "openStream"
  | "classifyError"
> {
  /** The vendor's page. */
  readonly source: string;
  /** Whether the model takes nothing else, so that it has no conversations. */
  readonly isAlone: boolean;
  /** The most prompts of one upstream request. */
  readonly mostPrompts: number;
  /** Whether a prompt may be a list of token ids. */
  readonly takesTokens: boolean;
  /** The members of the operation that it takes, of those that not every endpoint has. */
  readonly takes: ReadonlySet<string>;
}

/** What most providers have in common, to be spread into a provider. */
export const PLAIN_PROVIDER = {
  baseUrlVariables: [],
  credentials: ["key"],
  settings: [],
  framing: "sse",
  privileged: new Set<string>(),
  clientHeaders: [],
  inlines: () => NOTHING_INLINED,
  requestIds: ["x-request-id"],
} as const satisfies Partial<Provider>;
const NOTHING_INLINED: ReadonlySet<BlockType> = new Set();

export interface Provider {
  /** The id of the family or row. It stands before the colon in a model's name. */
  readonly id: string;
  readonly label: string;
  /**
   * The vendor's name in OpenTelemetry's list
   * (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/). Absent when the list does not have the
   * vendor, or has it under this provider's id.
   */
  readonly vendor?: string;
  /** The vendor's page for this API. */
  readonly docs: string;
  /**
   * What the vendor's own client library calls its base URL, with settings in braces. `null` when every user has a
   * different address.
   */
  readonly baseUrl: string | null;
  /** Environment variables that hold the address, when every user has a different one. */
  readonly baseUrlVariables: readonly string[];
  /** Environment variables that hold the key. Errors name the first one. Empty when no key is needed. */
  readonly keyVariables: readonly string[];
  /** The forms of credentials with which it can be called. A bare `api_key` is taken for the first form. */
  readonly credentials: readonly CredentialForm[];
  readonly settings: readonly ProviderSetting[];
  readonly framing: Framing;
  /**
   * Response headers, in lower case, that may hold the provider's own id of the request. The first one that is present
   * counts (promise 9.8).
   */
  readonly requestIds: readonly string[];
  /**
   * Roles whose messages are left out when they are empty, because the vendor refuses them. What is left out is
   * reported. Absent when the vendor accepts empty messages of every role.
   */
  leavesOutEmpty?(model: string): ReadonlySet<MessageRole>;
  /**
   * Content blocks whose addresses the gateway fetches, because this model accepts only bytes. They come to the encoder
   * as data URIs.
   */
  inlines(model: string): ReadonlySet<BlockType>;
  /**
   * Its id in the catalogue of models and prices (accounting/model-catalogue.ts). When absent, the provider's own id is
   * looked up there. With `null`, nothing is looked up.
   */
  readonly catalogue?: string | null;
  /** The names in that catalogue that this API serves. When absent, it serves all of them. */
  readonly listed?: RegExp;
  /** What the provider's own table knows about a model. */
  facts?(model: string): Partial<ModelFacts>;
  readonly capabilities: CapabilityTable;
  /** What its models understand, taken together. */
  readonly dialect: Dialect;
  /** Where the dialect depends on the model: that of one model. */
  dialectOf?(model: string): Dialect;
  /** What messages, content parts and tool calls may hold for this target (promise 6.10). */
  conversation(target: Target): ConversationMembers;
  /**
   * How the target takes marks of its vendor's prompt cache, which are members `cache_control` of messages and tools
   * (promise 16.2); null where it takes none. Absent where no model of the provider does.
   */
  cacheMarks?(target: Target): CacheMarks | null;
  /** True when the wire form is OpenAI's own: the provider then determines the finish reasons (promise 8.6). */
  readonly sameShape: boolean;
  /**
   * Wire names that a pass-through may not set: model, conversation, system, output bound, number of answers, tools,
   * streaming (promise 6.5).
   */
  readonly reserved: ReadonlySet<string>;
  /**
   * Pass-through names that widen the choice of model or provider, or lead to an address. They need the permission
   * `byo_endpoint`.
   */
  readonly privileged: ReadonlySet<string>;

  /**
   * The client's own HTTP headers that are forwarded with a chat completion, in lower case (promise 2.10). Only this
   * vendor understands them, and none of them is a credential.
   */
  readonly clientHeaders: readonly string[];
  /** Members of the query that are forwarded; absent where there are none. */
  readonly clientQuery?: readonly string[];

  /** Tools that it runs itself at a price for each use; absent where there are none. */
  readonly hostedTools?: readonly PricedTool[];

  /** Set where it has no conversations. */
  readonly hasOnlyTasks?: true;
  /** Prices of rankings that it bills in search units; absent where there are none. */
  readonly searchUnits?: readonly SearchUnitPrice[];

  /** What it does beside chat completions, where the answer is no generated text. Absent when it does nothing else. */
  readonly tasks?: Tasks;
  /** How its services judge texts for guards; absent where it has none. */
  readonly judging?: Readonly<Partial<Record<ProviderServiceType, ProviderForm>>>;

  /**
   * `request` has been fitted to the target: what the target does not accept has been removed. Throws GatewayError
   * `unsupported_value` or `invalid_request` with the path.
   */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  /**
   * How a model is called that speaks this operation itself; null where it does not, or where that is unknown. Returns
   * the same object each time. Absent where no model does.
   */
  native?(operation: OperationName, model: string, circumstance: NativeCircumstance): NativeOperation | null;
  /**
   * How a model that takes raw prompts is called with one; null for any other model. With `isSet`, the operator says that
   * the model takes them. Absent where no model does.
   */
  rawPrompts?(model: string, isSet: boolean): RawPrompts | null;
  /** Adds the credential. With `null`, the provider is called without one. */
  sign(request: UpstreamRequest, credential: Credential | null, context: SignContext): MaybePromise<UpstreamRequest>;
  /**
   * The request that has to follow on this response, or `null` when the response is the answer. Absent when the
   * provider never needs one. Throws as decodeResponse does.
   */
  followUp?(body: string, context: DecodeContext): FollowUp | null;
  /**
   * `value` is what the body says, where it was parsed before; a provider may parse it again. Throws StreamError for an
   * error inside a 200, and MalformedAnswer for a body that is not an answer.
   */
  decodeResponse(body: string, context: DecodeContext, value?: JsonObject): ChatAnswer;
  openStream(context: DecodeContext): StreamDecoder;
  classifyError(answer: ErrorAnswer): UpstreamFailure;
}

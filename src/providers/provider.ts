// What a provider is to the gateway: pure translation. No clock, no environment, no socket. test/contract/provider.suite.ts is run against every one.
import type { CapabilityTable } from "../core/capability.ts";
import type { BlockType, CallerSettings, ChatAnswer, ChatChunk, ChatRequest, MessageRole } from "../core/chat.ts";
import type { CredentialForm } from "../core/credential.ts";
import type { Credential, ModelFacts, Target } from "../core/target.ts";
import type { SseEvent } from "../wire/sse.ts";
import type { UpstreamRequest } from "../wire/upstream.ts";
import type { ConversationMembers } from "./conversation-members.ts";

/** Why a provider refused or failed, in the classes that decide status and retry (decisions 7.8). */
export type FailureClass =
  | "authentication"
  | "permission"
  | "not_found"
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
  /** The provider's own words, or ours when it had none. */
  readonly message: string;
  /** The field that the provider named. */
  readonly param: string | null;
  /** The provider's own code or type, for the record. */
  readonly nativeCode: string | null;
  /** How long the provider says to wait, where the body says it and no header does. */
  readonly retryAfterMs?: number;
}

export interface ErrorAnswer {
  /** The HTTP status; for an error inside a 200 the status that the error itself names, else 200. */
  readonly status: number;
  /** The body, or the data of the event that carried the error. */
  readonly body: string;
}

/** What only this vendor understands beyond the common forms (decisions 5.7). */
export interface Dialect {
  readonly blocks: readonly string[];
  readonly tools: readonly string[];
  readonly toolChoices: readonly string[];
  readonly messageRules: readonly string[];
  /** After results of tools only the assistant may speak: images that came of them cannot follow in a message of the user. */
  readonly assistantAfterTools?: true;
}
export const PLAIN_DIALECT: Dialect = { blocks: [], tools: [], toolChoices: [], messageRules: [] };

/** What the decoder needs to know of the request that it answers. */
export interface DecodeContext {
  readonly model: string;
  /** Opaque to all but the provider that encoded the request: renamed tools, the forced tool of an emulated JSON mode. */
  readonly memo: unknown;
}

export interface EncodedRequest {
  /** Unsigned: no credential in it yet. */
  readonly request: UpstreamRequest;
  readonly memo: unknown;
  /** Wire names under which a common parameter left when it was not its own, for explain and the record: `max_tokens -> max_output_tokens`. */
  readonly mapped?: readonly string[];
}

/** A value of the provider's own that stands in its address or its requests: a region, a project, a version. */
export interface ProviderSetting {
  /** Its key in the file, in `Target.settings` and, in braces, in `baseUrl`. */
  readonly name: string;
  /** Environment variables that hold it, the one for messages first. */
  readonly variables: readonly string[];
  /** Field of a request that sets it for one call. */
  readonly field?: keyof CallerSettings;
  readonly default?: string;
  /** For the documentation. */
  readonly meaning: string;
}

/** How a stream is cut into events. `ndjson`: one JSON text a line, as events without a name. `aws-event-stream`: binary messages, named by their event or exception type. */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** What a signature needs to know beyond the request. */
export interface SignContext {
  readonly nowMs: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Another request that has to follow before there is an answer: the next look at a job, the stream of one that was made. */
export interface FollowUp {
  /** Unsigned. On the host of the first request, or on one that the provider's own code names: never on one that an answer names. */
  readonly request: UpstreamRequest;
  readonly waitMs: number;
}

/** A synchronous push decoder, one for each stream. */
export interface StreamDecoder {
  /** The data of events is the model's own text, in which `[DONE]` is a word like others. */
  readonly isPlainText?: boolean;
  /** The protocol's own terminator has come: `[DONE]`, `message_stop`. Absent: the form has none beside the finish reason, and `push` is not given `[DONE]`. */
  readonly isTerminated?: boolean;
  /** Throws StreamError when the event carries the provider's error. */
  push(event: SseEvent): readonly ChatChunk[];
  /**
   * At the end of the bytes. Gives what is still held back. Whether the answer is complete is not the decoder's to say: without a finish reason and
   * without the protocol's own terminator it was cut (decisions 8.3).
   */
  end(): readonly ChatChunk[];
}

/** `inner` with another `push` and `end`. Everything else that it says of its stream stays what it says at that moment. */
export function decoderAround(inner: StreamDecoder, { push, end }: Pick<StreamDecoder, "push" | "end">): StreamDecoder {
  const around: StreamDecoder = {
    push,
    end,
    ...(inner.isPlainText !== undefined && { isPlainText: inner.isPlainText }),
  };
  // whether the form has a terminator is known from the start, and whether it has come changes
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

/** An answer that is not what the protocol says: the provider's or a proxy's fault, 502. */
export class MalformedAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MalformedAnswer";
  }
}

/** What most providers have in common, to spread into one. */
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
  /** Id of the family or row: what stands before the colon of a model. */
  readonly id: string;
  readonly label: string;
  /** The vendor by its name in OpenTelemetry's list (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/). Absent: it has none there, or its own id. */
  readonly vendor?: string;
  /** The vendor's page for this API. */
  readonly docs: string;
  /** What the vendor's own client library takes as its base URL, with settings in braces; null where every user has their own. */
  readonly baseUrl: string | null;
  /** Environment variables that hold the address, where every user has their own. */
  readonly baseUrlVariables: readonly string[];
  /** Environment variables that hold the key, the first one named in errors. Empty: needs no key. */
  readonly keyVariables: readonly string[];
  /** What it can be called with; the first is what a bare `api_key` is taken for. */
  readonly credentials: readonly CredentialForm[];
  readonly settings: readonly ProviderSetting[];
  readonly framing: Framing;
  /** Headers of its answers, in lower case, that may hold its own id of the request: the first that is there counts (decisions 9.8). */
  readonly requestIds: readonly string[];
  /** Roles whose messages are left out where they say nothing, because the vendor refuses them; that is told. Absent: none. */
  leavesOutEmpty?(model: string): ReadonlySet<MessageRole>;
  /** Content blocks whose addresses the gateway fetches, because this model takes bytes only: they come to the encoder as data URIs. */
  inlines(model: string): ReadonlySet<BlockType>;
  /** Its id in the catalogue of models and prices (accounting/model-catalogue.ts). Absent: its own id, where the catalogue has it. Null: not looked for. */
  readonly catalogue?: string | null;
  /** The names of that catalogue that this API serves. Absent: all. */
  readonly listed?: RegExp;
  /** What its own table says of a model. */
  facts?(model: string): Partial<ModelFacts>;
  readonly capabilities: CapabilityTable;
  readonly dialect: Dialect;
  /** What messages, content parts and calls may hold for this target (decisions 6.10). */
  conversation(target: Target): ConversationMembers;
  /** True when the wire form is OpenAI's own: finish reasons are then the provider's to say (decisions 8.6). */
  readonly sameShape: boolean;
  /** Wire names that a pass-through may not set: model, conversation, system, output bound, number of answers, tools, streaming (decisions 6.5). */
  readonly reserved: ReadonlySet<string>;
  /** Pass-through names that widen the choice of model or provider, or reach an address, and need `byo_endpoint`. */
  readonly privileged: ReadonlySet<string>;

  /** The client's own HTTP headers that go on with a chat completion, in lower case (decisions 2.10): what only this vendor understands, and no credential. */
  readonly clientHeaders: readonly string[];

  /** `request` has been fitted to the target: what it cannot take is gone. Throws GatewayError `unsupported_value`, `invalid_request` with the path. */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  /** Adds the credential. Null: the provider is called without one. */
  sign(
    request: UpstreamRequest,
    credential: Credential | null,
    context: SignContext,
  ): UpstreamRequest | Promise<UpstreamRequest>;
  /** The request that has to follow on this answer, or null when it is the answer. Absent: no answer of this provider needs one. Throws as decodeResponse does. */
  followUp?(body: string, context: DecodeContext): FollowUp | null;
  /** Throws StreamError for an error inside a 200, MalformedAnswer for what is no answer. */
  decodeResponse(body: string, context: DecodeContext): ChatAnswer;
  openStream(context: DecodeContext): StreamDecoder;
  classifyError(answer: ErrorAnswer): UpstreamFailure;
}

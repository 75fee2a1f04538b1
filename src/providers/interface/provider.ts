// The interface of a provider: it only translates, and uses no clock, no environment and no socket.
// test/contract/providers/provider.suite.ts is run against every provider.

// Decides (the request): How does a request get its credential or signature? By: `sign`. Also: called by
// `engine/attempt/upstream-requests.ts`; `providers/credentials/aws-signature.ts`, `key-header.ts`. Rule: Last of all, so
// that a signature is over the bytes that leave.
import { PLAIN_DIALECT } from "./dialect.ts";
import type { BlockType, ChatAnswer, ChatParams, ChatRequest, NativeCircumstance } from "../../core/chat.ts";
import type { Credential, Target } from "../../core/target.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import type { JsonObject } from "../../core/json.ts";
import type { OperationName } from "../../core/operation.ts";
import type { ProviderServiceType } from "../../core/configured/outside-guard.ts";
import type { FollowUp } from "../answers/follow-up.ts";
import type { ProviderForm } from "./judging-form.ts";
import type { ErrorAnswer, UpstreamFailure } from "./upstream-failure.ts";
import type { DecodeContext, EncodedRequest, JoinedText } from "./encoded-request.ts";
import type { StreamDecoder } from "./stream-decoder.ts";
import type { NativeOperation } from "./native-operation.ts";
import type { Tasks } from "./task-form.ts";
import type { ProviderDeclaration } from "./provider-declaration.ts";

/** What a signature depends on beside the request. */
export interface SignContext {
  readonly nowMs: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** The interface of a provider. */
export interface Provider extends ProviderDeclaration {
  /** What it does beside chat completions, where the answer is no generated text. Absent when it does nothing else. */
  readonly tasks?: Tasks;
  /** How its services judge texts for guards; absent where it has none. */
  readonly judging?: Readonly<Partial<Record<ProviderServiceType, ProviderForm>>>;

  /**
   * `request` has been fitted to the target: what the target does not accept has been removed. Throws GatewayError
   * `unsupported_value`, `unsupported_content_block`, `invalid_request` or `reserved_parameter` with the path.
   */
  encodeRequest(request: ChatRequest, target: Target): EncodedRequest;
  /**
   * The texts that encodeRequest makes of several texts of this request, made by the same functions; empty where it sends
   * each by itself. Absent where it always does. Throws as encodeRequest does.
   */
  joinedTexts?(request: ChatRequest, target: Target): readonly JoinedText[];
  /**
   * How a model is called that speaks this operation itself; null where it does not, or where that is unknown. Returns
   * the same object each time. Absent where no model does.
   */
  native?(operation: OperationName, model: string, circumstance: NativeCircumstance): NativeOperation | null;
  /** How conversations are asked for that chat completions refuse although the model speaks them. Absent where there are none. */
  readonly otherwise?: OtherOperation;
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
  /** Accepts any body and never throws. */
  classifyError(answer: ErrorAnswer): UpstreamFailure;
  /** Returns the field of a chat completion for one that an error of a model names. Absent where they have the same names. */
  chatFieldOf?(place: string, model: string): string;
}

/** Another operation of the vendor in place of chat completions, for the conversations that need it. */
export interface OtherOperation {
  readonly operation: OperationName;
  /** The provider as it asks every model by that operation. */
  readonly provider: Provider;
  /** Which conversations these are, for the documentation: whole sentences in Markdown. */
  readonly note: string;
  /** The page that says so. */
  readonly source: string;
  /** Whether the vendor's chat completions refuse a conversation with these parameters. */
  isNeeded(params: ChatParams, model: string): boolean;
}

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
  dialect: PLAIN_DIALECT,
  sameShape: false,
  privileged: new Set<string>(),
  clientHeaders: [],
  inlines: () => NOTHING_INLINED,
  requestIds: ["x-request-id"],
} as const satisfies Partial<Provider>;

const NOTHING_INLINED: ReadonlySet<BlockType> = new Set();

// How a provider is called for a model that speaks the operation of a call itself, and what all who speak an operation
// have in common.
import type { ChatAnswer, ChatRequest, ReasoningDetail } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import type { SseEvent } from "../../wire/sse.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { PlacedTool } from "../../core/request/held-body.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { DecodeContext, EncodedRequest } from "./encoded-request.ts";
import type { Framing, StreamDecoder } from "./stream-decoder.ts";

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
  /** Returns the tools that a body brings in other places than its member `tools`, such as items of the conversation. */
  furtherTools(body: JsonObject): Iterable<PlacedTool>;
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
  /**
   * Set where the answer is a count of the tokens of a request: the members of a body that are counted. Nothing is
   * generated, so that guards on answers find no text, and a parameter of the answer has no meaning. Absent otherwise.
   */
  readonly counted?: ReadonlySet<string>;
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

// One OpenAI-compatible provider as data. A row states only what differs from OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat); the code beside it does the rest.
import type { KeyHeader } from "../credentials/key-header.ts";
import type { Capability, Feature } from "../../core/capability.ts";
import type { BlockType, ChatParams, ChatRequest, ContentPart, FinishReason, Message } from "../../core/chat.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { CommonParameter } from "../../core/params.ts";
import type { Target } from "../../core/target.ts";
import type { Joins } from "../conversation/join-texts.ts";
import type { CallIdForm } from "../conversation/tool-calls.ts";
import type { MemberTable } from "../conversation/conversation-members.ts";
import type { NativeFacts } from "./native.ts";
import type { Dialect } from "../interface/dialect.ts";
import type { OtherOperation } from "../interface/provider.ts";
import type { RowDeclaration } from "../interface/provider-declaration.ts";
import type { Tasks } from "../interface/task-form.ts";
import type { FailureClass } from "../interface/upstream-failure.ts";
import type { EmbeddingRow } from "./tasks/embedding-row.ts";
import type { ModerationRow, RerankRow } from "./tasks/task-rows.ts";

export interface OpenAICompatibleRow extends RowDifferences, RowDeclaration {
  /**
   * Blocks that the vendor accepts only as data, so that the gateway fetches their addresses. When absent, these are
   * files, unless the row lacks or rewrites them.
   */
  readonly inlines?: readonly BlockType[];
  /**
   * The vendor's page against which the cells were checked, and when; the page is `docs` when no other is named. When
   * absent, they follow the API that the provider claims to support.
   */
  readonly verified?: { readonly source?: string; readonly date: string };
  /**
   * Appended to the base address. `{model}` stands for the model name as path segments. `/chat/completions` when
   * absent.
   */
  readonly path?: string;
  /**
   * Appended to a base URL that is only a host, because users often configure just the host of their workspace or
   * server: `/v1`.
   */
  readonly barePath?: string;
  /** Header and prefix of the key. `authorization: Bearer <key>` when absent. */
  readonly auth?: KeyHeader;
  /** Differences of some models. The first entry that matches the model and names the feature applies. */
  readonly models?: readonly ModelDifferences[];
  /** What the vendor accepts beyond the common forms (promise 5.7). */
  readonly dialect?: Partial<Dialect>;
  /** Pass-through names that the gateway encodes itself, beyond OpenAI's own. */
  readonly reserved?: readonly string[];
  /** Pass-through names that widen the choice of model or provider, or lead to an address. */
  readonly privileged?: readonly string[];
  /**
   * What messages, content parts and tool calls may hold on the vendor's wire. Everything else is left out, and this is
   * reported. Its source is that of the cells when it names no other. When absent, there is nothing beyond the common
   * forms.
   */
  readonly conversation?: (Omit<MemberTable, "source"> & { readonly source?: string }) | undefined;
  /**
   * The same at an address that the caller supplied, which may be another server's. `conversation` applies when absent.
   */
  readonly elsewhere?: MemberTable;
  /**
   * The name under which the text of reasoning is sent back in assistant messages. When absent, the members are those
   * of `conversation`.
   */
  readonly reasoningBack?: "reasoning" | "reasoning_content" | "reasoning_text";
  /** Set when the vendor knows the role `developer`; others are sent `system` in its place. */
  readonly takesDeveloper?: true;
  /** A name of the reasoning text in answers other than `reasoning_content` and `reasoning`. */
  readonly reasoningField?: string;
  /** The vendor's finish reasons beside OpenAI's five and those in finish-reasons.ts. */
  readonly finishReasons?: Readonly<Record<string, FinishOutcome>>;
  /**
   * Set when answers carry no finish reason. The reason is then derived from the answer's content, and a stream ends
   * with the chunk that has the usage and no choices, which is always requested.
   */
  readonly lacksFinishReason?: true;
  /** Models of which one answer may come as several choices, with the text in one and the calls in another. */
  readonly splitsAnswers?: RegExp;
  /** The path of the usage when it is not at the top level: `x_groq.usage`. */
  readonly usageAt?: readonly [string, string];
  /** Figures of usage that the vendor bills and that neither its prompt tokens nor its completion tokens include. */
  readonly billedBeside?: { readonly prompt?: readonly string[]; readonly completion?: readonly string[] };
  /** How the vendor's embeddings differ from OpenAI's. Absent when it has none in OpenAI's form. */
  readonly embeddings?: EmbeddingRow;
  /** How the vendor's rerank differs from Cohere's. Absent when it has none in that form. */
  readonly rerank?: RerankRow;
  /** Set where the vendor has moderations. */
  readonly moderations?: ModerationRow;
  /** Set where the vendor has no conversations: only its tasks are served. */
  readonly hasOnlyTasks?: true;
  /** Tasks in forms of the vendor's own. */
  readonly tasks?: Tasks;
  /** The vendor's own codes and messages. They are tried before the common rules of error-rules.ts. */
  readonly errors?: readonly ErrorRule[];
  /** The path, inside the error object, of the message of a provider behind this one: `metadata.raw`. */
  readonly causeAt?: readonly [string, string];
  /**
   * The place of the vendor's own status in every answer, with 0 for success: its holder, its code and its message,
   * such as `base_resp`, `status_code`, `status_msg`.
   */
  readonly statusAt?: readonly [string, string, string];
  /** Models and conversations that are reached by the Responses API; none when absent. */
  readonly responses?: ResponsesModels;
  /** Operations beside chat completions that the models speak themselves. */
  readonly native?: NativeFacts;
  /** Models of which `hooks.messages` leaves out answers that are empty. */
  readonly leavesOutEmpty?: RegExp;
  /** Quirks that no field can express: named functions, each with a link to the vendor's page. */
  readonly hooks?: RowHooks;
}

/** What chat completions do not serve. Such requests are sent in the form of `../responses/`. */
export interface ResponsesModels {
  /** Models that do not speak chat completions. Matched against the provider's own model name. */
  readonly only: RegExp;
  /** Conversations that chat completions refuse with models that speak both. */
  readonly needed?: Omit<OtherOperation, "operation" | "provider">;
  /** The vendor's page that says so. */
  readonly source: string;
  /** Appended to the base address. `/responses` when absent. */
  readonly path?: string;
  /** Returns the complete address, when it is more than base and path. */
  readonly address?: (target: Target) => string;
  /** The name of the vendor's encrypted reasoning in `reasoning_details`: `openai-responses-v1`. */
  readonly reasoningFormat: string;
}

/** What a row can state for all its models or for some of them. */
export interface RowDifferences {
  /**
   * Unsupported features. `user`, `safety_identifier` and `stream_options` among them are not sent, but never refused.
   */
  readonly lacks?: readonly Feature[];
  /** Notes, values and ranges. */
  readonly cells?: Readonly<Partial<Record<Feature, Capability>>>;
  /** Parameters that are sent under another name. */
  readonly renames?: Readonly<Partial<Record<CommonParameter, string>>>;
  /** Parameters that are sent in another form. */
  readonly rewrites?: Readonly<Partial<Record<CommonParameter, ParameterRewrite>>>;
  /** Content blocks that are sent in another form. */
  readonly blocks?: Readonly<Partial<Record<BlockType, BlockRewrite>>>;
  /** Set when content that is a list of text blocks is sent as one string. */
  readonly textAsString?: true;
  /** Further members of assistant messages, beside those of `conversation`. */
  readonly takes?: readonly string[];
  /** Members of assistant messages that `hooks.messages` writes in another place. */
  readonly reads?: readonly string[];
  /** Set when `cache_control` of a part is sent as `prompt_cache_breakpoint`. */
  readonly cacheBreakpoints?: true;
  /** The form of tool call ids that the vendor requires. Any id is accepted when absent. */
  readonly callIds?: CallIdForm;
  /**
   * Set when the vendor, while the model thinks, refuses tool calls without a text of reasoning. Sent as `reasoningBack`
   * where a client does not send the reasoning back, or another model has made the calls.
   */
  readonly reasoningBesideCalls?: "" | " ";
}

export interface ModelDifferences extends RowDifferences {
  /** Matched against the provider's own model name. */
  readonly models: RegExp;
}

export interface ParameterRewrite {
  /** Set where it does not do all that the parameter asks for. */
  readonly support?: "emulated";
  /** What becomes of the parameter, for the documentation. */
  readonly note: string;
  /**
   * Returns the wire members in place of the parameter, with null for a member that is left out. Returns `null` to send
   * the parameter unchanged. Throws GatewayError `unsupported_value`.
   */
  readonly write: (value: Json, params: ChatParams) => JsonObject | null;
}

export interface BlockRewrite {
  readonly note: string;
  /** Throws GatewayError `unsupported_value` with the path. */
  readonly write: (part: ContentPart, path: string) => ContentPart;
}

/**
 * One of OpenAI's finish reasons, or the class of a failure, because some vendors report an error as a finish reason.
 */
export type FinishOutcome = FinishReason | { readonly failure: FailureClass };

/** A rule matches only when everything that it names matches. */
export interface ErrorRule {
  readonly class: FailureClass;
  /** Compared in lower case with the error's code and type. */
  readonly codes?: readonly string[];
  readonly statuses?: readonly number[];
  /** Tried only when no rule's codes matched. */
  readonly text?: RegExp;
}

export interface RowHooks {
  /** Returns the complete address, when it is more than base and path. */
  readonly address?: (target: Target, request: ChatRequest) => string;
  /** Returns the members that replace `model`, when more than the name is needed: `model_id` and the project. */
  readonly model?: (target: Target, request: ChatRequest) => JsonObject;
  /**
   * Returns the headers that the vendor requires, in lower case. The caller's headers of the same name replace them.
   */
  readonly headers?: (request: ChatRequest) => Readonly<Record<string, string>>;
  /** Returns the same array when nothing has to change. Texts that it joins are added to `joins`. */
  readonly messages?: (messages: readonly Message[], model: string, joins: Joins) => readonly Message[];
}

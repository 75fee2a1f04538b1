// One OpenAI-shaped provider as data. A row says only what differs from OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat); the engine beside it does the rest.
import type { Capability, Feature } from "../../core/capability.ts";
import type { BlockType, ChatParams, ChatRequest, ContentPart, FinishReason, Message } from "../../core/chat.ts";
import type { CredentialForm } from "../../core/credential.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { CommonParameter } from "../../core/params.ts";
import type { Target } from "../../core/target.ts";
import type { CallIdForm } from "../call-ids.ts";
import type { MemberTable } from "../conversation-members.ts";
import type { Dialect, FailureClass, ProviderSetting } from "../provider.ts";

export interface OpenAICompatibleRow extends RowDifferences {
  /** What stands before the colon of a model. */
  readonly id: string;
  readonly label: string;
  /** The vendor by its name in OpenTelemetry's list. Absent: it has none there, or its own id. */
  readonly vendor?: string;
  /** The vendor's page for this API. */
  readonly docs: string;
  /** Its id in the catalogue of models and prices. Absent: its own id. Null: not looked for. */
  readonly catalogue?: string | null;
  /** The names of that catalogue that this API serves. Absent: all. */
  readonly listed?: RegExp;
  /** As the vendor's own client takes it, with `settings` in braces; null where every user has their own. */
  readonly baseUrl: string | null;
  /** Environment variables that hold the address, where every user has their own. */
  readonly baseUrlVariables?: readonly string[];
  /** What stands in the address or in requests beside the model: region, account, version. */
  readonly settings?: readonly ProviderSetting[];
  /** Absent: a key. The first is what `api_key` is taken for. */
  readonly credentials?: readonly CredentialForm[];
  /** Headers with the vendor's own id of a request. Absent: `x-request-id`. */
  readonly requestIds?: readonly string[];
  /** Blocks that the vendor takes as data only: the gateway fetches their addresses. Absent: files, unless the row lacks or rewrites them. */
  readonly inlines?: readonly BlockType[];
  /** Environment variables with the key, the one for error messages first. Empty: needs no key. */
  readonly keyVariables: readonly string[];
  /** The vendor's page that the cells were checked against, and when. Absent: taken from the shape that the provider says it has. */
  readonly verified?: { readonly source: string; readonly date: string };
  /** Appended to the base address; `{model}` stands for the model name as path segments. Absent: `/chat/completions`. */
  readonly path?: string;
  /** What comes after a base URL that is a host alone, as people give their workspace or server: `/v1`. */
  readonly barePath?: string;
  /** Header and prefix of the key. Absent: `authorization: Bearer <key>`. */
  readonly auth?: { readonly header: string; readonly prefix: string };
  /** What differs for some models; tried in order, the first that matches and names the feature decides. */
  readonly models?: readonly ModelDifferences[];
  /** What the vendor takes beyond the common forms (decisions 5.7). */
  readonly dialect?: Partial<Dialect>;
  /** Pass-through names that the gateway encodes itself, beyond OpenAI's own. */
  readonly reserved?: readonly string[];
  /** Pass-through names that widen the choice of model or provider, or reach an address. */
  readonly privileged?: readonly string[];
  /** The client's own HTTP headers that go on to the vendor, in lower case. */
  readonly clientHeaders?: readonly string[];
  /** What messages, content parts and calls may hold on the vendor's wire; all else is left out, and told. */
  readonly conversation: MemberTable;
  /** The same at an address that the caller brought, which may be another server's. Absent: `conversation`. */
  readonly elsewhere?: MemberTable;
  /** The name under which the text of reasoning goes back with messages of the assistant. Absent: as `conversation` has it. */
  readonly reasoningBack?: "reasoning" | "reasoning_content" | "reasoning_text";
  /** The role that stands for `developer` where the vendor does not know it. */
  readonly developerRole?: "system";
  /** A name of the reasoning text in answers other than `reasoning_content` and `reasoning`. */
  readonly reasoningField?: string;
  /** Vendor's finish reasons besides the five of OpenAI and those in finish-reasons.ts. */
  readonly finishReasons?: Readonly<Record<string, FinishWord>>;
  /** Answers say no finish reason: they have ended by what they hold, and streams with the chunk that has the usage and no choices, which is always asked for. */
  readonly unsaidFinish?: true;
  /** Where usage stands when it is not at the top, as a path: `x_groq.usage`. */
  readonly usageAt?: readonly [string, string];
  /** Figures of usage that the vendor bills and that neither its prompt nor its completion tokens hold. */
  readonly billedBeside?: { readonly prompt?: readonly string[]; readonly completion?: readonly string[] };
  /** The vendor's own codes and wordings; tried before the common ones of error-rules.ts. */
  readonly errors?: readonly ErrorRule[];
  /** Inside the error object, where the words of a provider behind this one stand: `metadata.raw`. */
  readonly causeAt?: readonly [string, string];
  /** Where a status of the vendor's own stands in every answer, 0 for success: its holder, its code and its words, `base_resp`, `status_code`, `status_msg`. */
  readonly statusAt?: readonly [string, string, string];
  /** Quirks that no field can say: named functions, each with the vendor's page. */
  readonly hooks?: RowHooks;
}

/** What the decoders of answers read of a row. */
export type AnswerRow = Pick<OpenAICompatibleRow, "usageAt" | "billedBeside" | "reasoningField" | "unsaidFinish">;

/** What a row can say for all its models or for some. */
export interface RowDifferences {
  /** Unsupported features. `user`, `safety_identifier`, `stream_options` among them are left off the wire, never refused. */
  readonly lacks?: readonly Feature[];
  /** Notes, values and ranges. */
  readonly cells?: Readonly<Partial<Record<Feature, Capability>>>;
  /** Parameters that go under another name. */
  readonly renames?: Readonly<Partial<Record<CommonParameter, string>>>;
  /** Parameters that go in another form. */
  readonly rewrites?: Readonly<Partial<Record<CommonParameter, ParameterRewrite>>>;
  /** Content blocks that go in another form. */
  readonly blocks?: Readonly<Partial<Record<BlockType, BlockRewrite>>>;
  /** Content that is a list of text blocks goes as one string. */
  readonly textAsString?: true;
  /** Further members of the assistant's messages, beside those of `conversation`. */
  readonly takes?: readonly string[];
  /** Members of the assistant's messages that `hooks.messages` writes in another place. */
  readonly reads?: readonly string[];
  /** The form that the vendor demands of ids of calls. Absent: any. */
  readonly callIds?: CallIdForm;
}

export interface ModelDifferences extends RowDifferences {
  /** Matched against the provider's own model name. */
  readonly models: RegExp;
}

export interface ParameterRewrite {
  readonly support: "mapped" | "emulated";
  /** For the documentation: what becomes of the parameter. */
  readonly note: string;
  /** Wire members in place of the parameter, null for one that is left out; null alone: it goes as it is. Throws GatewayError `unsupported_value`. */
  readonly write: (value: Json, params: ChatParams) => JsonObject | null;
}

export interface BlockRewrite {
  readonly note: string;
  /** Throws GatewayError `unsupported_value` with the path. */
  readonly write: (part: ContentPart, path: string) => ContentPart;
}

/** An OpenAI word, or what failed: some vendors say an error as a finish reason. */
export type FinishWord = FinishReason | { readonly failure: FailureClass };

/** All that a rule names has to hold. */
export interface ErrorRule {
  readonly class: FailureClass;
  /** Compared with the error's code and type, in lower case. */
  readonly codes?: readonly string[];
  readonly statuses?: readonly number[];
  /** Tried only when no rule's codes matched. */
  readonly text?: RegExp;
}

export interface RowHooks {
  /** The whole address, where it is more than base and path. */
  readonly address?: (target: Target, request: ChatRequest) => string;
  /** Members that stand for `model`, where that is more than its name: `model_id` and the project. */
  readonly model?: (target: Target, request: ChatRequest) => JsonObject;
  /** Headers that the vendor asks for, in lower case; the caller's own take their place. */
  readonly headers?: (request: ChatRequest) => Readonly<Record<string, string>>;
  /** Gives the same array when nothing has to change. */
  readonly messages?: (messages: readonly Message[], model: string) => readonly Message[];
}

// What a provider declares: its name and pages, where it is and what it is called with, what its models take, and what it
// costs.
import type { KnowledgeSource } from "../../accounting/model-catalogue.ts";
import type { CapabilityTable } from "../../core/capability.ts";
import type { BlockType, CallerSettings, MessageRole } from "../../core/chat.ts";
import type { CredentialForm } from "../../core/configured/credential.ts";
import type { Target } from "../../core/target.ts";
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import type { PricedTool } from "../../core/configured/hosted-tool.ts";
import type { PriceFactor } from "../../core/configured/price.ts";
import type { ConversationMembers } from "../conversation/conversation-members.ts";
import type { Dialect } from "./dialect.ts";
import type { Framing } from "./stream-decoder.ts";

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

/** Of `leavesOutEmpty`, where the vendor accepts empty messages of every role. */
export const NO_ROLE: ReadonlySet<MessageRole> = new Set();

/**
 * What a provider is, and what its models take. `id` is that of the family or row, which stands before the colon in a
 * model's name.
 */
export interface ProviderDeclaration extends KnowledgeSource {
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
  /**
   * Origins beside that of `baseUrl` at which the vendor serves the same API, such as those of regions. Absent where there are
   * none.
   */
  readonly otherOrigins?: RegExp;
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
   * Pass-through names by which guards of the vendor are set. Where the configuration of a route sets one of them, a
   * request may set none (promise 6.5). Absent where there are none.
   */
  readonly guards?: readonly string[];

  /**
   * The client's own HTTP headers that are forwarded with a chat completion, in lower case (promise 2.10). Only this
   * vendor understands them, and none of them is a credential.
   */
  readonly clientHeaders: readonly string[];
  /** Members of the query that are forwarded; absent where there are none. */
  readonly clientQuery?: readonly string[];

  /** Tools that it runs itself at a price for each use; absent where there are none. */
  readonly hostedTools?: readonly PricedTool[];

  /** What tiers of service and regions cost beside the bundled prices; absent where that is nothing. */
  readonly priceFactors?: readonly PriceFactor[];
  /** Whether the models run within a region, where the vendor bills that; absent where it does not. */
  isRegional?(target: Pick<Target, "settings"> & { readonly baseUrl: string | null }): boolean;

  /** Set where it has no conversations. */
  readonly hasOnlyTasks?: true;
}

/** What a row of data declares of its provider in the form that the provider itself has. */
const DECLARED_BY_ROWS = [
  "id",
  "label",
  "vendor",
  "docs",
  "baseUrl",
  "otherOrigins",
  "baseUrlVariables",
  "keyVariables",
  "credentials",
  "settings",
  "requestIds",
  "catalogue",
  "listed",
  "ownName",
  "guards",
  "clientHeaders",
  "hostedTools",
  "priceFactors",
  "isRegional",
] as const satisfies readonly (keyof ProviderDeclaration)[];

type EachRowDeclares = "id" | "label" | "docs" | "baseUrl" | "keyVariables";

/** Each member is as most providers have it where it is absent (`PLAIN_PROVIDER`). */
export type RowDeclaration = Pick<ProviderDeclaration, EachRowDeclares> &
  Partial<Pick<ProviderDeclaration, Exclude<(typeof DECLARED_BY_ROWS)[number], EachRowDeclares>>>;

export function declaredBy(row: RowDeclaration): RowDeclaration {
  const declared = DECLARED_BY_ROWS.filter((name) => row[name] !== undefined).map((name) => [name, row[name]]);
  return Object.fromEntries(declared) as RowDeclaration;
}

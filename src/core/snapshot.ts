// The immutable configuration that every call reads, compiled from the file and the store. A change replaces it as a
// whole.

// Decides (records and configuration): In which time zone do the days of a report begin? By: `reportingZone`. Also:
// where a request names none. Rule: The tenant's, else the gateway's, else UTC. Budgets follow UTC.
import type { OperationName } from "./operation.ts";
import type { BodyBounds } from "./request/body-bounds.ts";
import type { CacheSetting } from "./configured/cache.ts";
import type { ClientDeviationSettings } from "./configured/client-deviations.ts";
import type { ContentLogs } from "./configured/content.ts";
import type { StoredCredential } from "./configured/credential.ts";
import type { DrainSet } from "./configured/drain.ts";
import type { WebhookSet } from "./record/event.ts";
import type { AccessToken, Membership, Project, User } from "./identity.ts";
import type { PriceBook } from "./configured/price.ts";
import type { LimitSet } from "./configured/limit.ts";
import type { LoginIssuer } from "./configured/login.ts";
import { memoizePerObject } from "./memoization.ts";
import type { PolicySet } from "./configured/policy.ts";
import type { PromptCaching } from "./configured/prompt-cache.ts";
import type { Route } from "./configured/route.ts";
import { UTC } from "./configured/time-zone.ts";
import type { ToolServerSet } from "./configured/tool.ts";

/** How responses are kept: not at all, for a while, or like the content of calls. */
export type ResponsesStore = "off" | "ephemeral" | "on";

/** Settings of a scope. `null` means that they are not set here, and the next wider scope decides. */
export interface ScopeSettings {
  readonly dropParams: boolean | null;
  readonly disableStopSequenceLimit: boolean | null;
  /** Globs over `provider:model`; other models are unknown in this scope. When absent, everything is enabled. */
  readonly models?: readonly string[];
  /** Absent when this scope does not set it. */
  readonly contentLog?: ContentLogSettings;
  /** Whether responses are kept, so that later calls can refer to them; absent when this scope does not say. */
  readonly responsesStore?: ResponsesStore;
  /** What is not done for named clients, or done; absent when this scope does not say. */
  readonly clientDeviations?: ClientDeviationSettings;
  /** Whether answers of the tenant may be kept in the response cache; absent when it does not say. */
  readonly cacheAllowed?: boolean;
  /** How a project keeps answers; absent when it does not say. */
  readonly cache?: CacheSetting | "off";
  /** Whether the prompt caches of vendors are used in a project; absent when it does not say. */
  readonly promptCaching?: PromptCaching;
  /** The time zone whose days reports count where a request names none; absent when this scope does not say. */
  readonly timezone?: string;
}

/**
 * What a tenant or project sets about keeping the content of its calls. An absent member has a default, or keeps the
 * tenant's value.
 */
export interface ContentLogSettings {
  readonly enabled: boolean;
  readonly projects?: readonly string[];
  readonly retentionDays?: number;
  readonly sample?: number;
  readonly keepIn?: "store" | "integrations";
  readonly maxCharacters?: number;
  readonly redact?: {
    readonly classes?: readonly string[];
    readonly nationalIds?: readonly string[];
    readonly patterns?: readonly string[];
  };
}

export interface ModelListing {
  /** The provider's own name of the model. */
  readonly id: string;
  readonly name: string | null;
  readonly contextLength: number | null;
  readonly maxCompletionTokens: number | null;
  /** USD per token as decimal strings. */
  readonly pricing: { readonly prompt: string; readonly completion: string } | null;
}

export interface ProviderSettings {
  readonly id: string;
  readonly family: string;
  /** The base URL with placeholders for settings, such as `https://bedrock-runtime.{region}.amazonaws.com`. */
  readonly baseUrl: string | null;
  /** Empty when the provider is called without a credential. */
  readonly credentials: readonly StoredCredential[];
  /** Values of the provider's own settings, from the file and the environment. */
  readonly settings: Readonly<Record<string, string>>;
  /**
   * False when the provider is known but neither a key nor the file enables it; a call that contains its own key may
   * still use it.
   */
  readonly enabled: boolean;
  /** The models that `GET /models` lists. Calls to other models are possible too. */
  readonly models: readonly ModelListing[];
  /** The tenant, or `tenant/project`, to which the provider belongs; absent when it is available to all tenants. */
  readonly owner?: string;
  /** The operator did not configure the address, so that the address guard checks it at each call. */
  readonly guarded?: boolean;
  /** Calls of several tenants may share connections to the provider. Only the operator's file can allow it. */
  readonly sharesConnections?: boolean;
  /** The operations that its models speak themselves; absent when its row decides. */
  readonly native?: readonly OperationName[];
  /** The address is not the row's own, so that another server may answer there. */
  readonly isElsewhere?: boolean;
  /** Types of tools that may run at the vendor, and what they cost (core/configured/hosted-tool.ts). */
  readonly hostedTools?: readonly string[];
  readonly hostedToolPrices?: Readonly<Record<string, number>>;
  /** Answers may be stored at the vendor where the client asks for it. */
  readonly vendorStore?: boolean;
}

/** Identifies what answers for a provider, and whose provider that is: what one has said says nothing about another. */
export const serverOf = memoizePerObject(({ id, owner, family, baseUrl, settings }: ProviderSettings): string =>
  JSON.stringify([id, owner, family, baseUrl, Object.entries(settings)]),
);

export interface IpRanges {
  /** Returns false for a text that is not an address. */
  readonly has: (address: string) => boolean;
}

/** The proxies in front of the gateway, and the header in which they name the client. */
export interface ProxyTrust {
  readonly proxies: IpRanges;
  readonly header: "x-forwarded-for" | "forwarded";
}

export interface Snapshot {
  /** Increases with each replacement. */
  readonly version: number;
  readonly tokens: ReadonlyMap<string, AccessToken>;
  /** Tokens with a secret that ends by itself, by its SHA-256 in hexadecimal digits: keys of another gateway are among them. */
  readonly tokensByHash: ReadonlyMap<string, AccessToken>;
  readonly projects: ReadonlyMap<string, Project>;
  /** Memberships by user id. */
  readonly memberships: ReadonlyMap<string, readonly Membership[]>;
  /** By their ids. A company login may have a user that is not among them. */
  readonly users: ReadonlyMap<string, User>;
  /** The tenant of each operator, by user id. */
  readonly operators: ReadonlyMap<string, string>;
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** For tenants with providers of their own: all providers that are visible there. */
  readonly tenantProviders: ReadonlyMap<string, ReadonlyMap<string, ProviderSettings>>;
  /** For projects with providers of their own: all providers that are visible there. */
  readonly projectProviders: ReadonlyMap<string, ReadonlyMap<string, ProviderSettings>>;
  readonly settings: ScopeSettings;
  readonly tenantSettings: ReadonlyMap<string, ScopeSettings>;
  readonly projectSettings: ReadonlyMap<string, ScopeSettings>;
  /** Set where the settings of some project say how prompt caches are used. */
  readonly hasCachingProjects?: true;
  /** The routes for tenants and projects that have none of their own, by name. */
  readonly routes: ReadonlyMap<string, Route>;
  /**
   * For tenants with routes or route defaults of their own: all routes that are visible there, including the global
   * ones with the tenant's defaults.
   */
  readonly tenantRoutes: ReadonlyMap<string, ReadonlyMap<string, Route>>;
  /** The same for projects. */
  readonly projectRoutes: ReadonlyMap<string, ReadonlyMap<string, Route>>;
  /** Configured prices, which override the known prices of models. */
  readonly prices: PriceBook;
  /** Limits and budgets of tenants and projects (promise 4). */
  readonly limitRules: LimitSet;
  readonly policies: PolicySet;
  readonly drains: DrainSet;
  readonly toolServers: ToolServerSet;
  readonly contentLogs: ContentLogs;
  readonly webhooks: WebhookSet;
  readonly allowPrivateAddresses: boolean;
  readonly limits: ServerLimits;
  /** `null` when no proxy is trusted. */
  readonly proxyTrust: ProxyTrust | null;
  /** Headers of requests that conditions of routes may read, in lower case. */
  readonly conditionHeaders: readonly string[];
  /** Issuers whose logins are accepted as personal tokens. */
  readonly logins: readonly LoginIssuer[];
  /** Users that are linked to a company login, by `loginKey`. */
  readonly loginUsers: ReadonlyMap<string, User>;
  readonly corsOrigins: readonly string[];
  readonly opsOpen: boolean;
}

export interface ServerLimits {
  readonly maxBodyBytes: number;
  readonly body: BodyBounds;
  /** The body has to be complete this long after the head. */
  readonly bodyTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  /** The part of these that one tenant may use; `null` when there is no such bound. */
  readonly maxConcurrentCallsPerTenant: number | null;
  /** Of one project, and of one user. */
  readonly maxLiveTokens: number;
  /**
   * In bytes: what bodies of requests may hold together while they arrive, and answers while they are collected. Each
   * tenant may hold half of it.
   */
  readonly maxHeldBytes: number;
  /** The largest non-streaming answer of a provider that is read, after decompression. */
  readonly maxAnswerBytes: number;
  /** The longest line or event of a stream. */
  readonly maxEventBytes: number;
  readonly defaultTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** The time from sending the request to the head of the response. */
  readonly firstByteTimeoutMs: number;
  readonly betweenBytesTimeoutMs: number;
  /** How long the head of a streamed response is held back for the first content, at most (promise 7.4). */
  readonly headHoldMs: number;
  /** How long calls in flight have to end when the gateway shuts down. */
  readonly drainMs: number;
  readonly keepAliveMs: number;
}

/** The snapshot with other providers. Both tables of providers belong to one snapshot, and so does the result. */
const viewsOf = memoizePerObject((snapshot: Snapshot) =>
  memoizePerObject((providers: Snapshot["providers"]): Snapshot => ({ ...snapshot, providers })),
);

/**
 * Returns the snapshot with the providers that are visible to a project, or to the whole tenant when `projectId` is
 * null. Where nothing differs, it is the same object; otherwise there is one for each table of providers.
 */
export function snapshotSeenBy(
  snapshot: Snapshot,
  { tenantId, projectId }: { readonly tenantId: string; readonly projectId: string | null },
): Snapshot {
  const { tenantProviders, projectProviders } = snapshot;
  if (tenantProviders.size === 0 && projectProviders.size === 0) return snapshot;
  const providers = (projectId === null ? undefined : projectProviders.get(projectId)) ?? tenantProviders.get(tenantId);
  return providers === undefined ? snapshot : viewsOf(snapshot)(providers);
}

/** Returns the settings that concern a caller, the narrowest first; undefined stands for a scope without any. */
export function settingsOf(
  { projectId, tenantId }: { readonly projectId: string | null; readonly tenantId: string | null },
  { projectSettings, tenantSettings, settings }: Snapshot,
): readonly (ScopeSettings | undefined)[] {
  return [
    projectId === null ? undefined : projectSettings.get(projectId),
    tenantId === null ? undefined : tenantSettings.get(tenantId),
    settings,
  ];
}

/** Whether the prompt caches of vendors are used in calls of a project by a route (promise 16.2). */
export function cachesPrompts(
  { promptCaching }: Pick<Route, "promptCaching">,
  projectId: string | null,
  { hasCachingProjects, projectSettings }: Pick<Snapshot, "hasCachingProjects" | "projectSettings">,
): boolean {
  if (promptCaching !== null) return promptCaching === "auto";
  return hasCachingProjects === true && projectSettings.get(projectId ?? "")?.promptCaching === "auto";
}

/** The time zone whose days the reports of a tenant count; of the whole gateway for null. */
export function reportingZone(tenantId: string | null, snapshot: Snapshot): string {
  const named = settingsOf({ tenantId, projectId: null }, snapshot).find((scope) => scope?.timezone !== undefined);
  return named?.timezone ?? UTC;
}

// The immutable value that every call reads: configuration and store joined and compiled. It is swapped whole when something changes.
import type { BodyBounds } from "./body-bounds.ts";
import type { ContentLogs } from "./content.ts";
import type { StoredCredential } from "./credential.ts";
import type { WebhookSet } from "./event.ts";
import type { AccessToken, Membership, Project, User } from "./identity.ts";
import type { PriceBook } from "./price.ts";
import type { LimitSet } from "./limit.ts";
import type { LoginIssuer } from "./login.ts";
import type { PolicySet } from "./policy.ts";
import type { Route } from "./route.ts";
import type { ToolServerSet } from "./tool.ts";

/** Settings of the specification; null means "not set here, ask the next wider scope". */
export interface ScopeSettings {
  readonly dropParams: boolean | null;
  readonly disableStopSequenceLimit: boolean | null;
  /** Globs over `provider:model`: what else is asked for is unknown here. Left out: everything is enabled. */
  readonly models?: readonly string[];
  /** Left out: nothing is said of it here. */
  readonly contentLog?: ContentLogSettings;
}

/** What a tenant or project says of keeping what is said in its calls. What is left out has a default, or leaves what the tenant says. */
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
  /** The provider's own name. */
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
  /** With the places for settings still open: `https://bedrock-runtime.{region}.amazonaws.com`. */
  readonly baseUrl: string | null;
  /** Empty: it is called without one. */
  readonly credentials: readonly StoredCredential[];
  /** Values of the provider's own settings, from file and environment. */
  readonly settings: Readonly<Record<string, string>>;
  /** False: known, but neither a key nor the file enables it; a call that brings its own key may still use it. */
  readonly enabled: boolean;
  /** Models that `GET /models` lists. Calls to others go through. */
  readonly models: readonly ModelListing[];
  /** The tenant, or `tenant/project`, that it alone belongs to; left out: everybody's. */
  readonly owner?: string;
  /** Its address was not configured by the operator, and passes the guard at each call. */
  readonly guarded?: boolean;
  /** Calls of several tenants may use the same connections to it; only what the operator's file says. */
  readonly sharesConnections?: boolean;
}

export interface IpRanges {
  /** False for what is no address. */
  readonly has: (address: string) => boolean;
}

/** The proxies in front of the gateway, and the header in which they say whom they pass on. */
export interface ProxyTrust {
  readonly proxies: IpRanges;
  readonly header: "x-forwarded-for" | "forwarded";
}

export interface Snapshot {
  /** Counts up with each swap. */
  readonly version: number;
  readonly tokens: ReadonlyMap<string, AccessToken>;
  readonly projects: ReadonlyMap<string, Project>;
  /** Memberships by user id. */
  readonly memberships: ReadonlyMap<string, readonly Membership[]>;
  /** The users who run the gateway: the tenant of each by user id. */
  readonly operators: ReadonlyMap<string, string>;
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Of tenants with providers of their own: all that are seen there. */
  readonly tenantProviders: ReadonlyMap<string, ReadonlyMap<string, ProviderSettings>>;
  /** The same of projects. */
  readonly projectProviders: ReadonlyMap<string, ReadonlyMap<string, ProviderSettings>>;
  readonly settings: ScopeSettings;
  readonly tenantSettings: ReadonlyMap<string, ScopeSettings>;
  readonly projectSettings: ReadonlyMap<string, ScopeSettings>;
  /** The routes of whoever has none of his own, by name. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Of tenants with routes or route defaults of their own: all routes that are seen there, the global ones with the tenant's defaults included. */
  readonly tenantRoutes: ReadonlyMap<string, ReadonlyMap<string, Route>>;
  /** The same of projects. */
  readonly projectRoutes: ReadonlyMap<string, ReadonlyMap<string, Route>>;
  /** Prices that go before what is known of models elsewhere. */
  readonly prices: PriceBook;
  /** Limits and budgets of tenants and projects (decisions 4). */
  readonly limitRules: LimitSet;
  readonly policies: PolicySet;
  readonly toolServers: ToolServerSet;
  readonly contentLogs: ContentLogs;
  readonly webhooks: WebhookSet;
  readonly allowPrivateAddresses: boolean;
  readonly limits: ServerLimits;
  /** Null: nobody in front is believed. */
  readonly proxyTrust: ProxyTrust | null;
  /** Issuers whose logins are taken for personal tokens. */
  readonly logins: readonly LoginIssuer[];
  /** Users whom a login of a company's is for, by `loginKey`. */
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
  /** Of these, what one tenant may hold; null: all of them. */
  readonly maxConcurrentCallsPerTenant: number | null;
  /** Largest plain answer of a provider that is read, decompressed. */
  readonly maxAnswerBytes: number;
  /** Longest line or event of a stream. */
  readonly maxEventBytes: number;
  readonly defaultTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** From sending the request to the head of the answer. */
  readonly firstByteTimeoutMs: number;
  readonly betweenBytesTimeoutMs: number;
  /** A stream's head is held back for its first content at most this long (decisions 7.4). */
  readonly headHoldMs: number;
  /** How long calls under way have to end when the gateway goes down. */
  readonly drainMs: number;
  readonly keepAliveMs: number;
}

const views = new WeakMap<Snapshot, Map<string, Snapshot>>();

/** The snapshot with the providers that are seen at a place. For most it is the very snapshot; of every other place there is one. `projectId` null: the whole tenant. */
export function snapshotSeenBy(
  snapshot: Snapshot,
  { tenantId, projectId }: { readonly tenantId: string; readonly projectId: string | null },
): Snapshot {
  const { tenantProviders, projectProviders } = snapshot;
  if (tenantProviders.size === 0 && projectProviders.size === 0) return snapshot;
  const providers = (projectId === null ? undefined : projectProviders.get(projectId)) ?? tenantProviders.get(tenantId);
  if (providers === undefined) return snapshot;
  const known = views.get(snapshot) ?? new Map<string, Snapshot>();
  views.set(snapshot, known);
  const place = `${tenantId}/${projectId ?? ""}`;
  const seen = known.get(place) ?? { ...snapshot, providers };
  known.set(place, seen);
  return seen;
}

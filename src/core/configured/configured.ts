// One configured object (a route, a limit, a policy, ...), whether the file or the store defines it. Snapshots are
// compiled from these.
import type { Role } from "../identity.ts";

/** What objects of one kind are called. */
interface NounWords {
  /** In audit rows and documents. */
  readonly kind: string;
  /** In sentences. */
  readonly one: string;
  /** In ids of operations and schemas of the admin API, for one and for several. */
  readonly id: string;
  readonly ids: string;
}

/** The kinds of objects that both the file and the store can hold, by their nouns in paths of the admin API. */
export const CONFIGURED_NOUNS = {
  providers: { kind: "provider", one: "provider", id: "Provider", ids: "Providers" },
  routes: { kind: "route", one: "route", id: "Route", ids: "Routes" },
  policies: { kind: "policy", one: "policy", id: "Policy", ids: "Policies" },
  limits: { kind: "limit", one: "limit", id: "Limit", ids: "Limits" },
  budgets: { kind: "budget", one: "budget", id: "Budget", ids: "Budgets" },
  prices: { kind: "price", one: "price", id: "Price", ids: "Prices" },
  tool_servers: { kind: "tool_server", one: "tool server", id: "ToolServer", ids: "ToolServers" },
  webhooks: { kind: "webhook", one: "webhook", id: "Webhook", ids: "Webhooks" },
  settings: { kind: "setting", one: "settings", id: "Settings", ids: "Settings" },
} as const satisfies Readonly<Record<string, NounWords>>;
export type ConfiguredNoun = keyof typeof CONFIGURED_NOUNS;
export type ConfiguredKind = (typeof CONFIGURED_NOUNS)[ConfiguredNoun]["kind"];

export const EVERY_NOUN = Object.keys(CONFIGURED_NOUNS) as readonly ConfiguredNoun[];
export const CONFIGURED_KINDS: readonly ConfiguredKind[] = EVERY_NOUN.map((noun) => CONFIGURED_NOUNS[noun].kind);

export function isConfiguredKind(kind: string): kind is ConfiguredKind {
  return (CONFIGURED_KINDS as readonly string[]).includes(kind);
}

export function nounOf(kind: ConfiguredKind): ConfiguredNoun {
  return EVERY_NOUN.find((noun) => CONFIGURED_NOUNS[noun].kind === kind)!;
}

/** `T` is the type that the schema of the kind yields. */
export interface Configured<T> {
  /** Unique within its kind, and unchanged for the lifetime of the object. */
  readonly id: string;
  /** `null` for kinds that have no names. */
  readonly name: string | null;
  /** `null` for an object that applies to all tenants, which only the file can define. */
  readonly tenantId: string | null;
  /** `null` for an object that applies to the whole tenant. */
  readonly projectId: string | null;
  readonly origin: "file" | "store";
  /**
   * The role of the user who wrote it last; it is read-only for lower roles (promise 2.11). `null` when the file
   * defines it, so that it is read-only for everyone.
   */
  readonly setBy: Role | null;
  /**
   * Whether an operator wrote this object of the store last. Its addresses are then trusted like those of the file, and
   * the address guard does not check them (promise 2.12).
   */
  readonly byOperator?: boolean;
  /** Increases with each change; 0 for objects of the file. */
  readonly version: number;
  readonly document: T;
}

/** The ETag of settings and roles that are not stored yet: with it, only one of two requests creates them. */
export const UNSTORED_ETAG = '"0.0"';

// A company as it might use the gateway: its people, projects, tokens and configuration file. It is made up, and the same at each run.
import type { Role } from "../../../src/core/identity.ts";
import type { Actor } from "../../../src/store/records.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** A Thursday afternoon, in the middle of a month. */
export const NOW_MS = Date.UTC(2026, 9, 15, 13, 32, 20);
export const BEGINNING_MS = NOW_MS - 62 * DAY_MS;

export const TENANT = "kestrel";
export const PROJECTS = {
  support: "Support assistant",
  search: "Trip search",
  content: "Content studio",
  analytics: "Analytics",
} as const;
export type ProjectId = keyof typeof PROJECTS;

export interface Person {
  readonly name: string;
  readonly tenantRole: Role | null;
  readonly roles: Readonly<Partial<Record<ProjectId, Role>>>;
  readonly address: string;
}

export const PEOPLE: Readonly<Record<string, Person>> = {
  maya: { name: "Maya Lindqvist", tenantRole: "owner", roles: {}, address: "203.0.113.24" },
  tomasz: { name: "Tomasz Nowak", tenantRole: "admin", roles: {}, address: "203.0.113.31" },
  priya: {
    name: "Priya Raman",
    tenantRole: "developer",
    roles: { support: "maintainer", search: "maintainer" },
    address: "203.0.113.40",
  },
  daniel: { name: "Daniel Okafor", tenantRole: null, roles: { search: "developer" }, address: "203.0.113.52" },
  lucia: { name: "Lucía Ferrer", tenantRole: null, roles: { content: "maintainer" }, address: "198.51.100.17" },
  henrik: { name: "Henrik Holm", tenantRole: null, roles: { support: "viewer" }, address: "198.51.100.90" },
};

export const by = (person: string, role: Role, via: Actor["via"] = "console"): Actor => ({
  tokenId: null,
  userId: person,
  role,
  tenantId: TENANT,
  address: PEOPLE[person]!.address,
  via: via ?? null,
});

/** What the company keeps in its configuration file. */
export const CONFIGURATION_FILE = `providers: {openai-generate: {enabled: false}}
tenants:
  kestrel:
    settings: {content_log: {enabled: true}}
    routes:
      fast: {strategy: least_latency, targets: ["openai:gpt-5-nano", "mistral:mistral-small-latest"]}
  harbour:
    settings: {}
`;

/** By name: those who call, with the project that they belong to. */
export const CALLERS: Readonly<Record<string, { readonly project: ProjectId; readonly daysOld: number }>> = {
  "support-bot": { project: "support", daysOld: 58 },
  "support-triage": { project: "support", daysOld: 41 },
  "trip-search": { project: "search", daysOld: 58 },
  "trip-search-staging": { project: "search", daysOld: 33 },
  "article-writer": { project: "content", daysOld: 55 },
  "weekly-report": { project: "analytics", daysOld: 29 },
};
/** Of these tokens the lifetime is short, so that they are about to expire. */
export const LIFETIME_DAYS: Readonly<Record<string, number>> = { "trip-search-staging": 37, "weekly-report": 90 };

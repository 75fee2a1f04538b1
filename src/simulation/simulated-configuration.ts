// The part of a configuration that simulations of one tenant or project read, as plain data that another thread can be
// sent, and the snapshot that is made of it there.
import { limitSetOf } from "../admission/compile-limits.ts";
import type { TenantOrProject } from "../auth/grants.ts";
import type { Configured } from "../core/configured/configured.ts";
import { NO_WEBHOOKS } from "../core/record/event.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { NO_TOOL_SERVERS } from "../core/configured/tool.ts";
import { compilePolicies } from "../policies/compile-policies.ts";
import type { PolicyDocument } from "../policies/policy-settings.ts";

export type SimulatedConfiguration = ReturnType<typeof simulatedConfiguration>;

export function simulatedConfiguration(snapshot: Snapshot, { tenantId, projectId }: TenantOrProject) {
  const projects = new Map(
    [...snapshot.projects].filter(
      ([id, project]) => project.tenantId === tenantId && (projectId === null || id === projectId),
    ),
  );
  const ofProjects = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...all].filter(([id]) => projects.has(id)));
  const ofTenant = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> => {
    const own = all.get(tenantId);
    return new Map(own === undefined ? [] : [[tenantId, own]]);
  };
  const { version, providers, settings, routes, prices, allowPrivateAddresses, limits, conditionHeaders } = snapshot;
  return {
    version,
    projects,
    providers,
    tenantProviders: ofTenant(snapshot.tenantProviders),
    projectProviders: ofProjects(snapshot.projectProviders),
    settings,
    tenantSettings: ofTenant(snapshot.tenantSettings),
    projectSettings: ofProjects(snapshot.projectSettings),
    routes,
    tenantRoutes: ofTenant(snapshot.tenantRoutes),
    projectRoutes: ofProjects(snapshot.projectRoutes),
    prices: { global: prices.global, tenants: ofTenant(prices.tenants), projects: ofProjects(prices.projects) },
    allowPrivateAddresses,
    limits,
    conditionHeaders,
    // detectors are no plain data, and say nothing about where a call goes
    contentLogs: new Map(
      [...ofProjects(snapshot.contentLogs)].map(([id, rules]) => [id, { ...rules, detectors: [] }] as const),
    ),
    /** Of the tenant and its projects. */
    limitRules: snapshot.limitRules.rulesIn(tenantId),
    // The set was compiled from documents of this type.
    policies: snapshot.policies.sourcesOf(tenantId) as readonly Configured<PolicyDocument>[],
  };
}

/** What only real calls need is empty in it. */
export function simulatedSnapshot({ policies, limitRules, ...plain }: SimulatedConfiguration): Snapshot {
  return {
    ...plain,
    policies: compilePolicies(policies),
    tokens: new Map(),
    memberships: new Map(),
    users: new Map(),
    operators: new Map(),
    limitRules: limitSetOf(limitRules),
    drains: new Map(),
    toolServers: NO_TOOL_SERVERS,
    webhooks: NO_WEBHOOKS,
    proxyTrust: null,
    logins: [],
    tokensByHash: new Map(),
    loginUsers: new Map(),
    corsOrigins: [],
    opsOpen: false,
  };
}

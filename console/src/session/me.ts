// Who is signed in, and how one can sign in, as the gateway tells it (`GET /console/api/me`). Rights are the gateway's to judge: the console shows what it is told
// here, and works out none by itself.
import { visibleText } from "../format/visible-text.ts";
import type { Scope } from "../scope/scope.ts";

/** The company logins that the page offers. */
export interface Logins {
  readonly oidc: readonly { readonly name: string; readonly label: string; readonly path: string }[];
}

/** What the gateway tells somebody who is not signed in. */
export interface Visitor {
  readonly session: null;
  readonly logins: Logins;
}

type Verbs = Readonly<Record<string, readonly string[]>>;

export interface Me {
  readonly user: { readonly id: string; readonly name: string } | null;
  /** Null after a login without a token. */
  readonly token: { readonly id: string; readonly name: string } | null;
  readonly tenant_id: string;
  readonly project_id: string | null;
  readonly operator: boolean;
  readonly permissions: readonly string[];
  /** Tenants and projects, with the role there. */
  readonly places: readonly {
    readonly tenant_id: string;
    readonly project_id: string | null;
    readonly name: string;
    readonly role: string;
    /** The time zone of its reports. */
    readonly timezone: string;
  }[];
  readonly more_places: boolean;
  /** The time zone of reports about all tenants. */
  readonly timezone: string;
  /** Ids of operations of the admin API: those of tenants and projects by the role there. */
  readonly can: {
    readonly own: readonly string[];
    readonly operator: readonly string[];
    readonly tenant: Verbs;
    readonly project: Verbs;
  };
  readonly logins: Logins;
  /** With which screens begin; null as the project is a view of the person. */
  readonly default_views: readonly {
    readonly project_id: string | null;
    readonly screen: string;
    readonly query: string;
  }[];
  /** The gateway's time when it told this. */
  readonly now: string;
  readonly session: {
    readonly id: string;
    readonly ends_at: string;
    readonly idle_ends_at: string;
    readonly recent_until: string;
  };
}

export const isSignedIn = (one: Me | Visitor): one is Me => one.session !== null;

/** Whose the session is: a user, or a token of a project, which belongs to no user. */
export function readerOf({ tenant_id: tenant, user, token }: Me): string {
  return JSON.stringify(user === null ? [tenant, "token", token?.id] : [tenant, "user", user.id]);
}

/** The names are only shown, so they are made visible once, here. */
export function withVisibleNames(one: Me | Visitor): Me | Visitor {
  if (!isSignedIn(one)) return one;
  const visible = <T extends { readonly name: string }>(named: T): T => ({ ...named, name: visibleText(named.name) });
  return {
    ...one,
    user: one.user && visible(one.user),
    token: one.token && visible(one.token),
    places: one.places.map(visible),
  };
}

/**
 * Whether an operation that exists for the gateway, tenants and projects is allowed in the scope. `name` is its id with a star for the
 * reach: `list*Logs` is `listLogs`, `listTenantLogs` or `listProjectLogs`.
 */
export function may(me: Me, { tenant, project }: Scope, name: string): boolean {
  const id = (reach: string): string => name.replace("*", reach);
  if (project !== null) return allowed(me, me.can.project, tenant, project, id("Project"));
  if (tenant !== null) return allowed(me, me.can.tenant, tenant, null, id("Tenant"));
  return me.can.operator.includes(id(""));
}

/** Also where there are so many places that not all of them were told. */
export function hasRole(me: Me, { tenant, project }: Scope): boolean {
  return me.more_places || me.places.some((place) => place.tenant_id === tenant && place.project_id === project);
}

function allowed(me: Me, verbs: Verbs, tenant: string | null, project: string | null, id: string): boolean {
  const role = me.places.find(
    (place) => (tenant === null || place.tenant_id === tenant) && place.project_id === project,
  )?.role;
  return role !== undefined && (verbs[role]?.includes(id) ?? false);
}

/** The time zone of the reports of the tenant in scope. */
export function tenantZone(me: Me, { tenant }: Scope): string {
  if (tenant === null) return me.timezone;
  return me.places.find(({ tenant_id }) => tenant_id === tenant)?.timezone ?? me.timezone;
}

/** The widest scope of a reader: all tenants, a tenant, or the only project. */
export function homeScope(me: Me): Scope {
  if (me.operator && me.places.filter(({ project_id }) => project_id === null).length > 1)
    return { tenant: null, project: null };
  const tenant = me.places.find(({ project_id }) => project_id === null);
  const projects = me.places.filter(({ project_id }) => project_id !== null);
  if (tenant !== undefined && projects.length !== 1) return { tenant: tenant.tenant_id, project: null };
  const [place] = projects;
  return place === undefined
    ? { tenant: me.tenant_id, project: me.project_id }
    : { tenant: place.tenant_id, project: place.project_id };
}

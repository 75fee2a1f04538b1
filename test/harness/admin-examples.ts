// For every operation of the admin API a request that is right wherever it is sent to: what the path names is there, and the body is valid.
import type { Role } from "../../src/core/identity.ts";
import { newEventId } from "../../src/core/record/event-id.ts";
import { type ConfigurationScope, LOCAL_ACTOR, type NewResource } from "../../src/store/records.ts";
import { createToken } from "../../src/auth/tokens/token-admin.ts";
import { rowOf } from "../contract/store/call-records.ts";
import type { AdminWorld } from "./admin.ts";
import type { Described } from "./admin-document.ts";

/** A valid body for each schema that a request names. */
const EXAMPLE_BODIES: Readonly<Record<string, (place: ConfigurationScope) => unknown>> = {
  NewTenant: () => ({ id: "gamma", name: "Gamma", token_caps: { personal_days: 30 } }),
  TenantChange: () => ({ name: "Renamed" }),
  NewProject: ({ tenantId }) => ({ id: "fresh", tenant_id: tenantId }),
  ProjectChange: () => ({ name: "Renamed" }),
  NewUser: () => ({ id: "newcomer", email: "new@example.com", role: "viewer" }),
  UserChange: () => ({ name: "Renamed" }),
  TenantRole: () => ({ role: "viewer" }),
  ProjectRole: () => ({ role: "viewer" }),
  NewPersonalToken: ({ tenantId }) => ({ name: "personal", user_id: `${tenantId}-viewer` }),
  NewProjectToken: () => ({
    name: "ci",
    role: "developer",
    models: ["sandbox:*"],
    routes: [],
    permissions: [],
    ip: ["10.0.0.0/8"],
    expires_in_days: 30,
  }),
  NewTenantClaim: ({ tenantId }) => ({ name: "personal", user_id: `${tenantId}-viewer`, valid_hours: 2 }),
  NewProjectClaim: () => ({ name: "ci", role: "developer" }),
  TokenChange: () => ({ name: "renamed" }),
  TokenRotation: () => ({ overlap_minutes: 60 }),
  NewProvider: () => ({ name: "fresh", type: "sandbox" }),
  ProviderChange: () => ({ enabled: false }),
  NewRoute: () => ({ name: "fresh", targets: ["sandbox:echo"] }),
  RouteChange: () => ({ retries: 2 }),
  NewDraft: () => ({ text: "targets: [sandbox:echo]", base_etag: null }),
  ObjectRollback: () => ({ to: 1 }),
  RouteSimulationRequest: () => ({
    route: { targets: ["sandbox:echo"] },
    faults: [{ target: "sandbox:*", kind: "dead" }],
  }),
  PolicySimulationRequest: () => ({ policy: { rule: "request.stream" } }),
  NewPolicy: () => ({ name: "fresh", rule: "request.stream" }),
  PolicyChange: () => ({ message: "No streams." }),
  NewLimit: () => ({ name: "fresh", metric: "requests", window: "minute", limit: 10, scope: { user: "*" } }),
  LimitChange: () => ({ limit: 20 }),
  NewBudget: () => ({ name: "fresh", usd: "12.50", window: "day", thresholds: [80, 100] }),
  BudgetChange: () => ({ usd: "13" }),
  NewPrice: () => ({ name: "fresh", model: "sandbox:*", prompt: "1.25", completion: "10" }),
  PriceChange: () => ({ completion: "11" }),
  NewToolServer: () => ({ name: "fresh", url: "https://93.184.215.14/mcp" }),
  ToolServerChange: () => ({ timeout_s: 5 }),
  ToolCall: () => ({ tool: "echo", arguments: { message: "hello" } }),
  NewDrain: () => ({ minutes: 10, model: "echo", note: "upkeep" }),
  ProviderTestRequest: () => ({ model: "echo" }),
  CachePurge: () => ({ route: "direct" }),
  NewWebhook: () => ({ name: "fresh", url: "https://93.184.215.14/hook", events: ["budget.*"] }),
  WebhookChange: () => ({ timeout_s: 5 }),
  WebhookRotation: () => ({ overlap_minutes: 60 }),
  ViewChange: () => ({ name: "renamed" }),
  NewView: () => ({ screen: "calls", name: "fresh", query: "q=status:5xx&range=7d", is_default: true }),
  NewSettings: () => ({ drop_params: true }),
  SettingsChange: () => ({ drop_params: false }),
  TenantRollback: () => ({ to: 0 }),
  ProjectRollback: () => ({ to: 0 }),
};

/** Throws for a schema that has none. */
export function exampleBody(schema: string, place: ConfigurationScope): unknown {
  const replaced = /^(\w+)Fields$/.exec(schema)?.[1];
  const example = EXAMPLE_BODIES[replaced === undefined ? schema : `New${replaced}`];
  if (example === undefined) throw new Error(`there is no example of ${schema}`);
  const body = example(place);
  if (replaced === undefined) return body;
  const { name: _name, ...fields } = body as { readonly name?: string };
  return fields;
}

/** As `exampleBody`, where what is furnished is known: an object goes back to the version that made it. */
export function furnishedBody(schema: string, place: ConfigurationScope, values: PathValues): unknown {
  return schema === "ObjectRollback" ? { to: Number(values("id", "versions", place)) } : exampleBody(schema, place);
}

export interface ExampleRequest {
  readonly method: string;
  readonly path: string;
  /** Undefined: it takes none. */
  readonly body: unknown;
}

/** A right request for the operation, which changes nothing (`dry_run`). `ownTenant` is that of the caller. */
export function exampleRequest(
  { operationId, method, path, tag, bodySchema, query: parameters }: Described,
  place: ConfigurationScope,
  values: PathValues,
  ownTenant = "acme",
): ExampleRequest {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, variable: string) => values(variable, tag, place));
  const query = new URLSearchParams();
  if (parameters.includes("dry_run")) query.set("dry_run", "true");
  if (operationId.startsWith("diff")) {
    query.set("from", "0");
    query.set("to", "9");
  }
  if (operationId === "readTenantAuditAsOf") query.set("at", "2026-01-01");
  if (operationId === "followCalls") {
    query.set("places", `${place.tenantId}/-`);
    query.set("seconds", "0");
  }
  if (operationId === "listProjects") query.set("tenant_id", place.tenantId === "beta" ? "beta" : ownTenant);
  const body = bodySchema === null ? undefined : furnishedBody(bodySchema, place, values);
  return { method, path: `${address}?${query.toString()}`, body };
}

/** One thing of each kind, set by the lowest role that may: read by all, changed by callers with the role for its kind. */
const THINGS: readonly (Pick<NewResource, "kind" | "name" | "document"> & {
  readonly noun: string;
  readonly setBy: Role;
  readonly ofTenant?: true;
})[] = [
  { noun: "providers", kind: "provider", name: "own", document: { type: "sandbox" }, setBy: "admin", ofTenant: true },
  { noun: "routes", kind: "route", name: "kept", document: { targets: ["sandbox:echo"] }, setBy: "maintainer" },
  { noun: "policies", kind: "policy", name: "kept", document: { rule: "request.stream" }, setBy: "admin" },
  {
    noun: "limits",
    kind: "limit",
    name: "kept",
    document: { metric: "requests", window: "minute", limit: 1000 },
    setBy: "maintainer",
  },
  { noun: "budgets", kind: "budget", name: "kept", document: { usd: "100", window: "day" }, setBy: "maintainer" },
  { noun: "prices", kind: "price", name: "kept", document: { model: "sandbox:*", prompt: "1" }, setBy: "admin" },
  {
    noun: "tool_servers",
    kind: "tool_server",
    name: "kept",
    document: { url: "https://tools.example/mcp" },
    setBy: "admin",
  },
  {
    noun: "webhooks",
    kind: "webhook",
    name: "kept",
    document: { url: "https://hooks.example/in", secret: `whsec_${"A".repeat(43)}=` },
    setBy: "maintainer",
  },
  { noun: "settings", kind: "setting", name: "settings", document: { drop_params: true }, setBy: "maintainer" },
];

/** A session of the tenant's viewer, beside the one that `furnish` puts there. */
export const ownSession = ({ tenantId }: ConfigurationScope): string => `ses_${tenantId}_own`;

/** Opens a session of the tenant's viewer. */
async function openViewersSession(world: AdminWorld, id: string, tenantId: string): Promise<string> {
  await world.store.sessions.openSession({
    id,
    secretHash: id,
    way: "token",
    tenantId,
    userId: `${tenantId}-viewer`,
    tokenId: null,
    identity: "{}",
    rights: "",
    address: null,
    browser: null,
    startedAtMs: Date.now(),
    seenAtMs: Date.now(),
    endsAtMs: Date.UTC(2100, 0, 1),
  });
  return id;
}

/** What stands for a variable of a path, by place and noun. */
export type PathValues = (variable: string, noun: string, place: ConfigurationScope) => string;

/** Puts one of everything into each place. */
export async function furnish(world: AdminWorld, places: readonly ConfigurationScope[]): Promise<PathValues> {
  const ids = new Map<string, string>();
  const key = (noun: string, { tenantId, projectId }: ConfigurationScope): string =>
    `${noun} ${tenantId} ${projectId ?? ""}`;
  for (const place of places) {
    const { version } = await world.store.change(LOCAL_ACTOR, async (writer) => {
      for (const { noun, ofTenant = false, ...thing } of THINGS) {
        if (ofTenant && place.projectId !== null) continue;
        ids.set(key(noun, place), (await writer.createResource({ ...thing, ...place, byOperator: false })).id);
      }
      const event = {
        id: newEventId(),
        type: "token.created",
        atMs: writer.nowMs,
        ...place,
        data: { token_id: "AAAAAAAAAAAA" },
      } as const;
      ids.set(
        key("webhook_deliveries", place),
        await writer.queueEvent(event, { webhookId: ids.get(key("webhooks", place))!, webhookName: "kept", ...place }),
      );
      const userId = `${place.tenantId}-viewer`;
      if (place.projectId !== null) await writer.putMembership({ userId, ...place, role: "viewer" });
      const claimId = `clm_${place.tenantId}_${place.projectId ?? ""}`;
      ids.set(key("claims", place), claimId);
      await writer.createClaim({
        id: claimId,
        codeHash: claimId,
        ...place,
        request: { name: "kept" },
        giver: "{}",
        createdBy: userId,
        createdAtMs: writer.nowMs,
        expiresAtMs: Date.UTC(2100, 0, 1),
        redeemedAtMs: null,
        tokenId: null,
        revokedAtMs: null,
      });
      if (place.projectId === null)
        await writer.beginDrain({
          tenantId: place.tenantId,
          provider: "sandbox",
          model: null,
          untilMs: Date.UTC(2100, 0, 1),
          note: "kept",
          begunBy: userId,
          begunAtMs: writer.nowMs,
        });
      const viewId = `viw_${place.tenantId}_${place.projectId ?? ""}`;
      ids.set(key("views", place), viewId);
      await writer.createView({
        id: viewId,
        owner:
          place.projectId === null
            ? { tenantId: place.tenantId, projectId: null, userId }
            : { tenantId: place.tenantId, projectId: place.projectId, userId: null },
        screen: "calls",
        name: "kept",
        query: "q=status:429",
        isDefault: false,
        createdBy: userId,
        createdAtMs: writer.nowMs,
      });
      const owner = place.projectId === null ? { personal: true, userId } : { projectId: place.projectId };
      ids.set(key("tokens", place), (await createToken(writer, { name: "kept", ...owner }, writer.nowMs)).id);
    });
    ids.set(key("versions", place), String(version));
    ids.set(key("limit_states", place), ids.get(key("limits", place))!);
    if (place.projectId === null) {
      ids.set(key("sessions", place), await openViewersSession(world, `ses_${place.tenantId}`, place.tenantId));
      await openViewersSession(world, ownSession(place), place.tenantId);
    }
    const call = rowOf({ ...place, projectId: place.projectId ?? (place.tenantId === "beta" ? "lab" : "site") });
    const { traceId, projectId } = call.record;
    for (const noun of ["calls", "logs"]) ids.set(key(noun, place), traceId);
    await world.calls.ingest([call]);
    await world.contents.keep([
      {
        traceId,
        tenantId: place.tenantId,
        projectId: projectId!,
        expiresMs: Date.UTC(2100, 0, 1),
        text: '{"messages":[]}',
      },
    ]);
  }
  await world.source.reload();
  return (variable, noun, place) => {
    if (variable === "tenant") return place.tenantId;
    if (variable === "project") return place.projectId!;
    if (variable === "user") return `${place.tenantId}-viewer`;
    if (variable === "provider") return "sandbox";
    return ids.get(key(noun, place)) ?? "none";
  };
}

// Compiles the tool servers of file and store into the set that calls look up by label. Of several with the same name
// the nearest applies: the project's, then the tenant's, then the one for all tenants. Those of a project are put together
// when it first asks: a tenant may have thousands of servers and thousands of projects that inherit them.
import { BoundedCache } from "../core/bounded-cache.ts";
import { sectionSettings } from "../config/section-settings.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { ToolServer, ToolServerSet, ToolTransport } from "../core/configured/tool.ts";
import { digestOf } from "../core/text/digest.ts";
import { OAUTH, type ToolServerDocument } from "./settings.ts";

export const DEFAULT_TIMEOUT_MS = 60_000;
export const DEFAULT_MAX_RESULT_BYTES = 1024 * 1024;
export const DEFAULT_MAX_CONCURRENT = 16;

/** How many tenants and projects have their servers put together at once. */
const MAX_ASKED = 256;

/** A disabled server is null: it still hides servers of the same name in a wider scope. */
type Named = ReadonlyMap<string, ToolServer | null>;

export function compileToolServers(all: readonly Configured<ToolServerDocument>[]): ToolServerSet {
  const compiled = all.map((one) => ({ one, server: one.document.enabled === false ? null : compileToolServer(one) }));
  const byName = (some: typeof compiled = []): Named =>
    new Map(some.map(({ one, server }) => [one.name ?? one.id, server]));
  const ofTenant = Map.groupBy(
    compiled.filter(({ one }) => one.projectId === null),
    ({ one }) => one.tenantId,
  );
  const ofProject = Map.groupBy(
    compiled.filter(({ one }) => one.projectId !== null),
    ({ one }) => one.projectId!,
  );
  const ofFile = byName(ofTenant.get(null));
  const ofAll = enabled(ofFile);
  const asked = new BoundedCache<string, ReadonlyMap<string, ToolServer>>(MAX_ASKED);
  return {
    of(tenantId, projectId) {
      const above = ofTenant.get(tenantId);
      const own = projectId === null ? undefined : ofProject.get(projectId);
      if (own === undefined && above === undefined) return ofAll;
      return asked.getOrMake(JSON.stringify([tenantId, own === undefined ? null : projectId]), () =>
        enabled(new Map([...ofFile, ...byName(above), ...byName(own)])),
      );
    },
    keys: new Set(compiled.flatMap(({ server }) => (server === null ? [] : [server.key]))),
  };
}

function enabled(servers: Named): ReadonlyMap<string, ToolServer> {
  return new Map([...servers].flatMap(([label, server]) => (server === null ? [] : [[label, server]])));
}

export function compileToolServer({
  id,
  name,
  tenantId,
  origin,
  byOperator,
  document,
}: Configured<ToolServerDocument>): ToolServer {
  const transport = transportOf(document, origin === "store" && byOperator !== true);
  const label = name ?? id;
  return {
    key: `${id} ${label} ${digestOf([transport, document.max_result_bytes, document.timeout_s, document.max_concurrent])}`,
    tenantId,
    label,
    transport,
    timeoutMs: document.timeout_s === undefined ? DEFAULT_TIMEOUT_MS : Math.ceil(document.timeout_s * 1000),
    maxResultBytes: document.max_result_bytes ?? DEFAULT_MAX_RESULT_BYTES,
    maxConcurrent: document.max_concurrent ?? DEFAULT_MAX_CONCURRENT,
    allowedTools: document.allowed_tools ?? null,
    role: document.role ?? null,
    approval: document.require_approval ?? "always",
  };
}

function transportOf(
  { transport, url, headers = {}, oauth, command, args = [], environment = {}, folder }: ToolServerDocument,
  guarded: boolean,
): ToolTransport {
  if (transport === "stdio" || (transport === undefined && command !== undefined))
    return { kind: "stdio", command: command!, args, environment, folder: folder ?? null };
  return {
    kind: transport ?? "auto",
    url: url!,
    headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value])),
    oauth: oauth === undefined ? null : { ...sectionSettings(OAUTH, oauth), clientAuth: oauth.client_auth ?? "post" },
    guarded,
  };
}

// The tool servers of the configuration file, as they stand beside those of the store.
import type { Configured } from "../core/configured.ts";
import type { ToolServerDocument } from "../mcp/settings.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

/** A project that the database does not have has no calls, and no tools. */
export function toolServersOfFile({ tool_servers: global, tenants, projects }: Pick<Configuration, "tool_servers" | "tenants" | "projects">, identities: Pick<Identities, "projects">): readonly Configured<ToolServerDocument>[] {
  const of = (place: string, documents: Readonly<Record<string, ToolServerDocument>>, tenantId: string | null, projectId: string | null): readonly Configured<ToolServerDocument>[] =>
    Object.entries(documents).map(([name, document]) => ({ id: `file.${place}tool_servers.${name}`, name, tenantId, projectId, origin: "file", setBy: null, version: 0, document }));
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...of("", global, null, null),
    ...[...tenants].flatMap(([id, scope]) => of(`tenants.${id}.`, scope.toolServers, id, null)),
    ...[...projects].flatMap(([id, scope]) => (tenantOf.has(id) ? of(`projects.${id}.`, scope.toolServers, tenantOf.get(id)!, id) : [])),
  ];
}

// Where an object comes from: the configuration file, or the database with the role that has set it.
import type { ConfiguredObject } from "./noun.ts";

export function OriginBadge({ object: { origin, tenant_id, project_id } }: { readonly object: ConfiguredObject }) {
  const of = project_id === null ? (tenant_id === null ? "all tenants" : "the tenant") : "the project";
  return (
    <span className="badge">
      {origin === "file" ? "file" : "database"}, for {of}
    </span>
  );
}

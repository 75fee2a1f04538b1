// The webhooks of the configuration file, as they stand beside those of the store. Their ids are those that the admin API shows.
import type { Configured } from "../core/configured.ts";
import type { WebhookDocument } from "../observe/webhooks/webhook-settings.ts";
import type { Identities } from "../store/records.ts";
import type { Configuration } from "./configuration.ts";

export function webhooksOfFile({ webhooks, tenants, projects }: Pick<Configuration, "webhooks" | "tenants" | "projects">, identities: Pick<Identities, "projects">): readonly Configured<WebhookDocument>[] {
  const of = (place: string, documents: Readonly<Record<string, WebhookDocument>>, tenantId: string | null, projectId: string | null): readonly Configured<WebhookDocument>[] =>
    Object.entries(documents).map(([name, document]) => ({ id: `${place}.webhooks.${name}`, name, tenantId, projectId, origin: "file", setBy: null, version: 0, document }));
  const tenantOf = new Map(identities.projects.map(({ id, tenantId }) => [id, tenantId]));
  return [
    ...of("file", webhooks, null, null),
    ...[...tenants].flatMap(([id, scope]) => of(`file.tenants.${id}`, scope.webhooks, id, null)),
    // one that is in no tenant hears of nothing, as its project is not there
    ...[...projects].flatMap(([id, scope]) => (tenantOf.has(id) ? of(`file.projects.${id}`, scope.webhooks, tenantOf.get(id)!, id) : [])),
  ];
}

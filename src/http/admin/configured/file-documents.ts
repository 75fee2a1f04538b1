// The resources of the configuration file in the form that the admin API shows, without credentials.
import type { AdminCaller, TenantOrProject } from "../../../auth/grants.ts";
import type { Configured, ConfiguredKind } from "../../../core/configured/configured.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { ScopeSettings } from "../../../core/snapshot.ts";
import { snakeCased } from "../../../core/text/camel-case.ts";
import type { ToolServerDocument } from "../../../mcp/settings.ts";
import type { WebhookDocument } from "../../../observe/webhooks/webhook-settings.ts";
import type { PolicyDocument } from "../../../policies/policy-settings.ts";
import type { ProviderEntry } from "../../../providers/settings.ts";
import type { Configuration } from "../../../snapshot/configuration.ts";
import { documentsOfFile } from "../../../snapshot/file-entries.ts";
import type { ScopeConfiguration } from "../../../snapshot/scopes.ts";
import type { DocumentDependencies } from "./document-rule.ts";

type Documents = readonly (readonly [name: string, document: JsonObject])[];

/** The section of a kind; `null` for kinds that a part of their own reads from the file. */
const SECTIONS = {
  route: "routes",
  price: "prices",
  limit: "limits",
  budget: "budgets",
  policy: "policies",
  provider: null,
  tool_server: null,
  webhook: null,
  setting: null,
} as const satisfies Record<ConfiguredKind, keyof ScopeConfiguration | null>;

/** Returns the resources of the place itself and those that apply to all tenants. */
export function fileDocuments(
  dependencies: DocumentDependencies,
): (
  kind: ConfiguredKind,
  place: TenantOrProject,
  caller: Pick<AdminCaller, "isOperator">,
) => readonly Configured<JsonObject>[] {
  return (kind, place, caller) => {
    const file = dependencies.configuration();
    const { tenantId, projectId } = place;
    const [path, scope] =
      projectId === null
        ? [`file.tenants.${tenantId}`, file.tenants.get(tenantId)]
        : [`file.projects.${projectId}`, file.projects.get(projectId)];
    return [
      ...filed(kind, path, place, scope === undefined ? [] : ofScope(kind, scope)),
      ...filed(kind, "file", { tenantId: null, projectId: null }, ofAllTenants(kind, file, place, caller)),
    ];
  };
}

function filed(
  kind: ConfiguredKind,
  path: string,
  scope: { readonly tenantId: string | null; readonly projectId: string | null },
  documents: Documents,
): readonly Configured<JsonObject>[] {
  const section = SECTIONS[kind] ?? `${kind}s`;
  return documentsOfFile(kind === "setting" ? `${path}.` : `${path}.${section}.`, documents, scope);
}

function ofScope(kind: ConfiguredKind, scope: ScopeConfiguration): Documents {
  if (kind === "setting") return shownSettings(scope.settings);
  if (kind === "webhook") return shownWebhooks(scope.webhooks);
  if (kind === "tool_server") return shownToolServers(scope.toolServers);
  if (kind === "policy") return shownPolicies(scope.policies);
  const section = SECTIONS[kind];
  return section === null ? [] : (Object.entries(asJson(scope[section])) as Documents);
}

function ofAllTenants(
  kind: ConfiguredKind,
  file: Configuration,
  { projectId }: TenantOrProject,
  { isOperator }: Pick<AdminCaller, "isOperator">,
): Documents {
  // Only operators see the webhooks that receive events of all tenants.
  if (kind === "webhook") return isOperator && projectId === null ? shownWebhooks(file.webhooks) : [];
  if (kind === "tool_server") return shownToolServers(file.tool_servers);
  if (kind === "policy") return shownPolicies(file.policies);
  const section = SECTIONS[kind];
  if (section !== null) return Object.entries(asJson(file[section])) as Documents;
  return kind === "provider" && projectId === null
    ? [...file.providers.entries].map(([id, entry]) => [id, shownProvider(entry, isOperator)] as const)
    : [];
}

function shownWebhooks(webhooks: Readonly<Record<string, WebhookDocument>>): Documents {
  return Object.entries(webhooks).map(([name, { url, events, enabled, description, timeout_s, max_attempts }]) => [
    name,
    asJson({ url: url.split("?")[0], events, enabled, description, timeout_s, max_attempts }),
  ]);
}

/**
 * The address and credentials of a tool server concern only the operator; its purpose and its permitted users are shown
 * to all.
 */
function shownToolServers(servers: Readonly<Record<string, ToolServerDocument>>): Documents {
  return Object.entries(servers).map(
    ([
      name,
      {
        url: _url,
        headers: _headers,
        oauth: _oauth,
        transport: _transport,
        command: _command,
        args: _args,
        environment: _environment,
        folder: _folder,
        ...shown
      },
    ]) => [name, asJson(shown)],
  );
}

/** The address and the headers of a guard's service concern only the operator. */
function shownPolicies(policies: Readonly<Record<string, PolicyDocument>>): Documents {
  return Object.entries(policies).map(([name, { guard, ...rest }]) => {
    if (guard?.service === undefined) return [name, asJson(guard === undefined ? rest : { ...rest, guard })];
    const { headers: _headers, url: _url, ...service } = guard.service;
    return [name, asJson({ ...rest, guard: { ...guard, service } })];
  });
}

/** Empty when the file contains no settings for the place. */
function shownSettings({
  dropParams,
  disableStopSequenceLimit,
  responsesStore,
  contentLog,
  cache,
  promptCaching,
  ...same
}: ScopeSettings): Documents {
  const settings = asJson({
    drop_params: dropParams ?? undefined,
    disable_stop_sequence_limit: disableStopSequenceLimit ?? undefined,
    ...snakeCased(same),
    responses: responsesStore && { store: responsesStore },
    content_log: contentLog && {
      ...snakeCased(contentLog),
      redact: contentLog.redact && snakeCased(contentLog.redact),
    },
    cache: cache === "off" ? false : cache && { ttl_s: cache.ttlMs / 1000, scope: cache.scope },
    prompt_cache: promptCaching === "off" ? false : promptCaching,
  });
  return Object.keys(settings).length === 0 ? [] : [["settings", settings]];
}

/** Removes the fields that a parser left undefined. */
function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** Every caller sees that a provider exists; only an operator sees its address. */
function shownProvider({ family, enabled, models, baseUrl }: ProviderEntry, isOperator: boolean): JsonObject {
  const entries = models.map((model) =>
    Object.fromEntries(Object.entries(snakeCased(model)).filter(([, value]) => value !== null)),
  );
  return {
    type: family,
    enabled,
    ...asJson({ base_url: isOperator ? (baseUrl ?? undefined) : undefined, models: entries }),
  };
}

// Opens the metrics with their sources.
import { openModelNames } from "../../accounting/model-names.ts";
import type { BudgetUsage } from "../../admission/budget-usage.ts";
import type { ResponseCache } from "../../cache/response-cache.ts";
import type { LimitStoreFigures } from "../../observe/metrics/limit-store-gauges.ts";
import { type Metrics, type TargetStatus, openMetrics } from "../../observe/metrics/metrics.ts";
import { BUILT_IN_MODELS, providers } from "../../providers/registry.ts";
import type { ReplicaWatch } from "../../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { ExternalClients } from "./open-external-clients.ts";
import type { Notifications } from "./open-notifications.ts";
import type { Records } from "./open-records.ts";

/** The sources of metrics. Limits are opened after the metrics, because they report their response times to them. */
interface MetricParts extends Records, ExternalClients, Notifications {
  targets(): readonly TargetStatus[];
  limits(): { figures?(): LimitStoreFigures };
  budgets(): BudgetUsage;
  readonly replicas: ReplicaWatch;
  cache(): Pick<ResponseCache, "figures">;
}

export function openGatewayMetrics(source: SnapshotSource, parts: MetricParts): Metrics {
  const names = openModelNames(() => source.current(), { providers, builtIn: BUILT_IN_MODELS });
  return openMetrics({
    targets: () => parts.targets(),
    ledger: () => parts.ledger.status(),
    limitStore: () => parts.limits().figures?.() ?? null,
    toolServers: () => parts.toolServers.figures(),
    events: () => parts.events.figures,
    contents: () => parts.contentLog.figures(),
    replicas: () => parts.replicas.figures(),
    configurationFault: () => source.fileFault(),
    cache: () => parts.cache().figures(),
    isCacheShared: source.configuration().cache.store !== "memory",
    budgets: () => parts.budgets().statuses(),
    integrations: () => parts.integrations?.statuses() ?? [],
    modelLabel: names.nameOf,
    isNamedTarget: (target) => names.isNamed(target),
    isRegisteredServer: ({ tenantId, projectId }, label) =>
      tenantId !== null && projectId !== null && source.current().toolServers.of(tenantId, projectId).has(label),
  });
}

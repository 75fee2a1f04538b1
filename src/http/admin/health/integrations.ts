// The integrations that receive the records of calls, as the configuration file has them, and how deliveries to them go.
// Whose calls an integration gets is known to those whose calls they are; figures and errors are about the calls of all
// tenants, so that only operators see them.
import { z } from "zod";
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { IntegrationScope } from "../../../observe/integrations/integration-fields.ts";
import type { Integration } from "../../../observe/integrations/integration-settings.ts";
import type { IntegrationStatus } from "../../../observe/integrations/integrations.ts";
import type { DocumentDependencies } from "../configured/document-rule.ts";
import { type AdminContext, type AdminOperation, PLACES, reading } from "../operation.ts";
import { orNull, time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";
import { SHED_REASONS } from "../../../observe/metrics/integration-gauges.ts";

const count = z.int();
const STATES = ["delivering", "failing", "waiting", "disabled"] as const;

const figures = z
  .strictObject({
    delivered: count,
    failures: count.meta({ description: "Failed attempts, each of one batch." }),
    retries: count,
    queued: count.meta({ description: "Calls that wait to be delivered." }),
    not_delivered: z.record(z.enum(SHED_REASONS), count).meta({
      description: "Calls that were not delivered, by reason, as in the metric `dragoman_integration_shed_total`.",
    }),
  })
  .meta({ id: "IntegrationFigures" });
const integration = z
  .strictObject({
    name: z.string().meta({ description: "Its name in the section `integrations` of the configuration file." }),
    type: z.string(),
    state: z.enum(STATES).meta({
      description: "`failing`: the last delivery failed. `waiting`: nothing was delivered since the gateway started.",
    }),
    content: z.boolean().meta({ description: "Whether it gets prompts and answers, where the tenant keeps them." }),
    only: z.enum(["all", "errors"]),
    sample: z.number().meta({ description: "The share of the calls, or of the traces, that it gets: 0 to 1." }),
    projects: z
      .array(z.string())
      .nullable()
      .meta({ description: "The projects of the scope whose calls it gets; null for all of them." }),
    last_delivery_at: time.nullable().meta({ description: "Since the gateway started, to half a second." }),
    last_failure_at: time.nullable(),
    last_error: z
      .string()
      .nullable()
      .meta({ description: "Only for operators: what the receiver said when it failed." }),
    figures: orNull(figures, "Only for operators, because they count the calls of all tenants since the start."),
  })
  .meta({ id: "Integration" });
const integrations = z.strictObject({ data: z.array(integration) }).meta({ id: "Integrations" });

/** The projects of a place that the scope includes: null for all, an empty list for none. */
function projectsOf(
  { tenants, projects }: IntegrationScope,
  place: TenantOrProject | null,
  snapshot: Snapshot,
): readonly string[] | null {
  if (place === null) return projects;
  if (tenants !== null && !tenants.includes(place.tenantId)) return [];
  if (projects === null) return null;
  return place.projectId !== null
    ? projects.filter((id) => id === place.projectId)
    : projects.filter((id) => snapshot.projects.get(id)?.tenantId === place.tenantId);
}

function statusOf(
  { name, settings }: Integration,
  status: IntegrationStatus | undefined,
  projects: readonly string[] | null,
  isOperator: boolean,
): ThingOf<typeof integration.shape> {
  const { type, enabled, content, scope } = settings;
  return {
    name,
    type,
    state: !enabled ? "disabled" : stateOf(status),
    content,
    only: scope.only,
    sample: "trace" in settings ? settings.trace.sampleRatio : scope.sample,
    projects,
    lastDeliveryAtMs: status?.times.deliveredAtMs ?? null,
    lastFailureAtMs: status?.times.failedAtMs ?? null,
    lastError: isOperator ? (status?.lastError ?? null) : null,
    figures: isOperator && status !== undefined ? figuresOf(status) : null,
  };
}

function stateOf(status: IntegrationStatus | undefined): (typeof STATES)[number] {
  if (status === undefined) return "waiting";
  if (status.sums.failing !== 0) return "failing";
  return status.times.deliveredAtMs === null ? "waiting" : "delivering";
}

const figuresOf = ({ sums }: IntegrationStatus) => ({
  ...sums,
  notDelivered: Object.fromEntries(SHED_REASONS.map((reason) => [reason, sums[reason]])) as Readonly<
    Record<(typeof SHED_REASONS)[number], number>
  >,
});

export function integrationOperations(
  dependencies: Pick<DocumentDependencies, "configuration">,
  statuses: AdminContext["integrations"],
): readonly AdminOperation[] {
  return Object.values(PLACES).map(({ name, base, scopeText }) =>
    reading({
      id: `list${name}Integrations`,
      path: `${base}/integrations`,
      tag: "integrations",
      summary: `List the integrations that receive calls of ${scopeText}, with their last delivery and failure`,
      answer: integrations,
      run: async ({ place, caller, snapshot }) => {
        const known = new Map((await statuses()).map((status) => [status.name, status]));
        const data = dependencies.configuration().integrations.flatMap((one) => {
          const projects = projectsOf(one.settings.scope, place, snapshot);
          const isConcerned = projects === null || projects.length > 0;
          return isConcerned ? [statusOf(one, known.get(one.name), projects, caller.isOperator)] : [];
        });
        return { body: shownAs(integrations, { data }) };
      },
    }),
  );
}

// The section `settings` of the configuration file, and `settings` of tenants and projects in file and store: how
// requests are treated, which models are enabled, and whether content is kept.
import { z } from "zod";
import type { ScopeSettings } from "../core/snapshot.ts";
import { contentLogSchema, toContentLogSettings } from "./content-settings.ts";

const DROP_PARAMS =
  "Drop parameters that the provider does not support and name them in `x-gateway-dropped-params`, instead of refusing the call.";
const DISABLE_STOP_LIMIT = "Pass on more than 4 stop sequences; otherwise only the first 4 are kept.";

export const scopeSettings = z.strictObject({
  drop_params: z
    .boolean()
    .optional()
    .meta({
      title: "Drop parameters",
      description: `${DROP_PARAMS} The default is the value of the next wider scope.`,
    }),
  disable_stop_sequence_limit: z
    .boolean()
    .optional()
    .meta({
      title: "No limit on stop sequences",
      description: `${DISABLE_STOP_LIMIT} The default is the value of the next wider scope.`,
    }),
  content_log: contentLogSchema.optional(),
  models: z.array(z.string().min(1).max(400)).max(1000).optional().meta({
    title: "Models",
    description:
      "Models that are enabled, each as `<provider>:<model_name>`, with `*` for any text. All others are answered with 404 `model_not_found`, also as targets of a route. The default is all models; a model must be enabled by both tenant and project.",
  }),
});
export const toScopeSettings = (
  file: Omit<z.output<typeof scopeSettings>, "content_log"> & {
    readonly content_log?: z.output<typeof contentLogSchema> | undefined;
  },
): ScopeSettings => ({
  dropParams: file.drop_params ?? null,
  disableStopSequenceLimit: file.disable_stop_sequence_limit ?? null,
  ...(file.models !== undefined && { models: file.models }),
  ...(file.content_log !== undefined && { contentLog: toContentLogSettings(file.content_log) }),
});

export const settingsSection = z
  .strictObject({
    drop_params: z
      .boolean()
      .default(false)
      .meta({
        title: "Drop parameters",
        description: `${DROP_PARAMS} The first value set in this order is used: request, route, project, tenant, this one.`,
      }),
    disable_stop_sequence_limit: z
      .boolean()
      .default(false)
      .meta({ title: "No limit on stop sequences", description: DISABLE_STOP_LIMIT }),
  })
  .transform(toScopeSettings)
  .prefault({})
  .meta({
    title: "Settings",
    description: "Defaults for requests; a tenant, project or request can override them.",
  });

/** Not allowed in the settings of a project: only the tenant decides which projects keep content. */
export const MISPLACED_PROJECTS = {
  path: ["content_log", "projects"],
  message: "only the settings of a tenant can list the projects whose content is kept",
};

const ofProject = scopeSettings.refine(
  ({ content_log: contentLog }) => contentLog?.projects === undefined,
  MISPLACED_PROJECTS,
);

/** The `settings` of one tenant or project. */
export const scopeSettingsSection = (noun: "tenant" | "project") =>
  (noun === "project" ? ofProject : scopeSettings)
    .transform(toScopeSettings)
    .prefault({})
    .meta({ title: "Settings", description: `Settings of this ${noun}.` });

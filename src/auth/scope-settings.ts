// The section `settings` of the configuration file, and `settings` of tenants and projects in file and store: how
// requests are treated, which models are enabled, and whether content is kept.
import { z } from "zod";
import type { ScopeSettings } from "../core/snapshot.ts";
import { contentLogSchema, toContentLogSettings } from "./content-settings.ts";

const DROP_PARAMS =
  "Drop parameters that a model's provider does not have, and name them in `x-gateway-dropped-params`, where the call would otherwise be refused.";
const DISABLE_STOP_LIMIT = "Pass more than 4 stop sequences on; otherwise the first 4 are kept.";

export const scopeSettings = z.strictObject({
  drop_params: z
    .boolean()
    .optional()
    .meta({ title: "Drop parameters", description: `${DROP_PARAMS} Not set: the next wider scope decides.` }),
  disable_stop_sequence_limit: z
    .boolean()
    .optional()
    .meta({
      title: "No limit on stop sequences",
      description: `${DISABLE_STOP_LIMIT} Not set: the next wider scope decides.`,
    }),
  content_log: contentLogSchema.optional(),
  models: z.array(z.string().min(1).max(400)).max(1000).optional().meta({
    title: "Models",
    description:
      "Models that are enabled here, each as `<provider>:<model_name>`, with `*` for any text. Every other is unknown (404 `model_not_found`), also as a target of a route. Not set: all; tenant and project both have to enable a model.",
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
        description: `${DROP_PARAMS} The setting nearest to the call decides: request, route, project, tenant, then this one.`,
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
    description: "How requests are treated where no tenant, project or request says otherwise.",
  });

/** Not allowed in the settings of a project: only the tenant decides which projects keep content. */
export const MISPLACED_PROJECTS = {
  path: ["content_log", "projects"],
  message: "only the settings of a tenant say which projects keep what is said",
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

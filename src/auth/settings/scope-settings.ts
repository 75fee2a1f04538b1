// The section `settings` of the configuration file, and `settings` of tenants and projects in file and store: how
// requests are treated, which models are enabled, and whether content is kept.
import { z } from "zod";
import { camelCased } from "../../core/text/camel-case.ts";
import { CLIENT_DEVIATION_NAMES } from "../../core/configured/client-deviations.ts";
import type { ScopeSettings } from "../../core/snapshot.ts";
import { isTimeZone } from "../../core/configured/time-zone.ts";
import { cacheUseSchema, toCacheUse } from "./cache-use-settings.ts";
import { promptCacheSchema, toPromptCaching } from "./prompt-cache-settings.ts";
import { contentLogSchema, toContentLogSettings } from "./content-settings.ts";

const DROP_PARAMS =
  "Drop parameters that the provider does not support and name them in `x-gateway-dropped-params`, instead of refusing the call.";
const DISABLE_STOP_LIMIT = "Pass on more than 4 stop sequences; otherwise only the first 4 are kept.";

const responsesSettings = z
  .strictObject({ store: z.enum(["off", "ephemeral", "on"]) })
  .optional()
  .meta({
    title: "Responses",
    description:
      "`store`: whether responses are kept, so that later calls can refer to them ([responses.md](responses.md#responses-that-are-kept)): `ephemeral` for an hour in memory, `on` in the database where the project keeps content (`content_log`), and for as long as that, or `off`. The narrowest scope decides, but each scope can turn it off; the default is `ephemeral`.",
  });

const clientDeviations = z.partialRecord(z.enum(CLIENT_DEVIATION_NAMES), z.boolean()).optional().meta({
  title: "Deviations for clients",
  description:
    "What the gateway does for named clients ([clients/README.md](clients/README.md#what-the-gateway-does-for-named-clients)), by name: `false` switches it off. The first value set in this order is used: project, tenant, gateway. The default is `true`.",
});

export const timeZoneName = z
  .string()
  .refine(isTimeZone, "expected the name of a time zone such as Europe/Berlin, or UTC");
const timezone = timeZoneName.optional().meta({
  title: "Time zone",
  description:
    "The time zone of days in reports of usage where a request names none, by its name in the IANA database, such as `Europe/Berlin`; a project has none of its own. The first value set in this order is used: tenant, gateway. The default is UTC. Budgets follow the calendar of UTC in any case.",
});

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
  responses: responsesSettings,
  client_deviations: clientDeviations,
  content_log: contentLogSchema.optional(),
  cache_allowed: z.boolean().optional().meta({
    title: "Response cache allowed",
    description:
      "Whether answers of this tenant may be kept in the response cache; only the settings of a tenant can say so. The default is false.",
  }),
  cache: cacheUseSchema.meta({
    title: "Response cache",
    description:
      "How the calls of this project use the response cache, if the tenant allows it; only the settings of a project can say so. `cache` of a route takes precedence. The default is that requests turn it on.",
  }),
  prompt_cache: promptCacheSchema.meta({
    title: "Prompt cache",
    description:
      "`auto` has vendors cache the prompts of this project's conversations ([prompt-cache.md](prompt-cache.md)); only the settings of a project can say so. `prompt_cache` of a route takes precedence. The default is that only marks of clients count.",
  }),
  timezone,
  models: z.array(z.string().min(1).max(400)).max(1000).optional().meta({
    title: "Models",
    description:
      "Models that are enabled, each as `<provider>:<model_name>`, with `*` for any text. All others are answered with 404 `model_not_found`, also as targets of a route. The default is all models; a model must be enabled by both tenant and project.",
  }),
});

export function toScopeSettings(file: Partial<z.output<typeof scopeSettings>>): ScopeSettings {
  const {
    drop_params: dropParams = null,
    disable_stop_sequence_limit: disableStopSequenceLimit = null,
    responses,
    content_log: contentLog,
    cache,
    prompt_cache: promptCache,
    ...same
  } = file;
  return {
    dropParams,
    disableStopSequenceLimit,
    ...camelCased(same),
    ...(responses !== undefined && { responsesStore: responses.store }),
    ...(contentLog !== undefined && { contentLog: toContentLogSettings(contentLog) }),
    ...(cache !== undefined && { cache: toCacheUse(cache) }),
    ...(promptCache !== undefined && { promptCaching: toPromptCaching(promptCache) }),
  };
}

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
    responses: responsesSettings,
    client_deviations: clientDeviations,
    timezone,
  })
  .transform(toScopeSettings)
  .prefault({})
  .meta({
    title: "Settings",
    description: "Defaults for requests; a tenant, project or request can override them.",
  });

interface MisplacedSetting {
  readonly path: string[];
  readonly message: string;
}

/**
 * Only the tenant decides which projects keep content, and whether answers are kept. Who shares an answer is decided by a
 * project or a route (promise 13.4).
 */
const MISPLACED: Readonly<Record<"tenant" | "project", readonly MisplacedSetting[]>> = {
  project: [
    {
      path: ["content_log", "projects"],
      message: "only the settings of a tenant can list the projects whose content is kept",
    },
    { path: ["cache_allowed"], message: "only the settings of a tenant can allow the response cache" },
    { path: ["timezone"], message: "only the settings of a tenant can name the time zone of its reports" },
  ],
  tenant: [
    { path: ["cache"], message: "only the settings of a project, or a route, can turn the response cache on" },
    {
      path: ["prompt_cache"],
      message: "only the settings of a project, or a route, can say how prompt caches are used",
    },
  ],
};

function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (value, name) =>
      typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined,
    document,
  );
}

/** What a document of settings says although it is a matter of another scope. */
export function misplacedSettings(document: unknown, noun: "tenant" | "project"): readonly MisplacedSetting[] {
  return MISPLACED[noun].filter(({ path }) => valueAt(document, path) !== undefined);
}

/** The `settings` of one tenant or project. */
export const scopeSettingsSection = (noun: "tenant" | "project") =>
  MISPLACED[noun]
    .reduce(
      (schema, { path, message }) =>
        schema.refine((settings) => valueAt(settings, path) === undefined, { path: [...path], message }),
      scopeSettings,
    )
    .transform(toScopeSettings)
    .prefault({})
    .meta({ title: "Settings", description: `Settings of this ${noun}.` });

// How tenants keep the content of their calls (promise 11.3): the settings, and what results from them in a project.
// Nothing is kept unless the tenant turns it on, and the settings of a project can only reduce what is kept.

// Decides (records and configuration): For how long are prompts and answers kept, who reads them, and how are they
// removed? By: `compileContentLogs`. Also: `auth/admin-operations.ts` (`ADMIN_OPERATIONS`); `http/admin/calls/logs.ts`.
// Rule: Only where the tenant turns it on. Reading needs `read_content`, and is in the audit log before anything is
// shown. What is kept of a whole tenant or project is removed together.
import { z } from "zod";
import type { ContentLogs, ContentRules } from "../../core/configured/content.ts";
import { camelCased } from "../../core/text/camel-case.ts";
import type { Project } from "../../core/identity.ts";
import type { ContentLogSettings, ScopeSettings } from "../../core/snapshot.ts";
import { detectorsOf, DETECTOR_CLASSES } from "../../guards/detector-classes.ts";
import { NATIONAL_ID_NAMES, type NationalId } from "../../guards/detector-national-ids.ts";
import { PatternError } from "../../guards/pattern-program.ts";
import { guardPattern } from "../../guards/compile-guard.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const DEFAULT_CHARACTERS = 65_536;
const MAX_CHARACTERS = 1_048_576;
const MAX_PATTERNS = 50;

const redact = z
  .strictObject({
    classes: z.array(z.enum(DETECTOR_CLASSES)).max(DETECTOR_CLASSES.length).optional().meta({
      title: "Classes",
      description:
        "Kinds of personal data and secrets that are replaced. The default is all of them; an empty list means none.",
    }),
    national_ids: z
      .array(z.enum(NATIONAL_ID_NAMES as [NationalId, ...NationalId[]]))
      .max(100)
      .optional()
      .meta({
        title: "National ids",
        description: "National ids that the class `national_id` includes. The default is all of them.",
      }),
    patterns: z
      .array(z.string().min(1).max(1000))
      .max(MAX_PATTERNS)
      .optional()
      .meta({ title: "Patterns", description: "Regular expressions (RE2) whose matches are replaced by `[masked]`." }),
  })
  .superRefine(({ patterns = [] }, context) =>
    patterns.forEach((text, index) => {
      try {
        guardPattern(text);
      } catch (thrown) {
        if (!(thrown instanceof PatternError)) throw thrown;
        context.addIssue({
          code: "custom",
          path: ["patterns", index],
          message: `not a valid pattern: ${thrown.message}`,
        });
      }
    }),
  );

export const contentLogSchema = z
  .strictObject({
    enabled: z.boolean().meta({
      title: "Enabled",
      description:
        "Whether content is kept. In a project `false` turns it off; `true` has no effect, because only the tenant can turn it on.",
    }),
    projects: z.array(z.string().min(1).max(64)).max(1000).optional().meta({
      title: "Projects",
      description: "Projects whose content is kept; only for a tenant. The default is all projects.",
    }),
    retention_days: z
      .int()
      .min(1)
      .max(3650)
      .optional()
      .meta({
        title: "Retention",
        description: `Days that content is kept, counted from the call. The default is ${DEFAULT_DAYS}. A change does not affect content that is kept already.`,
      }),
    sample: z.number().min(0).max(1).optional().meta({
      title: "Sample",
      description:
        "The share of calls whose content is kept, chosen by trace id, so that all replicas choose the same calls. The default is 1, all calls.",
    }),
    keep_in: z.enum(["store", "integrations"]).optional().meta({
      title: "Where",
      description:
        "`store` (the default) keeps content in the database, encrypted, and sends it to integrations with `content: true`. `integrations` only sends it to these integrations.",
    }),
    max_characters: z
      .int()
      .min(256)
      .max(MAX_CHARACTERS)
      .optional()
      .meta({
        title: "Size",
        description: `Maximum number of characters to keep of one call. The answer may take half of them; of a longer conversation the last messages are kept. The default is ${DEFAULT_CHARACTERS}.`,
      }),
    redact: redact.optional().meta({
      title: "Redaction",
      description:
        "What is replaced before content is kept or sent. Guards of the project that mask or block apply too.",
    }),
  })
  .meta({
    title: "Content log",
    description:
      "Keeps prompts and answers: docs/integrations/content-log.md. It is off unless the tenant turns it on; the settings of a project can only restrict those of its tenant.",
  });

export const toContentLogSettings = ({
  redact: own,
  ...rest
}: z.output<typeof contentLogSchema>): ContentLogSettings => ({
  ...camelCased(rest),
  ...(own !== undefined && { redact: camelCased(own) }),
});

/** The section `content_log` of the configuration file. */
export const contentLogSection = z
  .strictObject({
    allowed: z.boolean().default(true).meta({
      title: "Allowed",
      description: "`false`: no content is kept or sent, whatever the settings of tenants are.",
    }),
  })
  .prefault({})
  .meta({
    title: "Content log",
    description: "Whether tenants may keep prompts and answers: docs/integrations/content-log.md.",
  });

/** The effective rules of each project that keeps content. */
export function compileContentLogs(
  isAllowed: boolean,
  projects: readonly Project[],
  ofTenants: ReadonlyMap<string, ScopeSettings>,
  ofProjects: ReadonlyMap<string, ScopeSettings>,
): ContentLogs {
  if (!isAllowed || ![...ofTenants.values()].some(({ contentLog }) => contentLog?.enabled === true)) return NONE;
  return new Map(
    projects.flatMap(({ id, tenantId }) => {
      const rules = rulesOf(id, ofTenants.get(tenantId)?.contentLog, ofProjects.get(id)?.contentLog);
      return rules === null ? [] : [[id, rules] as const];
    }),
  );
}

const NONE: ContentLogs = new Map();

function rulesOf(
  projectId: string,
  tenant: ContentLogSettings | undefined,
  own: ContentLogSettings | undefined,
): ContentRules | null {
  if (tenant?.enabled !== true || own?.enabled === false || tenant.projects?.includes(projectId) === false) return null;
  const least = (of: (settings: ContentLogSettings) => number | undefined, unset: number): number =>
    Math.min(of(tenant) ?? unset, (own === undefined ? undefined : of(own)) ?? Number.POSITIVE_INFINITY);
  const both = [tenant, ...(own === undefined ? [] : [own])];
  return {
    sample: least(({ sample }) => sample, 1),
    retentionMs: least(({ retentionDays }) => retentionDays, DEFAULT_DAYS) * DAY_MS,
    isStored: both.every(({ keepIn = "store" }) => keepIn === "store"),
    maxCharacters: least(({ maxCharacters }) => maxCharacters, DEFAULT_CHARACTERS),
    detectors: [...new Set(both.flatMap((settings) => detectorsIn(settings, settings === tenant)))],
  };
}

/** A project whose settings name no classes adds none to those of its tenant. */
function detectorsIn(
  { redact: { classes, nationalIds = [], patterns = [] } = {} }: ContentLogSettings,
  isTenant: boolean,
): ContentRules["detectors"] {
  const chosen = classes ?? (isTenant ? DETECTOR_CLASSES : []);
  return [
    ...DETECTOR_CLASSES.filter((name) => chosen.includes(name)).flatMap((name) =>
      detectorsOf(name, nationalIds as readonly NationalId[]),
    ),
    ...patterns.map(guardPattern),
  ];
}

// The document of a webhook, as the file's sections `webhooks` and the admin API accept it and the store keeps it, and
// how such documents become the set of subscribed webhooks. Secrets have the form of
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { httpAddress } from "../../config/http-address.ts";
import type { Configured } from "../../core/configured/configured.ts";
import { EVENT_TYPES, type GatewayEvent, type Webhook, type WebhookSet } from "../../core/record/event.ts";
import { compileGlob } from "../../core/text/glob.ts";

const MAX_WEBHOOKS = 1000;
const SECRET_BYTES = 32;
const DEFAULT_TIMEOUT_S = 15;
const DEFAULT_ATTEMPTS = 10;
export const MAX_ATTEMPTS = 20;

/** The specification asks for 24 to 64 random bytes. */
const SECRET =
  /^whsec_(?:[A-Za-z0-9+/]{4}){8,20}(?:[A-Za-z0-9+/]{4}(?:[A-Za-z0-9+/]{2}==)?|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|)$/;

export function newWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/** A refinement and not a pattern of the schema, because responses show the secret masked. */
export const webhookSecret = z
  .string()
  .max(200)
  .refine((text) => SECRET.test(text), "expected `whsec_` and 24 to 64 random bytes in base64");

const SHAPE = {
  url: httpAddress.meta({
    title: "URL",
    description: "Address to which events are sent with POST. Redirects are not followed but count as failures.",
  }),
  events: z
    .array(
      z
        .string()
        .max(100)
        .refine(
          (pattern) => EVENT_TYPES.some((type) => compileGlob(pattern)(type)),
          `expected an event type, with * for any text: ${EVENT_TYPES.join(", ")}`,
        ),
    )
    .min(1)
    .max(50)
    .default(["*"])
    .meta({ title: "Events", description: "Event types to send, with `*` for any text. The default is all." }),
  enabled: z.boolean().default(true).meta({
    title: "Enabled",
    description: "`false` disables it: waiting deliveries end, and events during that time are never sent.",
  }),
  description: z.string().min(1).max(500).optional().meta({ title: "Description", description: "Text for display." }),
  timeout_s: z.number().gt(0).max(60).default(DEFAULT_TIMEOUT_S).meta({
    title: "Seconds",
    description: "Time limit of one delivery attempt, from the DNS lookup to the end of the response.",
  }),
  max_attempts: z.int().min(1).max(MAX_ATTEMPTS).default(DEFAULT_ATTEMPTS).meta({
    title: "Attempts",
    description:
      "Maximum number of attempts of a delivery: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, and then every 24 h.",
  }),
  previous_secret: webhookSecret.optional().meta({
    title: "Previous secret",
    description: "Signs in addition to `secret` until `previous_secret_until`, so that the receiver can change over.",
  }),
  previous_secret_until: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ title: "Until", description: "When `previous_secret` expires, such as `2026-01-31T09:00:00Z`." }),
};

const SECRET_MEANING =
  "The secret that signs deliveries (Standard Webhooks): `whsec_` and 24 to 64 random bytes in base64.";

/** A former secret without an end would sign nothing. */
const hasEnd = (webhook: { readonly previous_secret?: unknown; readonly previous_secret_until?: unknown }): boolean =>
  webhook.previous_secret === undefined || webhook.previous_secret_until !== undefined;
const NO_END = { path: ["previous_secret_until"], message: "is missing: expected until when previous_secret signs" };

/** The schema of the admin API and the store. */
export const webhookSchema = z
  .strictObject({
    ...SHAPE,
    secret: webhookSecret.optional().meta({
      title: "Secret",
      description: `${SECRET_MEANING} By default one is generated and shown only in this response.`,
    }),
  })
  .refine(hasEnd, NO_END)
  .meta({ title: "Webhook", description: "An address to which events are sent." });

export type WebhookDocument = z.output<typeof webhookSchema>;

/** A secret that the gateway made could not be shown for a webhook in the file, so the file has to give it. */
const filedSchema = z
  .strictObject({
    ...SHAPE,
    secret: webhookSecret.meta({
      title: "Secret",
      description: `${SECRET_MEANING} Best as \`"\${file:...}"\` or \`"\${VARIABLE}"\`. Create one with \`echo whsec_$(openssl rand -base64 32)\`.`,
    }),
  })
  .refine(hasEnd, NO_END);

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export const webhooksSection = z
  .record(
    z.string().regex(NAME, "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"),
    filedSchema,
  )
  .refine((webhooks) => Object.keys(webhooks).length <= MAX_WEBHOOKS, `expected at most ${MAX_WEBHOOKS} webhooks`)
  .prefault({})
  .meta({
    title: "Webhooks",
    description:
      "Addresses to which events are sent, by name: [integrations/webhooks.md](integrations/webhooks.md). Webhooks at the top level of the file get the events of all tenants and of the gateway itself.",
  });

/** Throws Error for a document without a secret, which the schema accepts. */
export function compileWebhooks(configured: readonly Configured<WebhookDocument>[]): WebhookSet {
  const all = configured.map(webhookOf);
  const byId = new Map(all.map((one) => [one.id, one]));
  const byPlace = Map.groupBy(
    all.filter(({ isEnabled }) => isEnabled),
    placeOf,
  );
  const at = (place: string): readonly Webhook[] => byPlace.get(place) ?? [];
  return {
    size: all.length,
    recipients: ({ type, tenantId, projectId }: Pick<GatewayEvent, "type" | "tenantId" | "projectId">) =>
      [
        ...at("everywhere"),
        ...(tenantId === null ? [] : at(`tenant ${tenantId}`)),
        ...(projectId === null ? [] : at(`project ${tenantId} ${projectId}`)),
      ].filter((one) => one.subscribesTo(type)),
    find: (id) => byId.get(id) ?? null,
  };
}

/** With the tenant of a project: after a removal, a project of another tenant may have its id. */
function placeOf({ tenantId, projectId }: Webhook): string {
  if (projectId !== null) return `project ${tenantId} ${projectId}`;
  return tenantId === null ? "everywhere" : `tenant ${tenantId}`;
}

function webhookOf({ id, name, tenantId, projectId, origin, document }: Configured<WebhookDocument>): Webhook {
  const { secret: own, previous_secret: previous, previous_secret_until: until } = document;
  if (own === undefined) throw new Error("it has no secret to sign with");
  const globs = document.events.map((pattern) => compileGlob(pattern));
  return {
    id,
    name,
    tenantId,
    projectId,
    origin,
    url: document.url,
    isEnabled: document.enabled,
    subscribesTo: (type) => globs.some((matches) => matches(type)),
    secret: own,
    previous: previous === undefined || until === undefined ? null : { secret: previous, untilMs: Date.parse(until) },
    timeoutMs: document.timeout_s * 1000,
    maxAttempts: document.max_attempts,
  };
}

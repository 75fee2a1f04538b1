// Operations on webhooks beyond creating, reading, changing and removing them: a new secret, a test, and their
// deliveries, which can be read and sent again.
import { z } from "zod";
import { nothingThere, type TenantOrProject } from "../../../auth/grants.ts";
import { requireConfigures } from "../../../auth/tokens/restriction-grants.ts";
import type { Configured } from "../../../core/configured/configured.ts";
import { EVENT_TYPES, TEST_EVENT } from "../../../core/record/event.ts";
import { newEventId } from "../../../core/record/event-id.ts";
import type { JsonObject } from "../../../core/json.ts";
import { conflict } from "../../../core/refusals.ts";
import { newWebhookSecret } from "../../../observe/webhooks/webhook-settings.ts";
import { type Delivery, DELIVERY_STATES, type DeliveryFilter } from "../../../store/events/events.ts";
import type { Reader } from "../../../store/reader.ts";
import {
  type ConfiguredContext,
  findInUse,
  requireChangeable,
  requireResource,
} from "../configured/configured-resources.ts";
import { shownResource } from "../configured/configured-shapes.ts";
import { askedBy, placeAsked } from "../asked.ts";
import { type AdminCall, type AdminOperation, PLACES, type Reach, reading, writing } from "../operation.ts";
import { etagOf, instant, iso, listed, listOf, pageOf, pageQuery, time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const DEFAULT_OVERLAP_MINUTES = 1440;
const MOST_OVERLAP_MINUTES = 365 * 1440;

const TYPES = [...EVENT_TYPES, TEST_EVENT] as const;
const DELIVERY_SHAPE = {
  id: z.string(),
  state: z
    .enum(DELIVERY_STATES)
    .meta({ description: "`pending`: waiting or being attempted; `dead`: given up after the last attempt." }),
  type: z.enum(TYPES),
  event_id: z.string().meta({ description: "The header `webhook-id` of every attempt." }),
  webhook_id: z.string(),
  webhook_name: z.string().nullable(),
  tenant_id: z
    .string()
    .nullable()
    .meta({ description: "Tenant of the webhook. Null if the configuration file defines it for all tenants." }),
  project_id: z.string().nullable(),
  attempts: z.int().meta({ description: "Attempts since it was last put into the queue." }),
  created_at: time,
  next_attempt_at: time.nullable(),
  ended_at: time.nullable(),
  last_status: z.int().nullable().meta({ description: "Null if the receiver did not answer." }),
  last_error: z.string().nullable(),
};
const delivery = z.strictObject(DELIVERY_SHAPE).meta({ id: "WebhookDelivery" });
const attempt = z
  .strictObject({
    at: time,
    duration_ms: z.int(),
    status: z.int().nullable(),
    error: z.string().nullable(),
    answer: z.string().nullable().meta({ description: "The beginning of the receiver's response." }),
  })
  .meta({ id: "WebhookAttempt" });
const detail = z
  .strictObject({
    ...DELIVERY_SHAPE,
    event: z.record(z.string(), z.unknown()).meta({ description: "The body that is sent to the receiver." }),
    history: z.array(attempt).meta({ description: "The last 20 attempts." }),
  })
  .meta({ id: "WebhookDeliveryDetail" });

const rotation = z
  .strictObject({
    overlap_minutes: z.number().min(0).max(MOST_OVERLAP_MINUTES).nullish().meta({
      description:
        "How long the old secret signs too; the default is 24 h. While an earlier one still signs, only 0 is accepted, which ends both at once.",
    }),
  })
  .meta({ id: "WebhookRotation" });

const sourceOf = (of: Delivery): ThingOf<typeof DELIVERY_SHAPE> => ({
  ...of,
  type: of.event.type,
  eventId: of.event.id,
  nextAttemptAtMs: of.nextAtMs,
});

function shownDetail(of: Delivery): JsonObject {
  const { id, type, atMs, tenantId, projectId, data } = of.event;
  const event = { id, type, timestamp: iso(atMs), tenant_id: tenantId, project_id: projectId, data };
  return shownAs(detail, { ...sourceOf(of), event, history: of.history });
}

function webhookOperations(
  reach: "tenant" | "project",
  context: ConfiguredContext,
  webhook: z.ZodType,
): readonly AdminOperation[] {
  const { name: place, base } = PLACES[reach];
  const item = `${base}/webhooks/{id}`;
  const rotate = writing({
    id: `rotate${place}Webhook`,
    method: "post",
    tag: "webhooks",
    path: `${item}/rotate`,
    summary: "Rotate the secret of a webhook; the response shows it this once, and the old one signs too for a while",
    body: rotation,
    bodyOptional: true,
    answer: webhook,
    run: async (call, writer) => {
      const current = await requireChangeable(call, writer, "webhook", context);
      requireConfigures(call.caller.token);
      const secret = newWebhookSecret();
      const overlapMs = (call.body.overlap_minutes ?? DEFAULT_OVERLAP_MINUTES) * 60_000;
      const { secret: old, previous_secret: _, previous_secret_until: until, ...rest } = current.document;
      // the document has one place for an old secret, which signs to the end that its rotation promised
      if (overlapMs > 0 && typeof until === "string" && Date.parse(until) > call.nowMs)
        throw conflict(
          `The previous secret of the webhook signs until ${until}. Rotate the secret again after that, or with overlap_minutes 0, which ends both old secrets at once.`,
        );
      const previous =
        overlapMs === 0 || old === undefined
          ? {}
          : { previous_secret: old, previous_secret_until: iso(call.nowMs + overlapMs) };
      const kept = await writer.changeResource("webhook", current.id, ({ name }) => ({
        name,
        document: { ...rest, ...previous, secret },
      }));
      const repeated = shownResource(kept);
      return { body: call.dryRun ? repeated : { ...repeated, secret }, repeated, etag: etagOf(kept) };
    },
  });
  const test = writing({
    id: `test${place}Webhook`,
    method: "post",
    tag: "webhooks",
    path: `${item}/test`,
    summary: "Send the event webhook.test to a webhook; the delivery shows the result",
    answer: detail,
    run: async (call, writer) => {
      const { id, name, tenantId, projectId, isEnabled } = await requireWebhook(call, writer, context);
      if (!isEnabled) throw conflict("The webhook is disabled, so nothing can be sent to it. Enable it first.");
      const { tenantId: ofTenant, projectId: ofProject } = call.place!;
      const event = {
        id: newEventId(),
        type: TEST_EVENT,
        atMs: call.nowMs,
        tenantId: ofTenant,
        projectId: ofProject,
        data: {
          webhook_id: id,
          webhook: name,
          by: { token_id: call.caller.token.id, user_id: call.caller.token.userId, role: call.role },
        },
      } as const;
      const queued = await writer.queueEvent(event, { webhookId: id, webhookName: name, tenantId, projectId });
      return { body: shownDetail((await writer.findDelivery(queued))!) };
    },
  });
  return [rotate, test];
}

type AnyWebhook = Pick<Configured<JsonObject>, "id" | "name" | "tenantId" | "projectId"> & {
  readonly isEnabled: boolean;
};

/** A webhook of the file or of the database: both can be tested. */
async function requireWebhook(call: AdminCall, store: Reader, context: ConfiguredContext): Promise<AnyWebhook> {
  const inUse = await findInUse(call, store, "webhook", call.params["id"]!, context);
  const found = inUse ?? (await requireResource(call, store, "webhook", context));
  return {
    id: found.id,
    name: found.name,
    tenantId: found.tenantId,
    projectId: found.projectId,
    isEnabled: found.document["enabled"] !== false,
  };
}

const word = z.string().min(1).max(200).optional();
const deliveryFilters = {
  state: z.enum(DELIVERY_STATES).optional(),
  type: z.enum(TYPES).optional(),
  webhook_id: word,
  event_id: word,
  from: instant.optional().meta({ description: "Only deliveries created at this time or later." }),
  to: instant.optional().meta({ description: "Only deliveries created before this time." }),
};
const deliveriesQuery = z.strictObject({ ...pageQuery, ...deliveryFilters });

const WHOSE: Readonly<Record<Reach, string>> = {
  operator: "all webhooks",
  tenant: "the webhooks of the tenant and its projects",
  project: "the webhooks of the project",
};

function isWithin(of: Delivery, place: TenantOrProject | null): boolean {
  return (
    place === null || (of.tenantId === place.tenantId && (place.projectId === null || of.projectId === place.projectId))
  );
}

async function requireDelivery({ place, params }: AdminCall, store: Reader): Promise<Delivery> {
  const found = await store.findDelivery(params["id"]!);
  if (found === null || !isWithin(found, place)) throw nothingThere(`delivery ${params["id"]!}`);
  return found;
}

function deliveryOperations(reach: Reach): readonly AdminOperation[] {
  const { name, base } = PLACES[reach];
  const path = `${base}/webhook_deliveries`;
  const about = { tag: "webhook_deliveries" };
  const list = reading({
    ...about,
    id: `list${name}WebhookDeliveries`,
    path,
    summary: `List the deliveries of ${WHOSE[reach]}, the newest first`,
    query: deliveriesQuery,
    answer: listOf(delivery, `${name}WebhookDeliveryList`),
    run: async ({ place, query }, store) => {
      const filter: DeliveryFilter = { ...askedBy(deliveryFilters, query), ...placeAsked(place) };
      return {
        body: listed(await store.listDeliveries(pageOf(query), filter), (of) => shownAs(delivery, sourceOf(of))),
      };
    },
  });
  const read = reading({
    ...about,
    id: `read${name}WebhookDelivery`,
    path: `${path}/{id}`,
    summary: "Get a delivery with its event and last attempts",
    answer: detail,
    run: async (call, store) => ({ body: shownDetail(await requireDelivery(call, store)) }),
  });
  const redeliver = writing({
    ...about,
    id: `redeliver${name}WebhookDelivery`,
    method: "post",
    path: `${path}/{id}/redeliver`,
    summary: "Send a delivery again, whatever its state",
    answer: detail,
    run: async (call, writer) => {
      const { id } = await requireDelivery(call, writer);
      await writer.redeliver(id);
      return { body: shownDetail((await writer.findDelivery(id))!) };
    },
  });
  return [list, read, redeliver];
}

/** `webhook` is the schema of one webhook in a response. */
export function webhookAdminOperations(context: ConfiguredContext, webhook: z.ZodType): readonly AdminOperation[] {
  return [
    ...webhookOperations("tenant", context, webhook),
    ...webhookOperations("project", context, webhook),
    ...deliveryOperations("operator"),
    ...deliveryOperations("tenant"),
    ...deliveryOperations("project"),
  ];
}

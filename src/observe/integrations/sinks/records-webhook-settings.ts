// Settings of an integration of type `webhook`: records in batches, as signed posts.
import { z } from "zod";
import { sectionSettings, type SectionSettings } from "../../../config/section-settings.ts";
import {
  type IntegrationBase,
  integrationBase,
  integrationFields,
  receiverAddress,
  receiverHeaders,
} from "../integration-fields.ts";
import { webhookSecret } from "../../webhooks/webhook-settings.ts";

const secret = webhookSecret.meta({
  title: "Secret",
  description: "`whsec_` and 24 to 64 random bytes as base64.",
});

const SHAPE = {
  type: z.literal("webhook"),
  url: receiverAddress("Address to which batches are posted."),
  secrets: z.array(secret).min(1).max(10).meta({
    title: "Secrets",
    description:
      'Secrets that sign batches, each `whsec_` and 24 to 64 random bytes in base64; refer to variables: `["${WEBHOOK_SECRET}"]`. Each secret adds a signature, so that secrets can be rotated.',
  }),
  headers: receiverHeaders("Further headers of each request."),
};

/** Each batch is signed with each of the secrets. */
export type RecordsWebhookSettings = IntegrationBase & SectionSettings<typeof SHAPE>;

export const recordsWebhookSettings = z
  .strictObject({ ...SHAPE, ...integrationFields })
  .transform((file): RecordsWebhookSettings => ({ ...integrationBase(file), ...sectionSettings(SHAPE, file) }));

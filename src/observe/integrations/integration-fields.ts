// The fields that all kinds of integrations share in the file: which calls an integration gets, whether it gets their
// content, and how they are delivered. The schema of each kind includes these fields and is defined beside its sink.
import { z } from "zod";
import { SCOPE_ID } from "../../config/sections.ts";
import { sectionSettings, type SectionSettings } from "../../config/section-settings.ts";

/** Which calls the integration gets. */
export interface IntegrationScope {
  /** `null` when the integration gets the calls of all tenants. */
  readonly tenants: readonly string[] | null;
  readonly projects: readonly string[] | null;
  /** The fraction of the calls, selected by their trace id: 0 to 1. */
  readonly sample: number;
  readonly only: "all" | "errors";
}

export interface IntegrationBase {
  readonly enabled: boolean;
  readonly scope: IntegrationScope;
  /** Whether the integration gets prompts and answers, where the tenant keeps them. */
  readonly content: boolean;
  readonly delivery: IntegrationDelivery;
}

const KIB = 1024;
const MIB = KIB * KIB;
const ids = (noun: string) =>
  z
    .array(z.string().regex(SCOPE_ID, `expected the id of a ${noun}`))
    .min(1)
    .max(1000)
    .optional();

const DELIVERY = {
  batch_calls: z
    .int()
    .min(1)
    .max(5000)
    .default(256)
    .meta({ title: "Calls", description: "Maximum number of calls in one batch." }),
  batch_wait_ms: z
    .int()
    .min(10)
    .max(60_000)
    .default(1000)
    .meta({ title: "Milliseconds", description: "How long a call waits for others to fill its batch." }),
  timeout_ms: z.int().min(100).max(300_000).default(10_000).meta({
    title: "Milliseconds",
    description: "Time limit of one delivery attempt, after which it counts as failed and is retried.",
  }),
  give_up_s: z.number().min(1).max(86_400).default(900).meta({
    title: "Seconds",
    description: "How long delivery of a batch is attempted; then the batch is dropped and counted.",
  }),
  queue_calls: z.int().min(10).max(1_000_000).default(10_000).meta({
    title: "Calls",
    description: "Maximum number of calls waiting in memory; beyond that the oldest are dropped and counted.",
  }),
  queue_bytes: z
    .int()
    .min(64 * KIB)
    .max(1024 * MIB)
    .default(32 * MIB)
    .meta({
      title: "Bytes",
      description:
        "Bound of the memory for waiting calls, by the number of characters of their text; beyond that the oldest are dropped and counted.",
    }),
};

/** Times are in milliseconds. A batch that was not accepted within `giveUpMs` is given up. */
export type IntegrationDelivery = SectionSettings<typeof DELIVERY>;

export const integrationFields = {
  enabled: z
    .boolean()
    .default(true)
    .meta({ title: "Enabled", description: "`false` disables it: nothing is sent to it." }),
  tenants: ids("tenant").meta({
    title: "Tenants",
    description: "Only calls of these tenants. The default is all tenants.",
  }),
  projects: ids("project").meta({
    title: "Projects",
    description: "Only calls of these projects. The default is all projects.",
  }),
  sample: z.number().min(0).max(1).default(1).meta({
    title: "Sample",
    description:
      "The share of calls to send, from 0 to 1. Calls are chosen by trace id, so that integrations with the same share get the same calls.",
  }),
  only: z.enum(["all", "errors"]).default("all").meta({
    title: "Only",
    description:
      "Which calls are sent; `errors` means only those with an error code, which refused calls have too, and those whose client left.",
  }),
  content: z.boolean().default(false).meta({
    title: "Content",
    description:
      "Whether prompts and answers are sent too, for tenants that keep them and redacted in the same way. By default no text of a prompt or an answer is sent.",
  }),
  ...DELIVERY,
} as const;

const fields = z.object(integrationFields);

export function integrationBase(file: z.output<typeof fields>): IntegrationBase {
  return {
    enabled: file.enabled,
    scope: { tenants: file.tenants ?? null, projects: file.projects ?? null, sample: file.sample, only: file.only },
    content: file.content,
    delivery: sectionSettings(DELIVERY, file),
  };
}

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).hash === "";
/** The schema of a receiver's address. */
export const receiverAddress = (description: string) =>
  z
    .string()
    .max(2048)
    .refine(isWebAddress, 'expected an address such as "https://records.example.com/in"')
    .meta({ title: "Address", description });
/** The schema of header fields that are sent with each request. */
export const receiverHeaders = (description: string) =>
  z
    .record(
      z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "expected the name of a header"),
      z
        .string()
        .max(8192)
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "expected a header's value, on one line"),
    )
    .default({})
    .meta({ title: "Headers", description });

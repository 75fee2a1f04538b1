// The section `service` of a guard: which service judges the texts, and how long and how often it may be asked.
import { hash } from "node:crypto";
import { z } from "zod";
import { httpAddress } from "../../config/http-address.ts";
import { sentHeaders } from "../../config/sent-headers.ts";
import {
  GUARD_SERVICE_TYPES,
  type GuardService,
  type GuardServicePlace,
  type GuardServiceType,
  PROVIDER_SERVICE_TYPES,
  type ProviderServiceType,
} from "../../core/configured/outside-guard.ts";

const MAX_HEADERS = 20;
const ID = /^[A-Za-z0-9_.-]{1,128}$/;
const NANO = 1e9;

/** The fields that only some types have. */
const SPECIAL = [
  "url",
  "headers",
  "provider",
  "model",
  "language",
  "entities",
  "score_threshold",
  "least_severity",
  "blocklists",
  "project",
  "guardrail",
  "version",
  "template",
] as const;
type Fields = Readonly<Record<GuardServiceType, readonly (typeof SPECIAL)[number][]>>;
const NEEDED: Fields = {
  request: ["url"],
  presidio: ["url"],
  content_safety: ["url"],
  lakera: ["url"],
  moderation: ["provider", "model"],
  guardrails: ["provider", "guardrail"],
  model_armor: ["provider", "template"],
};
const USED: Fields = {
  request: ["headers"],
  presidio: ["headers", "language", "entities", "score_threshold"],
  content_safety: ["headers", "least_severity", "blocklists"],
  lakera: ["headers", "project"],
  moderation: ["entities", "score_threshold"],
  guardrails: ["version"],
  model_armor: [],
};

const usd = (description: string) => z.number().min(0).max(100).default(0).meta({ title: "Price", description });

export const serviceSettings = z
  .strictObject({
    type: z.enum(GUARD_SERVICE_TYPES).meta({
      title: "Type",
      description:
        "Which service, and so the form of the requests: docs/guard-services.md. `request` is the gateway's own form.",
    }),
    url: httpAddress.optional().meta({
      title: "URL",
      description:
        "Address of the service, for `request`, `presidio`, `content_safety` and `lakera`. The texts go there and nowhere else.",
    }),
    provider: z.string().regex(ID).optional().meta({
      title: "Provider",
      description:
        "The configured provider whose address and credential are used, for `moderation`, `guardrails` and `model_armor`. The texts go there and nowhere else.",
    }),
    model: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ title: "Model", description: "The provider's own name of the model, for `moderation`." }),
    headers: sentHeaders("the gateway", MAX_HEADERS),
    timeout_s: z.number().gt(0).max(60).default(5).meta({
      title: "Timeout",
      description:
        "Time limit for the verdict on a request, an answer, a result of a tool or a window of a stream, in seconds, including the time it waits for its turn. After it, `on_error` decides.",
    }),
    max_concurrent: z.int().min(1).max(1000).default(32).meta({
      title: "Concurrent requests",
      description: "Most requests to the service that are in flight in one process; further ones wait.",
    }),
    window_characters: z.int().min(1).max(100_000).default(600).meta({
      title: "Window",
      description: "How many characters of a stream are collected before the service is asked.",
    }),
    overlap_characters: z.int().min(0).max(10_000).default(100).meta({
      title: "Overlap",
      description:
        "How many characters of a stream are held back after a verdict and judged again with what follows, so that a finding is not divided between windows.",
    }),
    price: z
      .strictObject({
        per_request: usd("US dollars for each request."),
        per_1000_characters: usd("US dollars for each 1,000 characters, or part of them, of a request."),
      })
      .optional()
      .meta({ title: "Price", description: "What the service costs, for the record. Budgets do not count it." }),
    language: z
      .string()
      .regex(/^[a-z]{2,8}$/, 'expected a language such as "en"')
      .optional()
      .meta({ title: "Language", description: "The language of the texts, for `presidio`. The default is `en`." }),
    entities: z
      .array(z.string().regex(/^[A-Za-z0-9_/-]{1,64}$/, 'expected the name of an entity such as "PERSON"'))
      .max(200)
      .optional()
      .meta({
        title: "Entities",
        description:
          "What is looked for, for `presidio`, and the categories that count, for `moderation`. Without them, everything that the service knows.",
      }),
    score_threshold: z.number().min(0).max(1).optional().meta({
      title: "Score",
      description:
        "The least score of a finding, for `presidio`; for `moderation`, the least score of a category, in place of the model's own verdict.",
    }),
    least_severity: z.int().min(1).max(6).optional().meta({
      title: "Severity",
      description: "The least severity that counts, for `content_safety`: 2, 4 or 6. The default is 4.",
    }),
    blocklists: z
      .array(z.string().regex(ID))
      .max(50)
      .optional()
      .meta({ title: "Blocklists", description: "Lists of words that count, by their names, for `content_safety`." }),
    project: z.string().regex(ID).optional().meta({
      title: "Project",
      description: "The project whose policy applies, for `lakera`. Without it, the account's default policy.",
    }),
    guardrail: z
      .string()
      .regex(/^[A-Za-z0-9:/-]{1,2048}$/, "expected the id or ARN of a guardrail")
      .optional()
      .meta({ title: "Guardrail", description: "The guardrail's id or ARN, for `guardrails`." }),
    version: z
      .string()
      .regex(/^([1-9][0-9]{0,7}|DRAFT)$/, 'expected a number such as "1", or "DRAFT"')
      .optional()
      .meta({ title: "Version", description: "The guardrail's version, for `guardrails`. The default is `DRAFT`." }),
    template: z
      .string()
      .regex(
        /^(?:projects\/[A-Za-z0-9:._-]{1,63}\/locations\/[a-z0-9-]{1,63}\/templates\/)?[A-Za-z0-9_-]{1,63}$/,
        "expected the id of a template, or its full name with project and location",
      )
      .optional()
      .meta({
        title: "Template",
        description: "The template's id, or its full name, for `model_armor`.",
      }),
  })
  .superRefine((service, context) => {
    if (service.overlap_characters >= service.window_characters)
      context.addIssue({
        code: "custom",
        path: ["overlap_characters"],
        message: "expected fewer characters than in window_characters",
      });
    for (const field of NEEDED[service.type])
      if (service[field] === undefined)
        context.addIssue({ code: "custom", path: [field], message: `a service of the type ${service.type} needs it` });
    for (const field of SPECIAL)
      if (service[field] !== undefined && !NEEDED[service.type].includes(field) && !USED[service.type].includes(field))
        context.addIssue({ code: "custom", path: [field], message: `a service of the type ${service.type} has none` });
  })
  .meta({
    title: "Service",
    description: "Instead of classes and patterns: a service that judges the texts, docs/guard-services.md.",
  });

export type ServiceDocument = z.output<typeof serviceSettings>;

/** Whose the policy with the service is. */
export interface ServiceOwner {
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** The operator of the gateway wrote it. */
  readonly isTrusted: boolean;
}

export function compileService(document: ServiceDocument, owner: ServiceOwner): GuardService {
  const { price } = document;
  const place = placeOf(document, owner);
  const options: GuardService["options"] = {
    language: document.language ?? "en",
    entities: document.entities ?? [],
    scoreThreshold: document.score_threshold ?? null,
    leastSeverity: document.least_severity ?? 4,
    blocklists: document.blocklists ?? [],
    vendorId: document.guardrail ?? document.template ?? document.project ?? "",
    version: document.version ?? "DRAFT",
  };
  return {
    place,
    key: hash("sha256", JSON.stringify([owner.tenantId, place, options]), "hex"),
    timeoutMs: Math.ceil(document.timeout_s * 1000),
    maxConcurrent: document.max_concurrent,
    windowCharacters: document.window_characters,
    overlapCharacters: document.overlap_characters,
    price:
      price === undefined
        ? null
        : {
            requestNanoUsd: Math.round(price.per_request * NANO),
            thousandCharactersNanoUsd: Math.round(price.per_1000_characters * NANO),
          },
    options,
  };
}

function placeOf(
  { type, url = "", headers = {}, provider = "", model = "" }: ServiceDocument,
  { tenantId, projectId, isTrusted }: ServiceOwner,
): GuardServicePlace {
  if (isOfProvider(type)) return { type, provider, model, tenantId, projectId, isTrusted };
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { type, url, headers: Object.fromEntries(lowerCase), guarded: !isTrusted };
}

function isOfProvider(type: GuardServiceType): type is ProviderServiceType {
  return (PROVIDER_SERVICE_TYPES as readonly GuardServiceType[]).includes(type);
}

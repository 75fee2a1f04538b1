// The section `service` of a guard: which service judges the texts, and how long and how often it may be asked.
import { createHash } from "node:crypto";
import { z } from "zod";
import { httpAddress } from "../../config/http-address.ts";
import { GUARD_SERVICE_TYPES, type GuardService } from "../../core/configured/outside-guard.ts";

const MAX_HEADERS = 20;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** Headers that frame a message or name its receiver are set by the gateway only. */
const OWN_HEADERS =
  /^(host|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;
const HEADER_VALUE = /^[\x20-\x7e]{0,8192}$/;
const NANO = 1e9;

const usd = (description: string) => z.number().min(0).max(100).default(0).meta({ title: "Price", description });

export const serviceSettings = z
  .strictObject({
    type: z.enum(GUARD_SERVICE_TYPES).meta({
      title: "Type",
      description:
        "The form of the requests: `request` for the gateway's own, `presidio` for the analyzer of Presidio: docs/guard-services.md.",
    }),
    url: httpAddress.meta({
      title: "URL",
      description: "Address of the service. The texts go there and nowhere else.",
    }),
    headers: z
      .record(
        z
          .string()
          .regex(HEADER_NAME, "expected the name of a header")
          .refine((name) => !OWN_HEADERS.test(name), "this header is set by the gateway itself"),
        z.string().regex(HEADER_VALUE, "expected printable characters without line breaks"),
      )
      .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `expected at most ${MAX_HEADERS} headers`)
      .optional()
      .meta({
        title: "Headers",
        description: "Headers to send, which may contain credentials: they are stored encrypted and shown masked.",
      }),
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
      .default("en")
      .meta({ title: "Language", description: "The language of the texts, for `presidio`." }),
    entities: z
      .array(z.string().regex(/^[A-Za-z0-9_]{1,64}$/, 'expected the name of an entity such as "PERSON"'))
      .max(200)
      .default([])
      .meta({ title: "Entities", description: "What is looked for, for `presidio`. Empty for everything it knows." }),
    score_threshold: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ title: "Score", description: "The least score of a finding, for `presidio`." }),
  })
  .superRefine((service, context) => {
    if (service.overlap_characters >= service.window_characters)
      context.addIssue({
        code: "custom",
        path: ["overlap_characters"],
        message: "expected fewer characters than in window_characters",
      });
    if (service.type === "presidio") return;
    for (const field of ["entities", "score_threshold"] as const)
      if (service[field] !== undefined && !(Array.isArray(service[field]) && service[field].length === 0))
        context.addIssue({ code: "custom", path: [field], message: "only for services of the type presidio" });
  })
  .meta({
    title: "Service",
    description: "Instead of classes and patterns: a service that judges the texts, docs/guard-services.md.",
  });

export type ServiceDocument = z.output<typeof serviceSettings>;

/** Whose the policy with the service is. */
export interface ServiceOwner {
  readonly tenantId: string | null;
  /** The operator of the gateway wrote the address. */
  readonly isTrusted: boolean;
}

export function compileService(document: ServiceDocument, { tenantId, isTrusted }: ServiceOwner): GuardService {
  const headers = Object.fromEntries(
    Object.entries(document.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const { type, url, price } = document;
  return {
    type,
    key: createHash("sha256")
      .update(JSON.stringify([tenantId, type, url, headers]))
      .digest("hex"),
    url,
    headers,
    guarded: !isTrusted,
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
    options: {
      language: document.language,
      entities: document.entities,
      scoreThreshold: document.score_threshold ?? null,
    },
  };
}

// The sections `routes:` and `route_defaults:` of the configuration, both global and of single tenants and projects:
// their keys, types and bounds. route-problems.ts checks entries against one another.
import { z } from "zod";
import { COMMON_PARAMETERS, type CommonParameter } from "../core/params.ts";
import { DIRECT_ROUTE, ROUTE_NAME, type StrategyType } from "../core/route.ts";

const STRATEGIES = [
  "priority",
  "weighted",
  "least_latency",
  "least_cost",
  "least_busy",
] as const satisfies readonly StrategyType[];
const DAY_MS = 86_400_000;
const MAX_ROUTES = 10_000;
const MAX_ENTRIES = 100;

const milliseconds = (description: string) =>
  z.int().min(1).max(DAY_MS).optional().meta({ title: "Milliseconds", description });
/** Names of headers that may hold secrets or do not identify the caller. */
const UNFIT_HEADERS =
  /^(authorization|proxy-authorization|cookie|set-cookie|.*api[-_]?key.*|.*(token|secret|password|signature).*|x-goog-.*|x-amz-.*)$/i;

const sticky = z
  .union([
    z.enum(["user", "prompt"]),
    z.boolean().refine((value) => !value, "expected user, prompt, a mapping with header, or false"),
    z.strictObject({
      header: z
        .string()
        .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "expected the name of a header")
        .refine(
          (name) => !UNFIT_HEADERS.test(name),
          "this header may hold a secret, which is no key to tell callers apart by",
        )
        .meta({ title: "Header", description: "Name of a header of the client's request." }),
    }),
  ])
  .optional()
  .meta({
    title: "Sticky",
    description:
      "What keeps calls at one target while that is healthy: `user` (the request's field), `prompt` (the first part of the conversation, so that a provider's prompt cache hits), or a header of the client. `false`: nothing, where a wider scope says otherwise.",
  });

/** The caller decides the form of the answer, messages refer to tools, and the deployment selects the model. */
const UNDROPPABLE = new Set<CommonParameter>(["stream", "stream_options", "tools", "deployment_id"]);
const DROPPABLE_PARAMETERS = COMMON_PARAMETERS.filter((name) => !UNDROPPABLE.has(name));

const params = z.record(z.string().min(1).max(256), z.unknown());
const model = z.string().min(1).max(400);

const target = z.union([
  model.meta({ title: "Target", description: "`<provider>:<model_name>`" }),
  z
    .strictObject({
      model: model.meta({
        title: "Model",
        description: "`<provider>:<model_name>`; the provider is an id of `providers`.",
      }),
      weight: z.number().gt(0).max(1_000_000).default(1).meta({
        title: "Weight",
        description: "Share of the calls among targets of the same order, for the strategy `weighted`.",
      }),
      order: z
        .int()
        .min(0)
        .max(1000)
        .default(0)
        .meta({ title: "Order", description: "Targets with a lower one are tried first, whatever the strategy." }),
      params: params.optional().meta({
        title: "Parameters",
        description:
          "Parameters of a request that this target gets where the request does not say them itself. What is no common parameter goes into the provider's body.",
      }),
      drop: z.array(z.enum(DROPPABLE_PARAMETERS)).optional().meta({
        title: "Dropped parameters",
        description:
          "Common parameters that this target never gets, also where a request sends them: they are left out, and named in `x-gateway-dropped-params`. For models that take a parameter's default only, such as `temperature`.",
      }),
      max_concurrency: z.int().min(1).max(65_535).optional().meta({
        title: "Calls",
        description: "Calls at this target at the same time; further ones wait in the `queue`.",
      }),
    })
    .meta({ title: "Target", description: "A model with how it is used here." }),
]);

/** `model` or `route`, with further parameters. */
const fallback = z.union([
  model.meta({ title: "Fallback", description: "`<provider>:<model_name>` or `route:<name>`" }),
  z
    .object({
      model: model.optional().meta({ title: "Model", description: "`<provider>:<model_name>`" }),
      route: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .meta({ title: "Route", description: "Name of a route, in place of `model`." }),
    })
    .catchall(z.unknown())
    .meta({
      title: "Fallback",
      description: "A model or a route; the other keys are parameters that go before the request's own.",
    }),
]);
const fallbackList = (title: string, description: string) =>
  z.array(fallback).max(MAX_ENTRIES).optional().meta({ title, description });

const ROUTE_SHAPE = {
  strategy: z
    .union([
      z.enum(STRATEGIES).meta({ title: "Strategy" }),
      z
        .strictObject({ type: z.enum(STRATEGIES).meta({ title: "Type", description: "The strategy." }), sticky })
        .meta({ title: "Strategy with options" }),
    ])
    .optional()
    .meta({
      title: "Strategy",
      description:
        "How the first target is chosen among those of the lowest order: `priority` (as they stand), `weighted`, `least_latency` (time to the first content), `least_cost` (for this very request), `least_busy`. By default `priority`.",
    }),
  sticky,
  retries: z.int().min(0).max(10).optional().meta({
    title: "Retries",
    description:
      "Further attempts at the same target after a failure that may pass, when the request has no `num_retries`. By default 1.",
  }),
  timeouts: z
    .strictObject({
      connect_ms: milliseconds("To connect."),
      first_byte_ms: milliseconds("From sending the request to the head of the answer."),
      first_token_ms: milliseconds(
        "From sending the request to the first content of a stream. A plain answer is bounded by `first_byte_ms`: its head comes when it is whole.",
      ),
      between_chunks_ms: milliseconds("Longest silence inside an answer."),
      total_ms: milliseconds("The whole call, retries and fallbacks included, when the request has no `timeout`."),
    })
    .optional()
    .meta({
      title: "Timeouts",
      description:
        "Time limits of this route; each that is not set is taken from the next wider scope, at last from `server`.",
    }),
  fallbacks: fallbackList(
    "Fallbacks",
    "What is tried in order when the attempts at the targets are spent. The request's own `fallbacks` go before them.",
  ),
  context_window_fallbacks: z.record(z.string().min(1).max(400), model).optional().meta({
    title: "Context window fallbacks",
    description:
      "For a model, with or without its provider, the model that is used when the conversation is too long for it.",
  }),
  content_policy_fallbacks: fallbackList(
    "Content policy fallbacks",
    "What is tried in order when a provider has refused the content.",
  ),
  breaker: z
    .strictObject({
      failures: z.int().min(1).max(10_000).optional().meta({
        title: "Failures",
        description:
          "A target is left alone after so many failures within the window that are its provider's fault. By default 5.",
      }),
      ratio: z.number().gt(0).max(1).optional().meta({
        title: "Ratio",
        description: "They also have to be this share of all its calls within the window. By default 0.5.",
      }),
      window_ms: milliseconds("The window. By default 30000."),
      open_ms: milliseconds(
        "How long the target is left alone before one call probes it; doubles with each probe that fails, up to ten times. By default 10000.",
      ),
    })
    .optional()
    .meta({ title: "Circuit breaker", description: "When a target that fails is left alone." }),
  on_exhausted: z.enum(["error", "least_bad"]).optional().meta({
    title: "On exhausted",
    description:
      "When no target is healthy: `least_bad` tries the one that is free first, `error` answers 503 `no_target_available`. By default `least_bad`.",
  }),
  hedge: z
    .union([
      z.boolean().refine((value) => !value, "expected a mapping with after and max_extra, or false"),
      z.strictObject({
        after: z
          .union([z.enum(["p95"]), z.int().min(1).max(DAY_MS)])
          .optional()
          .meta({ title: "After", description: "Milliseconds, or `p95` of the target's own times. By default `p95`." }),
        max_extra: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .meta({ title: "Share", description: "Share of the calls that may have a second attempt. By default 0.05." }),
      }),
    ])
    .optional()
    .meta({
      title: "Hedge",
      description:
        "A second attempt at another target when the first content is late; the first to answer wins. It costs what both cost. Off by default; `false` turns off what a wider scope says.",
    }),
  queue: z
    .strictObject({
      max: z
        .int()
        .min(0)
        .max(100_000)
        .optional()
        .meta({ title: "Calls", description: "Calls that wait; one more is answered 503. By default 64." }),
      timeout_ms: milliseconds("How long one waits at most. By default 5000."),
    })
    .optional()
    .meta({ title: "Queue", description: "Where calls wait when a target has as many as its `max_concurrency`." }),
  drop_params: z.boolean().optional().meta({
    title: "Drop parameters",
    description: "As in `settings`; goes before project, tenant and global settings.",
  }),
  disable_stop_sequence_limit: z.boolean().optional().meta({
    title: "No limit on stop sequences",
    description: "As in `settings`; goes before project, tenant and global settings.",
  }),
};

const ROUTE_NAME_WORDS = "expected a name of 1 to 64 letters, digits, dashes, dots and underscores";
export const routeName = z
  .string()
  .regex(ROUTE_NAME, ROUTE_NAME_WORDS)
  .refine((name) => name !== DIRECT_ROUTE, "this name is reserved: it stands for calls without a route");
export const routeSchema = z
  .strictObject({
    targets: z.array(target).min(1).max(MAX_ENTRIES).meta({
      title: "Targets",
      description: "The models that may answer, each as `<provider>:<model_name>` or as a mapping.",
    }),
    ...ROUTE_SHAPE,
  })
  .meta({ title: "Route" });

export const routesSection = z
  .record(routeName, routeSchema)
  .refine((routes) => Object.keys(routes).length <= MAX_ROUTES, `expected at most ${MAX_ROUTES} routes`)
  .prefault({})
  .meta({
    title: "Routes",
    description:
      "Routes by name. A request names one in `route`, or in `model`. [routes.md](routes.md) shows how they are used.",
  });

export const routeDefaultsSection = z.strictObject(ROUTE_SHAPE).prefault({}).meta({
  title: "Route defaults",
  description:
    "What a route does not say itself. The nearest scope decides: the route, then `route_defaults` of the project, of the tenant, and these.",
});

export type RouteEntries = z.output<typeof routesSection>;
export type RouteEntry = z.output<typeof routeSchema>;
export type RouteDefaults = z.output<typeof routeDefaultsSection>;
export type TargetEntry = RouteEntry["targets"][number];
export type FallbackEntry = z.output<typeof fallback>;

// The sections `routes:` and `route_defaults:` of the configuration, both global and of single tenants and projects:
// their keys, types and bounds. route-problems.ts checks entries against one another.
import { z } from "zod";
import { headerName } from "../config/sent-headers.ts";
import { SECRET_HEADER_OF_CLIENT } from "../core/text/secret-names.ts";
import { cacheUseSchema } from "../auth/settings/cache-use-settings.ts";
import { promptCacheSchema } from "../auth/settings/prompt-cache-settings.ts";
import { MAX_RULE } from "../policies/policy-rule.ts";
import { COMMON_PARAMETERS, type CommonParameter } from "../core/params.ts";
import { DIRECT_ROUTE, ROUTE_ALIAS, ROUTE_NAME, type StrategyType } from "../core/configured/route.ts";
import { routeTestsSchema } from "./test-settings.ts";

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

const sticky = z
  .union([
    z.enum(["user", "prompt"]),
    z.boolean().refine((value) => !value, "expected user, prompt, a mapping with header, or false"),
    z.strictObject({
      header: headerName
        .refine(
          (name) => !SECRET_HEADER_OF_CLIENT.test(name),
          "this header may contain a secret and cannot be used to distinguish callers",
        )
        .meta({ title: "Header", description: "Name of a header in the client's request." }),
    }),
  ])
  .optional()
  .meta({
    title: "Sticky",
    description:
      "What keeps related calls at one target while it is healthy: `user` (the request's field), `prompt` (the beginning of the conversation, for the provider's prompt cache), or a header of the client. `false` overrides a wider scope.",
  });

/** The caller decides the form of the answer, messages refer to tools, and the deployment selects the model. */
const UNDROPPABLE = new Set<CommonParameter>(["stream", "stream_options", "tools", "deployment_id"]);
const DROPPABLE_PARAMETERS = COMMON_PARAMETERS.filter((name) => !UNDROPPABLE.has(name));

const params = z.record(z.string().min(1).max(256), z.unknown());
const model = z.string().min(1).max(400);

const when = z.string().min(1).max(MAX_RULE).optional().meta({
  title: "When",
  description:
    "A condition in CEL over `request`, `headers`, `token`, `tenant`, `project`, `client` and `now`: [routes.md](routes.md#conditions). A call for which it is false, or cannot be evaluated, passes this entry over.",
});
const share = (further: string) =>
  z
    .number()
    .gt(0)
    .max(100)
    .optional()
    .meta({
      title: "Share",
      description: `The percentage of calls that this entry is for, by a stable hash of the \`sticky\` key or else of the trace id: [routes.md](routes.md#a-share-of-the-calls). ${further}`,
    });

const targetParameters = {
  params: params.optional().meta({
    title: "Parameters",
    description:
      "Parameters for this target if the request does not set them. Fields that are not common parameters are passed to the provider.",
  }),
  drop: z.array(z.enum(DROPPABLE_PARAMETERS)).optional().meta({
    title: "Dropped parameters",
    description:
      "Common parameters that are never sent to this target: they are removed from requests and named in `x-gateway-dropped-params`. Use it for models that accept only a parameter's default, such as `temperature`.",
  }),
};

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
        description:
          "What a target counts among those of the same order: its share of calls with `weighted` and with `sticky`, and of calls in flight with `least_busy`; with `priority`, the greatest weight comes first.",
      }),
      order: z
        .int()
        .min(0)
        .max(1000)
        .default(0)
        .meta({ title: "Order", description: "Targets with a lower order are attempted first, with any strategy." }),
      ...targetParameters,
      max_concurrency: z.int().min(1).max(65_535).optional().meta({
        title: "Calls",
        description: "Maximum number of calls in flight at this target; further calls wait in the `queue`.",
      }),
      when,
      share: share("They go to it before the other targets of its order, and the other calls pass it over."),
    })
    .meta({ title: "Target", description: "A model and how it is used in this route." }),
]);

const mirror = z
  .strictObject({
    target: model.meta({
      title: "Target",
      description: "`<provider>:<model_name>`; the provider is an id of `providers`.",
    }),
    ...targetParameters,
    when,
    share: share("The other calls are not copied. Without it, all are."),
    other_vendors: z.boolean().default(false).meta({
      title: "Other vendors",
      description:
        "Whether calls whose content the project does not keep are copied to a target of another vendor than the one that they go to.",
    }),
    max_in_flight: z.int().min(1).max(1000).default(16).meta({
      title: "Copies",
      description:
        "How many copies may be in flight in one process. Further calls are not copied, which their records say.",
    }),
    timeout_ms: z.int().min(1).max(DAY_MS).default(120_000).meta({
      title: "Milliseconds",
      description: "How long a copy may take.",
    }),
  })
  .optional()
  .meta({
    title: "Mirror",
    description:
      "Another target that gets a copy of calls, to compare it with the targets: [routes.md](routes.md#a-mirror). The call does not wait for the answer to its copy, and is not charged for it.",
  });

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
        .meta({ title: "Route", description: "Name of a route, instead of `model`." }),
      when,
      share: share("The other calls pass it over."),
    })
    .catchall(z.unknown())
    .meta({
      title: "Fallback",
      description: "A model or a route; the other keys are parameters that override the request's.",
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
        "How the first target is chosen among those of the lowest order: `priority` (the greatest weight, then the listed order), `weighted` (by weight), `least_latency` (time to the first content), `least_cost` (for this request), `least_busy`. The default is `priority`.",
    }),
  sticky,
  retries: z.int().min(0).max(10).optional().meta({
    title: "Retries",
    description:
      "Retries at the same target after a retryable failure, if the request sets no `num_retries`. The default is 1.",
  }),
  retry_timeouts: z.boolean().optional().meta({
    title: "Retry time limits",
    description:
      "Whether an attempt that ended by a time limit is repeated at the same target although another target is left. The default is false.",
  }),
  timeouts: z
    .strictObject({
      connect_ms: milliseconds("Time limit for connecting."),
      first_byte_ms: milliseconds("Time limit from sending the request to the response headers."),
      first_token_ms: milliseconds(
        "Time limit from sending the request to the first content of a stream. For a non-streaming answer `first_byte_ms` applies, because its headers arrive when it is complete.",
      ),
      between_chunks_ms: milliseconds("Longest pause within an answer."),
      total_ms: milliseconds(
        "Time limit of the whole call, including retries and fallbacks, if the request sets no `timeout`.",
      ),
    })
    .optional()
    .meta({
      title: "Timeouts",
      description:
        "Time limits of this route. The default of each is the value of the next wider scope, finally of `server`.",
    }),
  fallbacks: fallbackList(
    "Fallbacks",
    "Attempted in order after the attempts at the targets have failed. The request's own `fallbacks` come first.",
  ),
  context_window_fallbacks: z.record(z.string().min(1).max(400), model).optional().meta({
    title: "Context window fallbacks",
    description:
      "Maps a model, with or without its provider, to the model to use if the conversation is too long for it.",
  }),
  content_policy_fallbacks: fallbackList(
    "Content policy fallbacks",
    "Attempted in order after a provider has refused the content.",
  ),
  breaker: z
    .strictObject({
      failures: z.int().min(1).max(10_000).optional().meta({
        title: "Failures",
        description:
          "Failures within the window, caused by the provider, after which the breaker opens. The default is 5.",
      }),
      ratio: z.number().gt(0).max(1).optional().meta({
        title: "Ratio",
        description: "Share of the target's calls within the window that must also have failed. The default is 0.5.",
      }),
      window_ms: milliseconds("Length of the window. The default is 30000."),
      open_ms: milliseconds(
        "How long the breaker stays open before one call probes the target; it doubles with each failed probe, up to 60000, or to the value where that is longer. The default is 10000.",
      ),
    })
    .optional()
    .meta({ title: "Circuit breaker", description: "When a failing target is skipped for a while." }),
  on_exhausted: z.enum(["error", "least_bad"]).optional().meta({
    title: "On exhausted",
    description:
      "If no target is healthy, `least_bad` attempts the one that is available first, `error` answers 503 `no_target_available`. The default is `least_bad`.",
  }),
  hedge: z
    .union([
      z.boolean().refine((value) => !value, "expected a mapping with after and max_extra, or false"),
      z.strictObject({
        after: z
          .union([z.enum(["p95"]), z.int().min(1).max(DAY_MS)])
          .optional()
          .meta({
            title: "After",
            description:
              "Delay before the second attempt in milliseconds, or `p95` of the target's times. The default is `p95`.",
          }),
        max_extra: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .meta({ title: "Share", description: "Largest share of calls with a second attempt. The default is 0.05." }),
      }),
    ])
    .optional()
    .meta({
      title: "Hedge",
      description:
        "A second attempt at another target if the first content is late; the faster one is used, and both are charged. Off by default; `false` overrides a wider scope.",
    }),
  queue: z
    .strictObject({
      max: z.int().min(0).max(100_000).optional().meta({
        title: "Calls",
        description:
          "Most waiting calls; a further call goes to another target, or is answered with 503. The default is 64.",
      }),
      timeout_ms: milliseconds("Longest wait of a call. The default is 5000."),
    })
    .optional()
    .meta({
      title: "Queue",
      description: "The queue in which calls wait while a target has reached its `max_concurrency`.",
    }),
  drop_params: z.boolean().optional().meta({
    title: "Drop parameters",
    description: "As in `settings`; takes precedence over project, tenant and global settings.",
  }),
  disable_stop_sequence_limit: z.boolean().optional().meta({
    title: "No limit on stop sequences",
    description: "As in `settings`; takes precedence over project, tenant and global settings.",
  }),
  fallback_on_refusal: z.boolean().optional().meta({
    title: "Fallback on refusal",
    description:
      "Whether fallbacks are attempted after a provider that speaks the Messages API itself has refused a request to `/messages` with 400 or 413. Clients such as Claude Code read the refusal, leave out what was refused, and ask again. The default is false.",
  }),
  cache: cacheUseSchema.meta({
    title: "Response cache",
    description:
      "How answers of this route are kept, for tenants that allow it; see [cache.md](cache.md). It takes precedence over `cache` of the project. With `false`, no call of the route is cached.",
  }),
  prompt_cache: promptCacheSchema.meta({
    title: "Prompt cache",
    description:
      "`auto` sets the vendor's marks of the prompt cache where the conversation is stable and the client has set none, and keeps the conversations of coding agents at one target and key; see [prompt-cache.md](prompt-cache.md). It takes precedence over `prompt_cache` of the project; `false` overrides a wider scope.",
  }),
};

const ROUTE_NAME_WORDS = "expected a name of 1 to 64 letters, digits, dashes, dots and underscores";
export const routeName = z
  .string()
  .regex(ROUTE_NAME, ROUTE_NAME_WORDS)
  .refine((name) => name !== DIRECT_ROUTE, "this name is reserved for calls without a route");
export const routeSchema = z
  .strictObject({
    targets: z.array(target).min(1).max(MAX_ENTRIES).meta({
      title: "Targets",
      description: "The models that may answer, each as `<provider>:<model_name>` or as a mapping.",
    }),
    aliases: z
      .array(
        z
          .string()
          .regex(
            ROUTE_ALIAS,
            "expected 1 to 256 printable ASCII characters without a space at the beginning or the end",
          )
          .refine((name) => name !== DIRECT_ROUTE, "this name is reserved for calls without a route"),
      )
      .max(MAX_ENTRIES)
      .optional()
      .meta({
        title: "Aliases",
        description:
          "Further names by which requests find the route, such as `team/fast`. They may contain `/` and precede a model of the form `<provider>/<model_name>`.",
      }),
    mirror,
    ...ROUTE_SHAPE,
    tests: routeTestsSchema,
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
    "Defaults for routes. The first value set in this order is used: the route, `route_defaults` of the project, of the tenant, and these.",
});

export type RouteEntries = z.output<typeof routesSection>;
export type RouteEntry = z.output<typeof routeSchema>;
export type RouteDefaults = z.output<typeof routeDefaultsSection>;
export type TargetEntry = RouteEntry["targets"][number];
export type MirrorEntry = NonNullable<RouteEntry["mirror"]>;
export type FallbackEntry = z.output<typeof fallback>;

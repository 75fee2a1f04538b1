// Routes of the configuration file: their compiled form, inheritance, visibility, and mistakes.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import { DEFAULT_BREAKER, DEFAULT_QUEUE, NO_TIMEOUTS, type Route } from "../../src/core/configured/route.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import { routesFor } from "../../src/routing/resolve-route.ts";
import { compileSnapshot, configurationNotices } from "../../src/snapshot/compile.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import type { OpenedResource } from "../../src/store/configuration/contents.ts";
import { FAMILIES } from "../config/families.ts";
import { namedRoutes } from "../../src/routing/resolve-route.ts";

const environment = readEnvironment({});
const PROJECTS = [
  { id: "p", tenantId: "t", name: "p" },
  { id: "q", tenantId: "t", name: "q" },
  { id: "x", tenantId: "u", name: "x" },
];
const identities = { tenants: [], projects: PROJECTS, users: [], memberships: [], tokens: [] };

function compile(text: string): Snapshot {
  return compileSnapshot({
    configuration: parseConfiguration({ file: "f", text, families: FAMILIES, environment }),
    identities,
    families: FAMILIES,
    environment,
    version: 1,
  });
}
function route(text: string): Route {
  return compile(`routes:\n  r: ${text}\n  other: {targets: ["openai:o"]}\n`).routes.get("r")!;
}
function problemsOf(text: string): readonly string[] {
  try {
    compile(text);
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message.split("\n");
  }
  return [];
}

const withoutPlace = (problem: string): string => problem.replace(/^f:\d+:\d+ /, "");

describe("a route", () => {
  test("needs nothing but targets", () => {
    expect(route('{targets: ["openai:gpt-5-mini"]}')).toEqual({
      name: "r",
      strategy: "priority",
      targets: [
        {
          name: "openai:gpt-5-mini",
          providerId: "openai",
          model: "gpt-5-mini",
          weight: 1,
          order: 0,
          params: {},
          maxConcurrency: null,
        },
      ],
      retries: null,
      retryTimeouts: false,
      timeouts: NO_TIMEOUTS,
      fallbacks: [],
      contextWindowFallbacks: new Map(),
      contentPolicyFallbacks: [],
      breaker: DEFAULT_BREAKER,
      onExhausted: "least_bad",
      sticky: null,
      hedge: null,
      queue: DEFAULT_QUEUE,
      dropParams: null,
      disableStopSequenceLimit: null,
      fallbackOnRefusal: false,
      cache: null,
      promptCaching: null,
    });
  });

  test("has all its settings", () => {
    const said = route(`
    strategy: {type: least_latency, sticky: {header: X-Session}}
    targets: ["openai:a", {model: "anthropic/b/c:d", weight: 2.5, order: 2, params: {temperature: 0, top_k: 3, stop:}, drop: [user, max_tokens], max_concurrency: 8}]
    retries: 0
    retry_timeouts: true
    timeouts: {connect_ms: 1, first_byte_ms: 2, first_token_ms: 3, between_chunks_ms: 4, total_ms: 5}
    fallbacks: ["gemini:g", "route:other", {model: "openai:z", temperature: 1}, {route: other, seed: 1}]
    context_window_fallbacks: {"openai:a": "gemini:long", b: "gemini:long"}
    content_policy_fallbacks: ["vllm:free"]
    breaker: {failures: 3, ratio: 1, window_ms: 4, open_ms: 5}
    on_exhausted: error
    hedge: {after: 300, max_extra: 0.5}
    queue: {max: 0, timeout_ms: 7}
    drop_params: true
    disable_stop_sequence_limit: false
    fallback_on_refusal: true
    cache: {ttl_s: 60, scope: project}`);
    expect(said).toEqual({
      name: "r",
      strategy: "least_latency",
      targets: [
        { name: "openai:a", providerId: "openai", model: "a", weight: 1, order: 0, params: {}, maxConcurrency: null },
        {
          name: "anthropic:b/c:d",
          providerId: "anthropic",
          model: "b/c:d",
          weight: 2.5,
          order: 2,
          params: { temperature: 0, top_k: 3 },
          drop: new Set(["user", "max_tokens", "max_completion_tokens"]),
          maxConcurrency: 8,
        },
      ],
      retries: 0,
      retryTimeouts: true,
      timeouts: { connectMs: 1, firstByteMs: 2, firstTokenMs: 3, betweenChunksMs: 4, totalMs: 5 },
      fallbacks: [
        { model: "gemini:g", route: null, params: {} },
        { model: null, route: "other", params: {} },
        { model: "openai:z", route: null, params: { temperature: 1 } },
        { model: null, route: "other", params: { seed: 1 } },
      ],
      contextWindowFallbacks: new Map([
        ["openai:a", "gemini:long"],
        ["b", "gemini:long"],
      ]),
      contentPolicyFallbacks: [{ model: "vllm:free", route: null, params: {} }],
      breaker: { failures: 3, ratio: 1, windowMs: 4, openMs: 5 },
      onExhausted: "error",
      sticky: { by: "header", name: "x-session" },
      hedge: { after: 300, maxExtra: 0.5 },
      queue: { max: 0, timeoutMs: 7 },
      dropParams: true,
      disableStopSequenceLimit: false,
      fallbackOnRefusal: true,
      cache: { ttlMs: 60_000, scope: "project" },
      promptCaching: null,
    });
  });

  test("hedges after p95 and at most 5 % unless it says otherwise", () =>
    expect(route('{targets: ["openai:a"], hedge: {}}').hedge).toEqual({ after: "p95", maxExtra: 0.05 }));
});

describe("inheritance", () => {
  const text = `
route_defaults: {retries: 1, on_exhausted: error, sticky: user, hedge: {after: 1}, timeouts: {connect_ms: 1, total_ms: 1}, fallbacks: ["route:cheap"], breaker: {failures: 7}}
routes:
  own: {targets: ["openai:a"], retries: 9, timeouts: {total_ms: 9}, sticky: false, hedge: false, fallbacks: []}
  bare: {targets: ["openai:b"]}
  cheap: {targets: ["openai:c"]}
tenants:
  t:
    route_defaults: {retries: 2, timeouts: {total_ms: 2}, strategy: {type: weighted, sticky: prompt}}
    routes: {mine: {targets: ["gemini:t"]}, bare: {targets: ["gemini:shadow"]}}
projects:
  p: {route_defaults: {retries: 3}, routes: {deep: {targets: ["anthropic:p"]}}}
`;
  const snapshot = compile(text);
  const seen = (tenantId: string, projectId: string | null) => routesFor(snapshot, { tenantId, projectId });

  test("a route's own setting takes precedence, then the project's, the tenant's and the global defaults, each timeout by itself", () => {
    const own = seen("t", "p").get("own")!;
    expect([
      own.retries,
      own.timeouts.totalMs,
      own.timeouts.connectMs,
      own.onExhausted,
      own.strategy,
      own.breaker,
    ]).toEqual([9, 9, 1, "error", "weighted", { ...DEFAULT_BREAKER, failures: 7 }]);
    expect([
      seen("t", "p").get("mine")!.retries,
      seen("t", "q").get("mine")!.retries,
      seen("u", "x").get("bare")!.retries,
    ]).toEqual([3, 2, 1]);
    expect(seen("t", "p").get("deep")!.timeouts).toEqual({ ...NO_TIMEOUTS, connectMs: 1, totalMs: 2 });
  });
  test("false turns off a setting of a wider scope", () => {
    const { own, bare } = Object.fromEntries(seen("u", null)) as Record<string, Route>;
    expect([own!.sticky, own!.hedge, bare!.sticky, bare!.hedge]).toEqual([
      null,
      null,
      { by: "user" },
      { after: 1, maxExtra: 0.05 },
    ]);
    expect(seen("t", null).get("mine")!.sticky).toEqual({ by: "prompt" });
  });
  const namesSeen = (tenant: string, project: string): readonly string[] =>
    namedRoutes(seen(tenant, project))
      .map(({ name }) => name)
      .toSorted();
  test("a route does not inherit a list of fallbacks that names it, and none where it has an empty one", () => {
    const { own, bare, cheap } = Object.fromEntries(snapshot.routes) as Record<string, Route>;
    expect([own!.fallbacks, bare!.fallbacks, cheap!.fallbacks]).toEqual([
      [],
      [{ model: null, route: "cheap", params: {} }],
      [],
    ]);
  });
  test("routes of a tenant or project take precedence over wider ones and are visible there only", () => {
    expect(namesSeen("u", "x")).toEqual(["bare", "cheap", "own"]);
    expect(namesSeen("t", "q")).toEqual(["bare", "cheap", "mine", "own"]);
    expect(namesSeen("t", "p")).toEqual(["bare", "cheap", "deep", "mine", "own"]);
    expect([seen("t", "q").get("bare")!.targets[0]!.name, seen("u", "x").get("bare")!.targets[0]!.name]).toEqual([
      "gemini:shadow",
      "openai:b",
    ]);
  });
  test("a tenant without routes of its own sees the global ones unchanged", () => {
    const { routes, tenantRoutes, projectRoutes } = compile(
      'routes: {a: {targets: ["openai:a"]}}\ntenants: {t: {settings: {drop_params: true}}}\nprojects: {p: }\n',
    );
    expect([namedRoutes(routes).length, tenantRoutes.size, projectRoutes.size]).toEqual([1, 0, 0]);
  });
});

describe("mistakes", () => {
  const target = 'targets: ["openai:a"]';
  test.each([
    ["{targets: []}", "f:2:7 routes.r.targets: expected at least 1 entries"],
    ["{retries: 1}", "f:2:3 routes.r.targets: is missing: expected a list"],
    [
      `{${target}, strategy: fastest}`,
      "f:2:30 routes.r.strategy: expected one of priority, weighted, least_latency, least_cost, least_busy",
    ],
    [
      `{${target}, strategy: wieghted}`,
      'f:2:30 routes.r.strategy: expected one of priority, weighted, least_latency, least_cost, least_busy; did you mean "weighted"?',
    ],
    [`{${target}, strategy: {type: priority, after: 1}}`, 'f:2:57 routes.r.strategy.after: unknown key "after"'],
    [`{targets: [{model: "openai:a", weight: 0}]}`, "f:2:37 routes.r.targets[0].weight: expected more than 0"],
    [`{targets: [{model: "openai:a", weight: -1}]}`, "f:2:37 routes.r.targets[0].weight: expected more than 0"],
    [
      `{targets: ["opnai:a"]}`,
      'f:2:17 routes.r.targets[0]: there is no provider with the id before the colon; did you mean "openai"?',
    ],
    [`{targets: ["gpt-5"]}`, "f:2:17 routes.r.targets[0]: expected <provider>:<model_name>"],
    [
      `{targets: ["nowhere:gpt-5"]}`,
      "f:2:17 routes.r.targets[0]: there is no provider with the id before the colon; `dragoman providers` lists the known providers",
    ],
    [
      `{${target}, fallbacks: ["nowhere"]}`,
      "f:2:42 routes.r.fallbacks[0]: expected <provider>:<model_name>, or route:<name>",
    ],
    [
      `{targets: ["openai:a/../b"]}`,
      "f:2:17 routes.r.targets[0]: expected a model's name after the provider: printable characters without spaces, `..`, `?`, `#` and a `.` between slashes",
    ],
    [
      `{targets: ["openai:a", {model: "openai/a"}]}`,
      "f:2:29 routes.r.targets[1]: this target is in the list twice; give it a weight instead",
    ],
    [
      `{${target}, fallbacks: ["opnai:b"]}`,
      'f:2:42 routes.r.fallbacks[0]: there is no provider with the id before the colon; did you mean "openai"?',
    ],
    [
      `{${target}, fallbacks: ["route:othr"]}`,
      'f:2:42 routes.r.fallbacks[0]: there is no route with this name; did you mean "other"?',
    ],
    [
      `{${target}, fallbacks: [other]}`,
      'f:2:42 routes.r.fallbacks[0]: expected <provider>:<model_name>; a route is written "route:other"',
    ],
    [`{${target}, fallbacks: ["route:r"]}`, "f:2:42 routes.r.fallbacks[0]: this is a fallback to the route itself"],
    [
      `{${target}, content_policy_fallbacks: [{route: r}]}`,
      "f:2:57 routes.r.content_policy_fallbacks[0]: this is a fallback to the route itself",
    ],
    [`{${target}, fallbacks: [{temperature: 1}]}`, "f:2:42 routes.r.fallbacks[0]: expected a model or a route"],
    [
      `{${target}, fallbacks: [{model: "openai:b", route: other}]}`,
      "f:2:42 routes.r.fallbacks[0]: expected a model or a route, got both",
    ],
    [
      `{${target}, fallbacks: [{model: "openai:b", num_retries: 1}]}`,
      "f:2:62 routes.r.fallbacks[0].num_retries: a route cannot set this field: only parameters of a model are allowed here",
    ],
    [
      `{${target}, context_window_fallbacks: {a: "openai:a"}}`,
      "f:2:57 routes.r.context_window_fallbacks.a: this is a fallback to itself",
    ],
    [
      `{${target}, context_window_fallbacks: {"openai:org/a": "openai/org/a"}}`,
      "f:2:57 routes.r.context_window_fallbacks.openai...: this is a fallback to itself",
    ],
    [`{${target}, retries: 11}`, "f:2:30 routes.r.retries: expected at most 10"],
    [`{${target}, hedge: {max_extra: 1.5}}`, "f:2:38 routes.r.hedge.max_extra: expected at most 1"],
    [
      `{${target}, sticky: {header: authorization}}`,
      "f:2:39 routes.r.sticky.header: this header may contain a secret and cannot be used to distinguish callers",
    ],
    [
      `{${target}, sticky: {header: X-Api-Key}}`,
      "f:2:39 routes.r.sticky.header: this header may contain a secret and cannot be used to distinguish callers",
    ],
    [
      `{${target}, strategy: {type: priority, sticky: user}, sticky: prompt}`,
      "f:2:72 routes.r.sticky: this is set twice: here and in strategy.sticky",
    ],
    [`{${target}, timeouts: {connect: 1}}`, 'f:2:41 routes.r.timeouts.connect: unknown key "connect"'],
    [`{${target}, fallback: []}`, 'f:2:30 routes.r.fallback: unknown key "fallback"; did you mean "fallbacks"?'],
  ])("%s", (entry, problem) =>
    expect(problemsOf(`routes:\n  r: ${entry}\n  other: {targets: ["openai:o"]}\n`)).toEqual([problem]),
  );

  test.each([
    "tenant_id",
    "timeout",
    "fallbacks",
    "api_key",
    "base_url",
    "model",
    "messages",
    "metadata",
    "extra_body",
    "headers",
    "route",
    "stream",
    "stream_options",
  ])("params cannot hold %s", (name) =>
    expect(problemsOf(`routes: {r: {targets: [{model: "openai:a", params: {${name}: secret-value}}]}}`)).toEqual([
      `f:1:53 routes.r.targets[0].params.${name}: a route cannot set this field: only parameters of a model are allowed here`,
    ]),
  );
  test.each(["stream", "stream_options", "tools", "deployment_id", "model", "top_k"])("drop cannot name %s", (name) =>
    expect(problemsOf(`routes: {r: {targets: [{model: "openai:a", drop: [${name}]}]}}`).join("\n")).toContain(
      "routes.r.targets[0].drop[0]: expected ",
    ),
  );
  test("a parameter that a target sets cannot be dropped by it", () =>
    expect(
      problemsOf(
        'routes: {r: {targets: [{model: "openai:a", params: {temperature: 1}, drop: [user, temperature]}]}}',
      ).map((line) => line.replace(/^\S+ /, "")),
    ).toEqual(["routes.r.targets[0].drop[1]: the target's `params` set this parameter, but `drop` would remove it"]));
  test("parameters have the bounds of a request, and a value is never shown", () =>
    expect(
      problemsOf('routes: {r: {targets: [{model: "openai:a", params: {temperature: 3, user: 5}}]}}').map((line) =>
        line.replace(/^\S+ /, ""),
      ),
    ).toEqual([
      "routes.r.targets[0].params.temperature: expected a number from 0 to 2",
      "routes.r.targets[0].params.user: expected a string",
    ]));

  test.each([
    ["direct", "this name is reserved for calls without a route"],
    ["a b", "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"],
    ["a:b", "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"],
    ["a".repeat(65), "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"],
  ])("the name %s", (name, words) =>
    expect(
      problemsOf(`routes:\n  "${name}": {${target}}\n`).map((line) => line.replace(/^(\S+) .*?: (?=\w+ )/, "$1 ")),
    ).toEqual([`f:2:3 ${words}`]),
  );

  test("a loop of routes is reported once, with its path", () => {
    const of = (name: string, next: string) => `  ${name}: {${target}, fallbacks: ["openai:x", "route:${next}"]}\n`;
    expect(problemsOf(`routes:\n${of("a", "b")}${of("b", "c")}${of("c", "a")}${of("d", "a")}`)).toEqual([
      "f:2:54 routes.a.fallbacks[1]: this leads back to the route: a -> b -> c -> a",
    ]);
  });
  test("a loop that only a tenant has, over a global route, is reported", () =>
    expect(
      problemsOf(
        `routes:\n  a: {${target}}\n  b: {${target}, fallbacks: ["route:a"]}\ntenants: {t: {routes: {a: {${target}, fallbacks: ["route:b"]}}}}\n`,
      ),
    ).toEqual(["f:4:63 tenants.t.routes.a.fallbacks[0]: this leads back to the route: a -> b -> a"]));
  test("a target that refuses content may be covered by the route that falls back to it", () =>
    expect(
      problemsOf(
        `routes:\n  a: {${target}, fallbacks: ["route:b"]}\n  b: {${target}, content_policy_fallbacks: ["route:a"]}\n`,
      ),
    ).toEqual([]));
  test("a project may name a route of a tenant, and a tenant none of another", () => {
    const scope = (fallback: string) => `{routes: {n: {${target}, fallbacks: ["route:${fallback}"]}}}`;
    expect(problemsOf(`tenants: {t: {routes: {own: {${target}}}}}\nprojects: {p: ${scope("own")}}\n`)).toEqual([]);
    expect(problemsOf(`tenants: {t: {routes: {own: {${target}}}}, u: ${scope("own")}}\n`)).toHaveLength(1);
  });
  test("no provider is called route: its models would look like routes", () =>
    expect(problemsOf("providers: {route: {type: openai}}")).toEqual([
      "f:1:13 providers.route: this id is reserved: `route:` is the prefix of route names",
    ]));
  test("[d15.2] an alias is not the name of a route that is seen, not twice in a scope, and not a model with its colon", () => {
    const aliases = (...names: readonly string[]) => `{${target}, aliases: ${JSON.stringify(names)}}`;
    const inRoutes = (text: string) => problemsOf(`routes: {r: ${text}, other: {${target}}}\n`).map(withoutPlace);
    expect(inRoutes(aliases("openai/gpt-4o", "a b/c:d", "free:x"))).toEqual([]);
    for (const name of ["r", "other"])
      expect(inRoutes(aliases(name))).toEqual(["routes.r.aliases[0]: a route has this name, which precedes an alias"]);
    expect(inRoutes(aliases("x", "x"))).toEqual(["routes.r.aliases[1]: this alias is in the configuration twice"]);
    for (const name of ["openai:gpt-4o", "route:other"])
      expect(inRoutes(aliases(name))).toEqual([
        "routes.r.aliases[0]: this means a model or a route already; an alias can be written with a slash in place of the colon",
      ]);
    for (const name of ["", " a", "ä", "direct", "x".repeat(257)]) expect(inRoutes(aliases(name))).toHaveLength(1);
    const nearer = (scope: string, name: string) =>
      problemsOf(`routes: {r: ${aliases("x")}}\n${scope}: {p: {routes: {own: ${aliases(name)}}}}\n`).map(withoutPlace);
    for (const scope of ["tenants", "projects"]) {
      expect(nearer(scope, "x")).toEqual([]);
      expect(nearer(scope, "r")).toEqual([
        `${scope}.p.routes.own.aliases[0]: a route has this name, which precedes an alias`,
      ]);
    }
  });
  test("defaults are checked where they are written", () =>
    expect(problemsOf('tenants: {t: {route_defaults: {fallbacks: ["route:none"], targets: []}}}')).toEqual([
      'f:1:59 tenants.t.route_defaults.targets: unknown key "targets"',
    ]));
});

test("a target whose provider is not enabled is reported in the log", () => {
  const configuration = parseConfiguration({
    file: "f",
    text: 'providers: {custom: {base_url: "http://a", enabled: false}}\nroutes: {r: {targets: ["custom:a", "sandbox:echo"], fallbacks: ["openai:b"], content_policy_fallbacks: ["openai:c"], context_window_fallbacks: {echo: "openai:d"}}}',
    families: FAMILIES,
    environment,
  });
  expect(configurationNotices({ configuration, identities, families: FAMILIES, environment })).toEqual([
    "routes.r uses custom:a, but its provider is not enabled",
    "routes.r uses openai:b, but its provider is not enabled",
    "routes.r uses openai:c, but its provider is not enabled",
    "routes.r uses openai:d, but its provider is not enabled",
  ]);
});

test("[d4.6] a budget of the file that leads calls to a model or route that exists nowhere is reported in the log", () => {
  const configuration = parseConfiguration({
    file: "f",
    text: [
      'routes: {small: {targets: ["sandbox:echo"]}}',
      'budgets: {all: {usd: "5", window: day, thresholds: [50, {percent: 80, degrade_to: "route:ofSite"}, {percent: 90, degrade_to: "route:smal"}]}}',
      'tenants: {acme: {budgets: {own: {usd: "5", window: day, thresholds: [{percent: 80, degrade_to: "opnai:a"}, {percent: 90, degrade_to: "openai:a"}]}}}}',
      'projects: {site: {routes: {ofSite: {targets: ["sandbox:echo"]}}}, shop: {budgets: {b: {usd: "5", window: day, thresholds: [{percent: 80, degrade_to: "route:ofSite"}, {percent: 90, degrade_to: "route:small"}]}}}}',
    ].join("\n"),
    families: FAMILIES,
    environment,
  });
  const known = {
    ...identities,
    tenants: ["acme", "beta"].map((id) => ({ id, name: id })),
    projects: [
      { id: "site", tenantId: "acme", name: "site" },
      { id: "shop", tenantId: "beta", name: "shop" },
    ],
  };
  const refused = "so calls that the budget leads there are refused";
  expect(configurationNotices({ configuration, identities: known, families: FAMILIES, environment })).toEqual([
    `budgets.all.thresholds[2].degrade_to: there is no route with this name, ${refused}`,
    `tenants.acme.budgets.own.thresholds[0].degrade_to: there is no provider with the id before the colon, ${refused}`,
    `projects.shop.budgets.b.thresholds[0].degrade_to: there is no route with this name, ${refused}`,
  ]);
});

test("[d3.1, d4.1] a limit or policy of the file that names what exists nowhere is reported in the log", () => {
  const scoped = (scope: string): string => `{metric: requests, window: minute, limit: 1, scope: ${scope}}`;
  const configuration = parseConfiguration({
    file: "f",
    text: [
      `limits: {a: ${scoped("{provider: opnai}")}, b: ${scoped('{model: "openai:x", route: direct}')}}`,
      'policies: {p: {rule: "true", message: No, scope: {model: opnai/x}}}',
      `projects: {site: {routes: {own: {targets: ["sandbox:echo"]}}, limits: {c: ${scoped("{route: own}")}}}, shop: {limits: {c: ${scoped("{route: own}")}}}}`,
    ].join("\n"),
    families: FAMILIES,
    environment,
  });
  const projects = ["site", "shop"].map((id) => ({ id, tenantId: "acme", name: id }));
  const known = { ...identities, tenants: [{ id: "acme", name: "acme" }], projects };
  expect(configurationNotices({ configuration, identities: known, families: FAMILIES, environment })).toEqual([
    "limits.a.scope.provider: there is no provider with this id, so it applies to no call",
    "projects.shop.limits.c.scope.route: there is no route with this name, so it applies to no call",
    "policies.p.scope.model: there is no provider with the id before the colon, so it applies to no call",
  ]);
});

test("[d2.9] a target whose provider a tenant or project has enabled itself is reported only where none of these sees the route", () => {
  const configuration = parseConfiguration({
    file: "f",
    text: [
      'routes: {all: {targets: ["openai:a", "azure:b"]}}',
      'tenants: {acme: {routes: {own: {targets: ["openai:c"]}}}, beta: {routes: {own: {targets: ["openai:d"]}}}}',
      'projects: {site: {routes: {r: {targets: ["openai:e", "anthropic:f"]}}}, shop: {routes: {r: {targets: ["anthropic:g"]}}}}',
    ].join("\n"),
    families: FAMILIES,
    environment,
  });
  const stored = (name: string, projectId: string | null): OpenedResource => ({
    id: `prv_${name}`,
    kind: "provider",
    name,
    tenantId: "acme",
    projectId,
    setBy: "owner",
    createdAtMs: 0,
    updatedAtMs: 0,
    version: 1,
    document: { api_key: "sk-1234567890" },
    fault: null,
  });
  const known = {
    ...identities,
    tenants: ["acme", "beta"].map((id) => ({ id, name: id })),
    projects: [
      { id: "site", tenantId: "acme", name: "site" },
      { id: "shop", tenantId: "beta", name: "shop" },
    ],
  };
  const provider = [stored("openai", null), stored("anthropic", "site")];
  const none = { route: [], policy: [], limit: [], budget: [], price: [], tool_server: [], webhook: [], setting: [] };
  const resources = { ...none, provider };
  expect(
    configurationNotices({ configuration, identities: known, resources, families: FAMILIES, environment }),
  ).toEqual([
    "routes.all uses azure:b, but its provider is not enabled",
    "tenants.beta.routes.own uses openai:d, but its provider is not enabled",
    "projects.shop.routes.r uses anthropic:g, but its provider is not enabled",
  ]);
});

test("[d5.8] a route is compiled once for all projects that inherit it, also where they have routes of their own", () => {
  const { projectRoutes } = compile(`
tenants: { t: { routes: { shared: { targets: ["openai:a"] } } } }
projects:
  p: { routes: { own: { targets: ["openai:b"] } } }
  q: { routes: { own: { targets: ["openai:c"] } } }
`);
  const [inP, inQ] = [projectRoutes.get("p")!, projectRoutes.get("q")!];
  expect(inP.get("shared")).toBe(inQ.get("shared"));
  expect([inP, inQ].map((routes) => routes.get("own")!.targets[0]!.name)).toEqual(["openai:b", "openai:c"]);
});

// `when` and `share` in the configuration: their compiled form, the headers that conditions may read, mistakes with their
// place and cure, and tests of routes.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import { failedTests } from "../../src/diagnostics/simulation/file-tests.ts";
import { compileSnapshot } from "../../src/snapshot/compile.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { FAMILIES } from "../config/families.ts";

const environment = readEnvironment({});
const configurationOf = (text: string) => parseConfiguration({ file: "f", text, families: FAMILIES, environment });

function snapshotOf(text: string) {
  const identities = { tenants: [], projects: [], users: [], memberships: [], tokens: [] };
  return compileSnapshot({
    configuration: configurationOf(text),
    identities,
    families: FAMILIES,
    environment,
    version: 1,
  });
}

function problemsOf(text: string): string {
  try {
    configurationOf(text);
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message;
    throw thrown;
  }
  return "";
}

/** The problems of a route of these JSON members. */
const ofRoute = (route: object, server: object = { condition_headers: ["X-Tier"] }): string =>
  problemsOf(JSON.stringify({ server, routes: { r: route, other: { targets: ["openai:o"] } } }));
const ofTargets = (...targets: readonly (string | object)[]): string => ofRoute({ targets });
const ofWhen = (when: string): string => ofTargets({ model: "openai:a", when }, "openai:b");

describe("[d16.1] conditions in the configuration", () => {
  test("are members of targets and fallbacks, and no parameters of a fallback", () => {
    const route = snapshotOf(
      JSON.stringify({
        server: { condition_headers: ["X-Tier"] },
        routes: {
          r: {
            targets: [{ model: "openai:a", when: 'headers["x-tier"] == "gold"', share: 2.5 }, "openai:b"],
            fallbacks: [{ model: "gemini:g", when: "request.stream", share: 50, temperature: 1 }],
            content_policy_fallbacks: [{ route: "other", when: "!request.stream" }],
          },
          other: { targets: ["openai:o"] },
        },
      }),
    ).routes.get("r")!;
    expect(route.targets[0]).toMatchObject({ when: 'headers["x-tier"] == "gold"', share: 2.5 });
    expect(route.isConditional).toBe(true);
    expect(route.fallbacks).toEqual([
      { model: "gemini:g", route: null, params: { temperature: 1 }, when: "request.stream", share: 50 },
    ]);
    expect(route.contentPolicyFallbacks).toEqual([
      { model: null, route: "other", params: {}, when: "!request.stream" },
    ]);
  });

  test("of no target leave the route as it was", () => {
    const route = snapshotOf('routes: {r: {targets: ["openai:a"]}}').routes.get("r")!;
    expect("isConditional" in route).toBe(false);
    expect(Object.keys(route.targets[0]!)).not.toContain("when");
  });

  test.each([
    ["request.stream &&", "line 1, column"],
    ["request.metadata.plan", "a rule must give true or false"],
    ['target.provider == "openai"', "target"],
    ['nonsense == "a"', "nonsense"],
    ['headers["x-other"] == "a"', 'the header "x-other" is not in `server.condition_headers`'],
    ['"x-tear" in headers', 'did you mean "x-tier"'],
    ['headers["X-Tier"] == "a"', 'names of headers are in lower case here: "x-tier"'],
    ["headers.cookie == ''", 'the header "cookie" is not in'],
    ["request.metadata.list.all(x, request.metadata.list.all(y, x == y))", "macros cannot be nested"],
  ])("that cannot be used are told with their place: %s", (when, words) => {
    const problem = ofWhen(when);
    expect(problem).toContain("routes.r.targets[0].when");
    expect(problem).toContain(words);
  });

  test.each([
    'headers["x-tier"] == "a"',
    '"x-tier" in headers',
    "now.getHours('Europe/Berlin') < 7",
    "!request.stream",
  ])("that can be used are taken: %s", (when) => expect(ofWhen(when)).toBe(""));

  test("of fallbacks are checked as well, in each list and in defaults", () => {
    const wrong = [{ model: "openai:a", when: "request.strem" }];
    expect(ofRoute({ targets: ["openai:b"], fallbacks: wrong })).toContain("routes.r.fallbacks[0].when");
    expect(ofRoute({ targets: ["openai:b"], content_policy_fallbacks: wrong })).toContain(
      "routes.r.content_policy_fallbacks[0].when",
    );
    expect(problemsOf(JSON.stringify({ route_defaults: { fallbacks: wrong } }))).toContain(
      "route_defaults.fallbacks[0].when",
    );
  });

  test.each(["authorization", "Cookie", "x-api-key", "x-session-token"])(
    "cannot read the header %s, which may hold a secret",
    (name) => {
      const problem = ofRoute({ targets: ["openai:b"] }, { condition_headers: [name] });
      expect(problem).toContain("server.condition_headers[0]");
      expect(problem).toContain("may contain a secret");
    },
  );
});

describe("[d16.1] shares in the configuration", () => {
  test.each([
    [[{ model: "openai:a", share: 60 }, { model: "openai:b", share: 50 }, "openai:c"], "add up to 110 %"],
    [
      [
        { model: "openai:a", share: 60 },
        { model: "openai:b", share: 30 },
      ],
      "some calls would have no target",
    ],
    [[{ model: "openai:a", share: 0 }, "openai:b"], "share"],
    [[{ model: "openai:a", share: 101 }, "openai:b"], "share"],
  ])("are checked together: %j", (targets, words) => expect(ofTargets(...targets)).toContain(words));

  test("may be 100 % together, and more where conditions divide the calls", () => {
    expect(ofTargets({ model: "openai:a", share: 60 }, { model: "openai:b", share: 40 })).toBe("");
    // as doubles these add up to a little less and a little more
    for (const [a, b, c] of [
      [0.1, 64.1, 35.8],
      [0.2, 83.9, 15.9],
    ] as const)
      expect(
        ofTargets({ model: "openai:a", share: a }, { model: "openai:b", share: b }, { model: "openai:c", share: c }),
      ).toBe("");
    expect(
      ofTargets(
        { model: "openai:a", share: 80, when: "request.stream" },
        { model: "openai:b", share: 80, when: "!request.stream" },
        "openai:c",
      ),
    ).toBe("");
    expect(ofRoute({ targets: ["openai:a"], fallbacks: [{ model: "openai:b", share: 10 }] })).toBe("");
  });
});

describe("[d16.1] tests of a route", () => {
  const failures = (
    tests: readonly object[],
    targets: readonly (string | object)[],
    fallbacks: readonly object[] = [],
    other: object = {},
  ) =>
    failedTests({
      configuration: configurationOf(
        JSON.stringify({
          ...other,
          server: { condition_headers: ["x-tier"] },
          routes: { r: { targets, fallbacks, tests: tests.map((one) => ({ name: "it", ...one })) } },
        }),
      ),
      environment,
    }).map(({ message }) => message);
  const GOLD = { model: "openai:a", when: 'headers["x-tier"] == "gold"' };

  test("say which headers, metadata and time a call has", () => {
    const targets = [
      GOLD,
      { model: "openai:b", when: 'request.metadata.plan == "pro"' },
      { model: "openai:c", when: "now.getFullYear() == 2020" },
      "openai:d",
    ];
    const expecting = (when: object, target: string) => ({ when, expect: { target } });
    expect(
      failures(
        [
          expecting({ headers: { "X-Tier": "gold" } }, "openai:a"),
          expecting({ metadata: { plan: "pro" } }, "openai:b"),
          expecting({ time: "2020-03-01T09:00:00Z" }, "openai:c"),
          expecting({}, "openai:d"),
          { when: {}, expect: { never: ["openai:a", "openai:b"] } },
        ],
        targets,
      ),
    ).toEqual([]);
    expect(failures([expecting({}, "openai:a")], targets)).toEqual([
      'the test "it" does not hold. openai:d answers, and not openai:a.',
    ]);
  });

  test("know the code of a call that no target is for", () => {
    expect(failures([{ when: {}, expect: { code: "target_not_eligible" } }], [GOLD])).toEqual([]);
    expect(
      failures(
        [{ when: {}, expect: { code: "target_not_eligible" } }],
        [GOLD, { model: "openai:b", when: "request.stream" }],
      ),
    ).toEqual([]);
    expect(
      failures(
        [{ when: {}, expect: { target: "openai:b" } }],
        [GOLD],
        [{ model: "openai:b", when: "!request.stream" }],
      ),
    ).toEqual([]);
  });

  test("have a prompt of the length that they say, for conditions and policies", () => {
    const targets = [
      { model: "openai:long", when: "request.messages.prompt_tokens > 20000" },
      { model: "openai:usual", when: "request.messages.prompt_tokens >= 100" },
      "openai:short",
    ];
    const of = (tokens: number | undefined, expected: object) => ({
      when: { prompt_tokens: tokens },
      expect: expected,
    });
    const policies = { long: { rule: "request.messages.prompt_tokens > 1000000" } };
    expect(
      failures(
        [
          of(10, { target: "openai:short" }),
          of(99, { target: "openai:short" }),
          of(undefined, { target: "openai:usual" }),
          of(20_000, { target: "openai:usual" }),
          of(20_001, { target: "openai:long" }),
          of(1_000_000, { target: "openai:long" }),
          of(1_000_001, { code: "policy_violation" }),
        ],
        targets,
        [],
        { policies },
      ),
    ).toEqual([]);
  });

  test("find the calls of a share", () => {
    const targets = ["openai:a", { model: "openai:b", share: 10 }];
    expect(failures([{ when: {}, expect: { target: "openai:a" } }], targets)).toHaveLength(1);
    expect(failures([{ when: {}, expect: { never: "openai:b" } }], targets)).toHaveLength(1);
    expect(failures([{ when: {}, expect: { target: ["openai:a", "openai:b"] } }], targets)).toEqual([]);
    // the client names it
    expect(failures([{ when: { model: "openai:b" }, expect: { target: "openai:b" } }], targets)).toEqual([]);
  });

  test("find the calls of a share, and every target, also where a user or a conversation that is made up would stay on one side", () => {
    const targets = ["openai:a", { model: "openai:b", share: 10 }];
    for (const [sticky, parameters] of [
      ["prompt", []],
      ["user", ["user"]],
    ] as const) {
      const other = { route_defaults: { sticky } };
      const of = (expected: object, among: readonly (string | object)[] = targets): readonly string[] =>
        failures([{ when: { parameters }, expect: expected }], among, [], other);
      expect(of({ target: "openai:a" })).toHaveLength(1);
      expect(of({ target: "openai:b" })).toHaveLength(1);
      expect(of({ never: "openai:b" })).toHaveLength(1);
      expect(of({ target: ["openai:a", "openai:b"] })).toEqual([]);
      for (const target of ["openai:a", "openai:b"]) expect(of({ target }, ["openai:a", "openai:b"])).toHaveLength(1);
    }
  });
});

describe("[d16.1] a mirror in the configuration", () => {
  const ofMirror = (mirror: object): string => ofRoute({ targets: ["openai:a"], mirror });

  test("is compiled with its defaults, and is no part of other routes", () => {
    const { routes } = snapshotOf(
      JSON.stringify({
        routes: {
          r: {
            targets: ["openai:a"],
            mirror: { target: "gemini:g", share: 10, when: "request.stream", drop: ["seed"] },
          },
          other: { targets: ["openai:o"] },
        },
      }),
    );
    expect(routes.get("r")!.mirror).toMatchObject({
      target: { name: "gemini:g", providerId: "gemini", model: "g", drop: new Set(["seed"]) },
      share: 10,
      when: "request.stream",
      toOtherVendors: false,
      maxInFlight: 16,
      timeoutMs: 120_000,
    });
    expect("mirror" in routes.get("other")!).toBe(false);
  });

  test.each([
    [{ target: "nobody:m" }, "mirror.target: there is no provider"],
    [{ target: "route:other" }, "mirror.target: "],
    [{ target: "openai:b", when: "request." }, "mirror.when: the condition cannot be used"],
    [{ target: "openai:b", when: 'headers["x-other"] == "a"' }, "mirror.when: the header"],
    [{ target: "openai:b", share: 0 }, "mirror.share: "],
    [{ target: "openai:b", params: { api_key: "sk" } }, "mirror.params.api_key: a route cannot set this field"],
    [{ target: "openai:b", params: { seed: 1 }, drop: ["seed"] }, "mirror.drop[0]: the target's `params` set"],
    [{ target: "openai:b", max_in_flight: 0 }, "mirror.max_in_flight: "],
    [{ share: 5 }, "mirror.target: "],
    [{ target: "openai:b", weight: 2 }, "mirror"],
  ])("%j is a mistake that is told with its place", (mirror, said) => {
    expect(ofMirror(mirror)).toContain(said);
  });

  test("is seen by tests of routes", () => {
    const failures = (mirrored: boolean, mirror: object | undefined): readonly string[] =>
      failedTests({
        configuration: configurationOf(
          JSON.stringify({
            routes: {
              r: { targets: ["openai:a"], mirror, tests: [{ name: "it", when: {}, expect: { mirrored } }] },
            },
          }),
        ),
        environment,
      }).map(({ message }) => message);
    expect(failures(true, { target: "openai:b", share: 5 })).toEqual([]);
    expect(failures(false, { target: "openai:b", when: "request.stream" })).toEqual([]);
    expect(failures(true, { target: "openai:b", when: "request.stream" })).toEqual([
      'the test "it" does not hold. The mirror gets no copy of such calls.',
    ]);
    expect(failures(false, { target: "openai:b" })).toEqual([
      'the test "it" does not hold. The mirror gets a copy of such calls.',
    ]);
    expect(failures(false, undefined)).toEqual([]);
  });

  test("gets no copy in tests that no call would have: at another vendor, of a long request, or of a call that is not sent", () => {
    const KEEPS = { tenants: { default: { settings: { content_log: { enabled: true } } } } };
    const ONLY_APP = { tenants: { default: { settings: { content_log: { enabled: true, projects: ["app"] } } } } };
    const isCopied = (mirror: object, when: object = {}, other: object = {}): boolean => {
      const found = failedTests({
        configuration: configurationOf(
          JSON.stringify({
            ...other,
            routes: {
              r: { targets: ["openai:a"], mirror, tests: [{ name: "it", when, expect: { mirrored: true } }] },
            },
          }),
        ),
        environment,
      });
      expect(found.map(({ message }) => message).join()).toMatch(found.length > 0 ? /gets no copy of such/ : /^$/);
      return found.length === 0;
    };
    const other = { target: "gemini:g" };
    const same = { target: "openai:b" };
    expect([isCopied(other), isCopied({ ...other, other_vendors: true }), isCopied(same)]).toEqual([false, true, true]);
    expect([isCopied(other, {}, KEEPS), isCopied(other, { project: "app" }, KEEPS)]).toEqual([true, true]);
    expect(["app", "site"].map((project) => isCopied(other, { project }, ONLY_APP))).toEqual([true, false]);
    expect([isCopied(same, { prompt_tokens: 100_000 }), isCopied(same, { prompt_tokens: 140_000 })]).toEqual([
      true,
      false,
    ]);
    expect(isCopied(same, {}, { policies: { none: { rule: "true" } } })).toBe(false);
    expect(isCopied(same, {}, { policies: { none: { rule: 'target.provider == "openai"' } } })).toBe(false);
  });
});

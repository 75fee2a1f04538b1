// Whatever documents and rows the store holds, a snapshot is made: unusable ones are left out with a message, and all
// others are used.
import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { openSecretCipher } from "../../src/config/secret-cipher.ts";
import { CONFIGURED_KINDS, type ConfiguredKind } from "../../src/core/configured/configured.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { snapshotSeenBy } from "../../src/core/snapshot.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { compileSnapshot, storedProblems } from "../../src/snapshot/compile.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";
import { openMemoizer } from "../../src/snapshot/memoize.ts";
import { openSnapshotSource } from "../../src/snapshot/source.ts";
import type { OpenedResource } from "../../src/store/configuration/contents.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import { writes } from "../harness/store-writes.ts";
import { growth, MOST_GROWTH } from "../harness/time/cpu-time.ts";
import { until } from "../harness/time/until.ts";

/** Two good documents of each kind, which hold every shape that there is somewhere in them. */
const GOOD: Readonly<Record<ConfiguredKind, readonly JsonObject[]>> = {
  provider: [
    {
      type: "custom",
      base_url: "https://models.test/v1",
      api_keys: ["one", { key: "two", weight: 2 }],
      models: ["n", { id: "m", pricing: { prompt: "0.1", completion: "1" } }],
    },
    { aws: { access_key_id: "id", secret_access_key: "key" }, region: "eu-west-1" },
  ],
  route: [
    {
      targets: [
        "openai:a",
        { model: "anthropic:b", weight: 2, order: 1, params: { temperature: 1, tools: [] }, max_concurrency: 3 },
      ],
      fallbacks: ["route:good", { model: "openai:c", temperature: 0 }],
      context_window_fallbacks: { "openai:a": "openai:big" },
    },
    {
      targets: ["openai:a"],
      strategy: { type: "weighted", sticky: { header: "x-user" } },
      hedge: { after: 100, max_extra: 0.5 },
      breaker: { failures: 2, ratio: 0.1 },
      timeouts: { total_ms: 1000 },
      queue: { max: 3 },
    },
  ],
  policy: [
    {
      rule: 'request.tool_names.exists(name, name.matches("a+"))',
      scope: { token: "a*", user: "*", model: "openai:*" },
      message: "No.",
      mode: "audit",
    },
    {
      guard: {
        on: "both",
        classes: ["email", "national_id"],
        national_ids: [],
        patterns: ["a{1,3}b", "(x|y)*z"],
        action: "mask",
        mask: "-",
      },
    },
  ],
  limit: [
    { metric: "requests", window: "minute", limit: 10, scope: { user: "*", model: "a*" }, assume_output_tokens: 10 },
    { metric: "concurrency", limit: 3 },
  ],
  budget: [
    {
      usd: "12.50",
      window: "day",
      thresholds: [80, { percent: 90, degrade_to: "route:good" }],
      unpriced: "allow",
      scope: { token: "x" },
    },
    { tokens: 100, window: "total" },
  ],
  price: [
    {
      model: "openai:*",
      prompt: "1.25",
      completion: "10",
      tiers: [{ above_prompt_tokens: 200_000, prompt: "2" }],
      from: "2026-01-01",
    },
    { model: "openai:a", per: "token", completion: "0.000001", request: "1" },
  ],
  tool_server: [
    { url: "https://tools.test/mcp?key=secret", headers: { authorization: "secret" }, allowed_tools: ["a*"] },
    { url: "https://tools.test/mcp" },
  ],
  webhook: [
    {
      url: "https://hooks.test/in?key=secret",
      events: ["budget.*", "call.refused"],
      secret: `whsec_${"A".repeat(43)}=`,
      previous_secret: `whsec_${"B".repeat(43)}=`,
      previous_secret_until: "2026-01-31T09:00:00Z",
    },
    { url: "https://hooks.test/in", secret: `whsec_${"A".repeat(43)}=`, enabled: false, timeout_s: 3, max_attempts: 2 },
  ],
  setting: [{ drop_params: true, models: ["openai:*"] }, { disable_stop_sequence_limit: true }],
};

const deep = (depth: number): Json => (depth === 0 ? "x" : [deep(depth - 1)]);
const HOSTILE: readonly Json[] = [
  null,
  "",
  " ",
  "*",
  "**",
  "a*b*c",
  ":",
  "/",
  "direct",
  "route:",
  "route:good",
  "openai:",
  "openai:..",
  "openai:a?b",
  "__proto__",
  "constructor",
  "toString:valueOf",
  "\0",
  "\r\nx: y",
  "\ud800",
  "e\u0301",
  "ﬀ",
  "😀".repeat(3),
  "x".repeat(10_000),
  "0",
  "-1",
  "1e309",
  "NaN",
  "0.0000000000000001",
  "9999999.999999999999999",
  "00.1",
  "1970-01-01",
  "0000-01-01",
  "9999-12-31T23:59:59.999Z",
  "2026-02-30",
  "(",
  "[",
  "a{1000}",
  "(a*)*".repeat(40),
  "(?=a)",
  "\\p{L}",
  "(".repeat(500),
  "[1,2".repeat(300),
  "1".repeat(8000),
  "!".repeat(3000) + "true",
  "request",
  "request.x.y",
  "true && ".repeat(400) + "true",
  "'a'.matches('(')",
  "now.getHours('Mars')",
  "[[[1]]].map(x, x)",
  "{'a': 1}.a == 1",
  "1/0 == 1",
  "9223372036854775808 > 0",
  "b'\\xff' == b''",
  '"\\u{110000}"',
  0,
  -0,
  -1,
  0.1,
  1e-320,
  1.7976931348623157e308,
  Number.MAX_SAFE_INTEGER,
  1e21,
  true,
  false,
  [],
  {},
  [[]],
  { "": "" },
  [null],
  { constructor: 1 },
  JSON.parse('{"__proto__": {"targets": 1}}') as Json,
  deep(60),
  deep(2000),
];

/** https://prng.di.unimi.it, splitmix32 */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** One to three places of it are other than they were. */
function spoiled(document: JsonObject, next: () => number): JsonObject {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const copy = structuredClone(document) as Record<string, Json>;
  for (let times = 1 + Math.floor(next() * 3); times > 0; times--) {
    let at: Record<string, Json> = copy;
    for (;;) {
      const key = pick([...Object.keys(at), "__proto__", "constructor", "name", "extra"]);
      const value = Object.hasOwn(at, key) ? at[key] : undefined;
      if (typeof value === "object" && value !== null && next() < 0.7 && Object.keys(value).length > 0)
        at = value as Record<string, Json>;
      else {
        if (next() < 0.15) delete at[key];
        else
          Object.defineProperty(at, key, {
            value: pick(HOSTILE),
            enumerable: true,
            configurable: true,
            writable: true,
          });
        break;
      }
    }
  }
  return copy;
}

const NAMES = [
  "good",
  "__proto__",
  "constructor",
  "toString",
  "openai",
  "OPENAI",
  "direct",
  "a.b",
  "..",
  "x".repeat(64),
  "e\u0301",
  "",
  "a b",
];
const IDENTITIES = {
  tenants: [
    { id: "__proto__", name: "" },
    { id: "constructor", name: "" },
    { id: "acme", name: "" },
  ],
  projects: [
    { id: "toString", tenantId: "acme", name: "" },
    { id: "__proto__", tenantId: "__proto__", name: "" },
  ],
  users: [],
  memberships: [],
  tokens: [],
};
const PLACES = [
  { tenantId: "acme", projectId: null },
  { tenantId: "acme", projectId: "toString" },
  { tenantId: "__proto__", projectId: "__proto__" },
  { tenantId: "constructor", projectId: null },
] as const;

function resource(
  kind: ConfiguredKind,
  id: string,
  name: string | null,
  document: JsonObject,
  place: (typeof PLACES)[number] = PLACES[0],
): OpenedResource {
  return {
    kind,
    id,
    name,
    document,
    ...place,
    setBy: "admin",
    version: 1,
    createdAtMs: 0,
    updatedAtMs: 0,
    fault: null,
  };
}

describe("unusable documents", () => {
  const { configuration } = loadConfiguration({
    file: null,
    families: PROVIDER_FAMILIES,
    environment: { get: () => undefined },
  });
  const compiled = (documents: readonly OpenedResource[]) => {
    const resources = Object.fromEntries(
      CONFIGURED_KINDS.map((kind) => [kind, documents.filter((one) => one.kind === kind)]),
    ) as never;
    const input = {
      configuration,
      identities: IDENTITIES,
      resources,
      families: PROVIDER_FAMILIES,
      environment: readEnvironment({ OPENAI_API_KEY: "of-the-operator" }),
      version: 1,
    };
    const snapshot = compileSnapshot(input);
    for (const { tenantId, projectId } of PLACES)
      snapshot.limitRules
        .forCaller(tenantId, projectId ?? "", "token")
        ?.accountsAt({ route: "r", provider: "p", model: "p:m" }, "user");
    return { snapshot, problems: storedProblems(input) };
  };

  test("good ones give no problem", () => {
    const { problems, snapshot } = compiled(
      CONFIGURED_KINDS.flatMap((kind) =>
        GOOD[kind].map((document, index) =>
          resource(
            kind,
            `${kind}${index}`,
            kind === "provider" ? ["mine", "bedrock"][index]! : index === 0 ? "good" : "other",
            kind === "route" && index === 0 ? { ...document, fallbacks: ["route:other"] } : document,
          ),
        ),
      ),
    );
    expect(problems).toEqual([]);
    expect([...snapshot.tenantRoutes.get("acme")!.keys()]).toContain("good");
  });

  test("stop no snapshot, whatever they contain and whatever their names, and nothing beside them", () => {
    let unused = 0;
    for (let seed = 1; seed <= 120; seed++) {
      const next = random(seed);
      const beside = [
        resource("route", "keep-route", "kept", { targets: ["openai:a"] }),
        resource("limit", "keep-limit", "kept", { metric: "requests", window: "day", limit: 7 }),
        resource("price", "keep-price", "kept", { model: "openai:kept", prompt: "1" }),
      ];
      const hostile = Array.from({ length: 40 }, (_, index) => {
        const kind = CONFIGURED_KINDS[Math.floor(next() * CONFIGURED_KINDS.length)]!;
        return resource(
          kind,
          `r${index}`,
          next() < 0.1 ? null : NAMES[Math.floor(next() * NAMES.length)]!,
          spoiled(GOOD[kind][index % 2]!, next),
          PLACES[Math.floor(next() * PLACES.length)],
        );
      });
      let result: ReturnType<typeof compiled>;
      try {
        result = compiled([...beside, ...hostile]);
      } catch (thrown) {
        throw new Error(`seed ${seed}`, { cause: thrown });
      }
      unused += result.problems.length;
      expect(result.snapshot.tenantRoutes.get("acme")?.get("kept")?.targets[0]?.name).toBe("openai:a");
      for (const place of PLACES)
        expect(snapshotSeenBy(result.snapshot, place).providers.size).toBeGreaterThanOrEqual(PROVIDER_FAMILIES.length);
      expect(result.snapshot.limitRules.forCaller("acme", "x", "t")?.rules.some(({ id }) => id === "keep-limit")).toBe(
        true,
      );
      expect(result.snapshot.prices.tenants.get("acme")?.exact.has("openai:kept")).toBe(true);
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
      expect("targets" in {}).toBe(false);
    }
    expect(unused).toBeGreaterThan(1000);
  });
});

describe("many routes of many tenants", () => {
  const { configuration } = loadConfiguration({
    file: null,
    families: PROVIDER_FAMILIES,
    environment: { get: () => undefined },
  });
  const chain = (tenantId: string, length: number): readonly OpenedResource[] =>
    Array.from({ length }, (_, index) => ({
      ...resource("route", `${tenantId}-${index}`, `r${index}`, {
        targets: ["openai:a"],
        ...(index > 0 && { fallbacks: [`route:r${index - 1}`] }),
      }),
      tenantId,
      projectId: null,
    }));
  const shared = openMemoizer();
  const compiled = (route: readonly OpenedResource[], memoize = shared) => {
    const input = {
      configuration,
      identities: IDENTITIES,
      resources: {
        provider: [],
        route,
        policy: [],
        limit: [],
        budget: [],
        price: [],
        tool_server: [],
        webhook: [],
        setting: [],
      },
      families: PROVIDER_FAMILIES,
      environment: readEnvironment({}),
      version: 1,
      memoize,
    };
    return { snapshot: compileSnapshot(input), problems: storedProblems(input) };
  };

  test("a chain of 3,000 whose last one is gone is left out, and other tenants' routes are not examined", async () => {
    const [own, others] = [chain("acme", 3000), ["t1", "t2", "t3"].flatMap((id) => chain(id, 500))];
    const whole = compiled([...own, ...others]);
    expect(whole.problems).toEqual([]);
    expect(whole.snapshot.tenantRoutes.get("acme")!.size).toBe(3001);
    const given = [...own.slice(1), ...others];
    const broken = compiled(given);
    expect(broken.problems).toHaveLength(2999);
    expect(broken.problems.at(-1)).toContain("is ignored");
    expect(broken.snapshot.tenantRoutes.has("acme")).toBe(false);
    for (const id of ["t1", "t2", "t3"])
      expect(broken.snapshot.tenantRoutes.get(id)).toBe(whole.snapshot.tenantRoutes.get(id));
  });

  test("a broken chain is left out in time proportional to its length", async () => {
    const broken = (length: number): readonly OpenedResource[] => chain("acme", length).slice(1);
    // nothing that was compiled before is kept
    const work = (route: readonly OpenedResource[]) => compiled(route, openMemoizer());
    expect(await growth(broken, work, 750)).toBeLessThan(MOST_GROWTH);
  });

  test("a loop is left out with what leads to it, and a project's route may fall back to its tenant's", () => {
    const inProject = {
      ...resource("route", "own", "own", { targets: ["openai:a"], fallbacks: ["route:r1"] }, PLACES[1]),
    };
    const foreign = {
      ...resource("route", "foreign", "foreign", { targets: ["openai:a"], fallbacks: ["route:only-t1"] }, PLACES[1]),
    };
    const ofT1 = { ...resource("route", "only-t1", "only-t1", { targets: ["openai:a"] }), tenantId: "t1" };
    const loop = [
      ["x", "y"],
      ["y", "x"],
      ["z", "x"],
    ].map(([name, to]) => resource("route", name!, name!, { targets: ["openai:a"], fallbacks: [`route:${to}`] }));
    const { snapshot, problems } = compiled([...chain("acme", 2), ...loop, inProject, foreign, ofT1]);
    expect([...snapshot.tenantRoutes.get("acme")!.keys()].toSorted()).toEqual(["direct", "r0", "r1"]);
    expect([...snapshot.projectRoutes.get("toString")!.keys()].toSorted()).toEqual(["direct", "own", "r0", "r1"]);
    expect(problems.join("\n")).toMatch(/route x .*leads back to the route: x -> y -> x/);
    expect(problems.join("\n")).toContain(
      "stored route foreign of the project toString is ignored: there is no route with this name",
    );
  });
});

test("damaged rows, and rows of a newer version, are left out and named; everything else is read, also later changes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-damaged-"));
  const file = join(folder, "store.db");
  const { store } = await openSqliteDatabase({ file, cipher: openSecretCipher([new Uint8Array(32)]) });
  await store.migrate();
  await writes(store).createTenant({ id: "acme", name: "acme" });
  for (const id of ["one", "two", "three"]) await writes(store).createProject({ id, tenantId: "acme", name: id });
  for (const name of ["broken", "list", "fine"])
    await writes(store).createResource({
      kind: "route",
      id: name,
      tenantId: "acme",
      projectId: null,
      name,
      document: { targets: ["openai:a"] },
    });
  await writes(store).createResource({
    kind: "policy",
    id: "pol",
    tenantId: "acme",
    projectId: "one",
    name: "torn",
    document: { rule: "true" },
  });
  const raw = new Database(file);
  raw.run("update resources set document = '{\"targets\":' where id = 'broken'");
  raw.run("update resources set document = 'null' where id = 'list'");
  raw.run("update resources set document = '' where id = 'pol'");
  raw.run(
    "insert into resources select 'new', 'galaxy', tenant_id, project_id, 'new', document, set_by, version, created_at_ms, updated_at_ms, by_operator from resources where id = 'fine'",
  );
  raw.run("insert into users (id, tenant_id, name) values ('ann', 'acme', 'Ann')");
  raw.run("insert into memberships (tenant_id, user_id, project_id, role) values ('acme', 'ann', null, 'emperor')");
  raw.run(
    "insert into access_tokens (id, kind, name, tenant_id, project_id, role, permissions, created_at_ms, lifetime_ms, expires_at_ms) values ('T', 'project', 't', 'acme', 'one', 'developer', '[', 0, 0, 0), ('U', 'project', 't', 'acme', 'one', 'developer', '[]', 0, 0, 9223372036854775807), ('V', 'project', 't', 'acme', 'one', 'developer', '[]', -5, 0, 0)",
  );
  raw.close();
  const problems: string[] = [];
  const source = await openSnapshotSource({
    loaded: loadConfiguration({ file: null, families: PROVIDER_FAMILIES, environment: readEnvironment({}) }),
    store,
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
    onProblem: ({ message }) => void problems.push(message),
    pollMs: 10,
  });
  const snapshot = source.current();
  expect([...snapshot.tenantRoutes.get("acme")!.keys()]).toEqual(["direct", "fine"]);
  expect([...snapshot.tokens.keys()]).toEqual(["V"]);
  expect(snapshot.memberships.size).toBe(0);
  expect(snapshot.policies.of("acme", "one")?.all[0]).toMatchObject({ name: "torn", mode: "enforce" });
  const told = problems.join("\n");
  for (const word of [
    "route broken",
    "route list",
    "galaxy with the id new",
    "token with the id T",
    "token with the id U",
    "membership with the id ann/",
    "policy torn",
  ])
    expect(told).toContain(word);
  await writes(store).changeToken("V", (token) => ({ ...token, name: "later" }));
  await until(() => source.current().tokens.get("V")?.name === "later");
  expect([...source.current().tenantRoutes.get("acme")!.keys()]).toEqual(["direct", "fine"]);
  source.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

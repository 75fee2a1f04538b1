// The plan of `dragoman apply` from documents and the present state: the order, the differences, and what stays
// unchanged.
import { describe, expect, test } from "bun:test";
import { shownDifferences } from "../../src/cli/apply/apply.ts";
import { documentsOf, titleOf, type DesiredState } from "../../src/cli/apply/documents.ts";
import { type ApplyPlan, type PlanOptions, planOf, specToSend, type ActualState } from "../../src/cli/apply/plan.ts";
import { withSecrets } from "../../src/cli/apply/secrets.ts";

const VARIABLES = { get: (name: string) => (name === "KEY" ? "sk-secret" : undefined) };
const wanted = (text: string): readonly DesiredState[] => documentsOf(text, "f.yaml", VARIABLES);
const plan = (text: string, there: readonly ActualState[] = [], options: Partial<PlanOptions> = {}): ApplyPlan =>
  planOf(wanted(text), there, { prune: false, renewSecrets: false, ...options });
const told = ({ steps }: ApplyPlan): readonly string[] => steps.map(({ action, what }) => `${action} ${titleOf(what)}`);
const route = (name: string, spec: ActualState["spec"], more: Partial<ActualState> = {}): ActualState => ({
  kind: "route",
  tenant: null,
  project: "red",
  name,
  id: `rte_${name}`,
  spec,
  etag: '"1"',
  origin: "store",
  ...more,
});

describe("documents", () => {
  test("are YAML with a kind, a scope, a name and a spec, several in a file, also as JSON", () => {
    const [tenant, fast, settings] = wanted(
      'kind: tenant\nname: acme\n---\nkind: route\nproject: red\nname: fast\nspec: { targets: ["sandbox:echo"] }\n---\n{"kind": "settings", "spec": {"drop_params": true}}\n',
    );
    expect(tenant).toMatchObject({
      kind: "tenant",
      tenant: null,
      project: null,
      name: "acme",
      spec: {},
      from: "f.yaml:1",
    });
    expect(fast).toMatchObject({
      kind: "route",
      tenant: null,
      project: "red",
      name: "fast",
      spec: { targets: ["sandbox:echo"] },
      from: "f.yaml:4",
    });
    expect(settings).toMatchObject({ kind: "settings", tenant: "default", name: "settings" });
    expect(wanted("")).toEqual([]);
    expect(wanted("---\n# nothing\n---\n")).toEqual([]);
  });

  test("take variables of the environment, and a missing one is named with its place", () => {
    expect(wanted("kind: provider\nname: p\nspec: { api_key: '${KEY}' }")[0]!.spec).toEqual({ api_key: "sk-secret" });
    expect(() => wanted("kind: provider\nname: p\nspec: { api_key: '${OTHER}' }")).toThrow(
      "f.yaml:1: the environment variable OTHER is not set",
    );
  });

  test.each([
    ["kind: king\nname: x", "expected a kind"],
    ["name: x", "expected a kind"],
    ["kind: route", "needs a name"],
    ["kind: route\nname: x\ncolour: red", "unknown field colour"],
    ["kind: route\nname: x\nspec: [1]", "spec must be a mapping"],
    ["kind: user\nname: x\nproject: red", "cannot have the field project"],
    ["kind: tenant\nname: x\ntenant: y", "cannot have the field tenant"],
    ["kind: route\nname: x\ntenant: a\nproject: b", "name one of them"],
    ["- 1", "expected a mapping"],
    ["a: &x 1\nb: *x", "alias"],
    ["a: [", "f.yaml"],
  ])("%j is refused", (text, words) => expect(() => wanted(text)).toThrow(new RegExp(words, "i")));
});

describe("names and aliases of routes", () => {
  const document = (name: string, ...aliases: readonly string[]): string =>
    `kind: route\nproject: red\nname: ${name}\nspec: ${JSON.stringify({ targets: ["sandbox:echo"], ...(aliases.length > 0 && { aliases }) })}\n`;
  const there = (name: string, ...aliases: readonly string[]): ActualState =>
    route(name, { targets: ["sandbox:echo"], ...(aliases.length > 0 && { aliases }) });
  const shown = ({ steps }: ApplyPlan): readonly string[] =>
    steps.map(({ action, what: { name }, desired, actual }) => {
      const aliases = (desired?.spec["aliases"] ?? []) as readonly string[];
      return `${action} ${name}${desired === null ? "" : ` [${aliases.join()}]`}${actual?.etag === null ? ", whatever its ETag" : ""}`;
    });

  test("[d9.3] a route that is renamed and keeps its former name as an alias gets it after the former one is removed", () => {
    const renamed = plan(document("fast-v2", "fast", "quick"), [there("fast")], { prune: true });
    expect(shown(renamed)).toEqual(["create fast-v2 [quick]", "remove fast", "change fast-v2 [fast,quick]"]);
    expect(renamed.steps[2]!.differences).toEqual([{ path: "aliases", from: ["quick"], to: ["fast", "quick"] }]);
    // without the removal, the gateway says what is in the way
    expect(shown(plan(document("fast-v2", "fast"), [there("fast")]))).toEqual(["create fast-v2 [fast]"]);
  });

  test("[d9.3] an alias that moves is given up first, in whatever order the documents and the routes are", () => {
    const [a, b] = [document("a"), document("b", "x")];
    const present = [there("a", "x", "kept"), there("b")];
    for (const text of [`${a}---\n${b}`, `${b}---\n${a}`]) {
      const steps = shown(plan(text, present));
      expect(steps[0]).toBe("change a [kept]");
      expect(steps.slice(1).toSorted()).toEqual(["change a [], whatever its ETag", "change b [x]"]);
    }
    expect(shown(plan(`${document("a", "y")}---\n${document("b", "x")}`, [there("a", "x"), there("b", "y")]))).toEqual([
      "change a []",
      "change b []",
      "change a [y], whatever its ETag",
      "change b [x], whatever its ETag",
    ]);
    expect(shown(plan(document("b", "x"), [there("a", "x"), there("b")], { prune: true }))).toEqual([
      "change a []",
      "change b [x]",
      "remove a, whatever its ETag",
    ]);
  });

  test("[d9.3] an alias is given up before a route of that name is made", () => {
    const text = `${document("fast")}---\n${document("b")}`;
    expect(shown(plan(text, [there("b", "fast")]))).toEqual([
      "change b []",
      "create fast []",
      "change b [], whatever its ETag",
    ]);
  });

  test("what no other takes changes in one step, and names of another place are others", () => {
    const text = `${document("a", "z")}---\n${document("b", "x").replace("red", "blue")}`;
    expect(shown(plan(text, [there("a", "x")]))).toEqual(["change a [z]", "create b [x]"]);
  });
});

describe("a plan", () => {
  test("creates objects before those that refer to them, whatever the order of the documents", () => {
    const kinds = [
      "settings",
      "webhook",
      "budget",
      "limit",
      "policy",
      "route",
      "price",
      "tool_server",
      "provider",
      "member",
      "user",
      "project",
      "tenant",
    ];
    expect(
      plan(kinds.map((kind) => `kind: ${kind}\nname: x`).join("\n---\n")).steps.map(({ what }) => what.kind),
    ).toEqual(kinds.toReversed() as never);
    const routes =
      "kind: route\nname: a\nspec: {fallbacks: ['route:b']}\n---\nkind: route\nname: b\nspec: {fallbacks: [{route: c}]}\n---\nkind: route\nname: c\nspec: {fallbacks: ['route:a']}";
    expect(plan(routes).steps.map(({ what }) => what.name)).toEqual(["c", "b", "a"]);
  });

  test("leaves an object that is already as desired, whatever the order of its fields; null means not set", () => {
    const there = [route("fast", { targets: ["a"], retries: 2 })];
    expect(
      plan("kind: route\nproject: red\nname: fast\nspec: {retries: 2, targets: [a], sticky: null}", there),
    ).toMatchObject({ steps: [], unchanged: 1 });
  });

  test("lists each difference by its path, and settings that are removed", () => {
    const { steps } = plan(
      "kind: route\nproject: red\nname: fast\nspec: {targets: [{model: a, weight: 2}], strategy: weighted}",
      [route("fast", { targets: [{ model: "a", weight: 1 }], retries: 2 })],
    );
    expect(steps).toMatchObject([
      {
        action: "change",
        differences: [
          { path: "targets[0].weight", from: 1, to: 2 },
          { path: "retries", from: 2 },
          { path: "strategy", to: "weighted" },
        ],
      },
    ]);
  });

  test("compares of tenants, projects and users only what the document contains", () => {
    const there: ActualState = {
      kind: "user",
      tenant: "default",
      project: null,
      name: "ann",
      id: "ann",
      spec: { name: "Ann", email: "ann@example.com" },
      etag: null,
      origin: "store",
    };
    expect(plan("kind: user\nname: ann", [there]).steps).toEqual([]);
    expect(plan("kind: user\nname: ann\nspec: {name: Anna}", [there]).steps).toMatchObject([
      { differences: [{ path: "name", from: "Ann", to: "Anna" }] },
    ]);
  });

  test("compares of settings that the configuration file has only what the document contains", () => {
    const there: ActualState = {
      kind: "settings",
      tenant: "default",
      project: null,
      name: "settings",
      id: "settings",
      spec: { drop_params: true },
      filed: { timezone: "Europe/Berlin" },
      etag: null,
      origin: "store",
    };
    for (const spec of ["{drop_params: true}", "{drop_params: true, timezone: Europe/Berlin}"])
      expect(plan(`kind: settings\nspec: ${spec}`, [there])).toMatchObject({ steps: [], unchanged: 1 });
    expect(plan("kind: settings\nspec: {timezone: UTC}", [there]).steps).toMatchObject([
      {
        differences: [
          { path: "drop_params", from: true },
          { path: "timezone", from: "Europe/Berlin", to: "UTC" },
        ],
      },
    ]);
  });

  test("finds by its id an object without a name", () => {
    const there = route("", { limit: 1 }, { kind: "limit", name: "lim_1", id: "lim_1" });
    expect(plan("kind: limit\nproject: red\nname: lim_1\nspec: {limit: 1}", [there])).toMatchObject({
      steps: [],
      unchanged: 1,
    });
  });

  test("treats a secret as the stored one, unless it is to be sent again", () => {
    const there: ActualState = {
      kind: "provider",
      tenant: "default",
      project: null,
      name: "p",
      id: "prv_1",
      spec: { api_key: "*** 0123456789ab" },
      etag: null,
      origin: "store",
    };
    const text = "kind: provider\nname: p\nspec: {api_key: '${KEY}'}";
    expect(plan(text, [there]).steps).toEqual([]);
    expect(told(plan(text, [there], { renewSecrets: true }))).toEqual(["change provider p (tenant default)"]);
    expect(
      plan("kind: provider\nname: p\nspec: {api_key: '*** ffffffffffff'}", [there], { renewSecrets: true }).steps,
    ).toEqual([]);
    expect(specToSend({ api_key: "*** ffffffffffff", a: [{ k: "*** x" }] }, { api_key: "*** 0123456789ab" })).toEqual({
      api_key: "*** 0123456789ab",
      a: [{ k: "*** x" }],
    });
  });

  test("[d16.4] treats a header of a guard's service as the stored one", () => {
    const service = (authorization: string) => ({
      type: "request",
      url: "http://a.test",
      headers: { authorization },
    });
    const there: ActualState = {
      kind: "policy",
      tenant: "default",
      project: null,
      name: "pol_1",
      id: "pol_1",
      spec: { guard: { action: "mask", service: service("*** 0123456789ab") } },
      etag: null,
      origin: "store",
    };
    const text = `kind: policy\nname: pol_1\nspec: ${JSON.stringify({ guard: { action: "mask", service: service("${KEY}") } })}`;
    expect(plan(text, [there]).steps).toEqual([]);
    expect(told(plan(text, [there], { renewSecrets: true }))).toEqual(["change policy pol_1 (tenant default)"]);
  });

  test("treats the query of an address as the stored one, at the same address only", () => {
    const there: ActualState = {
      kind: "webhook",
      tenant: "default",
      project: null,
      name: "w",
      id: "whk_1",
      spec: { url: "https://a.test/hook?*** 0123456789ab" },
      etag: null,
      origin: "store",
    };
    const at = (url: string): string => `kind: webhook\nname: w\nspec: {url: '${url}'}`;
    expect(plan(at("https://a.test/hook?key=${KEY}"), [there]).steps).toEqual([]);
    expect(plan(at("https://a.test/hook?*** ffffffffffff"), [there]).steps).toEqual([]);
    const changed = ["change webhook w (tenant default)"];
    expect(told(plan(at("https://a.test/hook?key=${KEY}"), [there], { renewSecrets: true }))).toEqual(changed);
    for (const url of ["https://b.test/hook?key=k", "https://a.test/hook?", "https://a.test/hook"])
      expect([url, told(plan(at(url), [there]))]).toEqual([url, changed]);
    const [same, moved] = ["https://a.test/hook?*** ffffffffffff", "https://b.test/hook?*** ffffffffffff"];
    expect([same, moved].map((url) => specToSend({ url }, there.spec))).toEqual([there.spec, { url: moved }]);
    const { desired } = withSecrets(wanted(at(moved)), [there], { get: () => "key=k" });
    expect(desired[0]!.spec).toEqual({ url: "https://b.test/hook?key=k" });
  });

  test("[d9.3] asks for the secret of a new webhook, which the gateway would show only once, and for no other", () => {
    const there: ActualState = {
      kind: "webhook",
      tenant: "default",
      project: null,
      name: "known",
      id: "whk_1",
      spec: { url: "https://a.test/hook", secret: "*** 0123456789ab" },
      etag: null,
      origin: "store",
    };
    const documents = wanted(
      ["known", "new", "own"]
        .map(
          (name) =>
            `kind: webhook\nname: ${name}\nspec: {url: 'https://a.test/hook'${name === "own" ? ", secret: '${KEY}'" : ""}}`,
        )
        .join("\n---\n"),
    );
    expect(withSecrets(documents, [there], VARIABLES).missing).toEqual([
      { of: "webhook new (tenant default): secret", variable: "SECRET_DEFAULT_WEBHOOK_NEW_SECRET", from: "f.yaml:5" },
    ]);
    const { desired, missing } = withSecrets(documents, [there], { get: () => "whsec_given" });
    expect([missing, desired.map(({ spec }) => spec["secret"])]).toEqual([[], [undefined, "whsec_given", "sk-secret"]]);
    expect(told(planOf(desired, [there], { prune: false, renewSecrets: false }))).toEqual([
      "create webhook new (tenant default)",
      "create webhook own (tenant default)",
    ]);
  });

  test("[d14.5] keeps of several secrets those whose masks the document contains, not those at their places", () => {
    const [a, b, other] = ["*** 0123456789ab", "*** 1123456789ab", "*** ffffffffffff"];
    const provider = (spec: ActualState["spec"]): ActualState => ({
      ...route("p", spec, { kind: "provider", id: "prv_1" }),
      tenant: "default",
      project: null,
    });
    const document = (spec: object): string => JSON.stringify({ kind: "provider", name: "p", spec });
    const there = provider({ api_keys: [a, b] });
    const keys = (api_keys: readonly string[]) => {
      const { desired, missing } = withSecrets(wanted(document({ api_keys })), [there], { get: () => undefined });
      if (missing.length > 0) return missing.map(({ of }) => of);
      const { steps } = planOf(desired, [there], { prune: false, renewSecrets: false });
      return steps.map((step) => specToSend(step.desired?.spec, there.spec));
    };
    expect(keys([a, b])).toEqual([]);
    expect(keys([b])).toEqual([{ api_keys: [b] }]);
    expect(keys([b, a])).toEqual([{ api_keys: [b, a] }]);
    expect(keys([a, b, "sk-new"])).toEqual([{ api_keys: [a, b, "sk-new"] }]);
    expect(keys([other, other])).toEqual([]);
    expect(keys([other, other, "sk-new"])).toEqual([{ api_keys: [a, b, "sk-new"] }]);
    expect(keys([other])).toEqual(["provider p (tenant default): api_keys[0]"]);
    expect(keys([b, other])).toEqual(["provider p (tenant default): api_keys[1]"]);
    const weighted = (one: string, two: string) => ({
      api_keys: [
        { key: one, weight: 1 },
        { key: two, weight: 9 },
      ],
    });
    const { steps } = plan(document(weighted(b, a)), [provider(weighted(a, b))]);
    expect(steps.map((step) => specToSend(step.desired?.spec, weighted(a, b)))).toEqual([weighted(b, a)]);
  });

  test("shows no secret of a document, wherever it stands in a value that is new", () => {
    const shown = (kind: ActualState["kind"], before: ActualState["spec"], spec: object) => {
      const there = { ...route("x", before), kind, tenant: "default", project: null };
      const { steps } = plan(JSON.stringify({ kind, name: "x", spec }), [there], { renewSecrets: true });
      return shownDifferences(steps[0]!).map(({ path, to }) => ({ [path]: to }));
    };
    expect(
      shown(
        "provider",
        { api_keys: ["*** 0123456789ab"], token_url: "https://a.test" },
        {
          api_keys: ["sk-1", { key: "sk-2", weight: 1 }],
          aws: { secret_access_key: "sk-3" },
          token_url: "https://b.test",
        },
      ),
    ).toEqual([
      { api_keys: ["***", { key: "***", weight: 1 }] },
      { token_url: "https://b.test" },
      { aws: { secret_access_key: "***" } },
    ]);
    expect(
      shown(
        "tool_server",
        { url: "https://a.test" },
        {
          url: "https://a.test?k=sk-1",
          headers: { "x-own": "sk-2" },
          oauth: { client_id: "me", client_secret: "sk-3" },
        },
      ),
    ).toEqual([
      { url: "https://a.test?***" },
      { headers: { "x-own": "***" } },
      { oauth: { client_id: "me", client_secret: "***" } },
    ]);
  });

  test("changes nothing of the configuration file, and reports where it differs from the desired state", () => {
    const there = [route("fast", { targets: ["a"] }, { origin: "file" })];
    expect(plan("kind: route\nproject: red\nname: fast\nspec: {targets: [a]}", there)).toMatchObject({
      steps: [],
      unchanged: 1,
      readOnly: [],
    });
    expect(plan("kind: route\nproject: red\nname: fast\nspec: {targets: [b]}", there)).toMatchObject({
      steps: [],
      readOnly: [{ name: "fast" }],
    });
  });

  test("removes only on request: of the same kinds and scopes, nothing of the file, no users, and dependent objects first", () => {
    const other = (kind: ActualState["kind"], name: string, more: Partial<ActualState> = {}): ActualState =>
      route(name, {}, { kind, ...more });
    const there = [
      route("old", {}),
      route("elsewhere", {}, { project: "blue" }),
      route("filed", {}, { origin: "file" }),
      other("limit", "l"),
      other("member", "ann"),
      other("price", "p"),
      other("policy", "q"),
    ];
    const text =
      "kind: route\nproject: red\nname: new\n---\nkind: limit\nproject: red\nname: m\n---\nkind: member\nproject: red\nname: bob\n---\nkind: price\nproject: red\nname: p";
    expect(told(plan(text, there)).filter((step) => step.startsWith("remove"))).toEqual([]);
    expect(told(plan(text, there, { prune: true })).filter((step) => step.startsWith("remove"))).toEqual([
      "remove limit l (project red)",
      "remove route old (project red)",
    ]);
  });

  test("removes a route after those that fall back to it", () => {
    const there = [route("a", {}), route("b", { fallbacks: ["route:a"] }), route("c", { fallbacks: [{ route: "b" }] })];
    for (const order of [there, there.toReversed()])
      expect(told(plan("kind: route\nproject: red\nname: new", order, { prune: true })).slice(1)).toEqual([
        "remove route c (project red)",
        "remove route b (project red)",
        "remove route a (project red)",
      ]);
  });
});

describe("secrets of another gateway", () => {
  const text =
    "kind: provider\ntenant: acme\nname: their-own\nspec: {api_key: '*** 0123456789ab', aws: {secret_access_key: '*** 1123456789ab'}, models: [a]}\n---\nkind: provider\ntenant: acme\nname: their_own\nspec: {api_key: '*** 2123456789ab'}";
  test("are asked for by name, each by its own, and stay where the gateway has one", () => {
    const { missing } = withSecrets(wanted(text), [], { get: () => undefined });
    expect(missing.map(({ variable, of }) => [variable, of])).toEqual([
      ["SECRET_ACME_PROVIDER_THEIR_OWN_API_KEY", "provider their-own (tenant acme): api_key"],
      [
        "SECRET_ACME_PROVIDER_THEIR_OWN_AWS_SECRET_ACCESS_KEY",
        "provider their-own (tenant acme): aws.secret_access_key",
      ],
      ["SECRET_ACME_PROVIDER_THEIR_OWN_API_KEY_2", "provider their_own (tenant acme): api_key"],
    ]);
    const filled = withSecrets(wanted(text), [], { get: (name) => name.toLowerCase() });
    expect(filled.missing).toEqual([]);
    expect(filled.desired[0]!.spec).toEqual({
      api_key: "secret_acme_provider_their_own_api_key",
      aws: { secret_access_key: "secret_acme_provider_their_own_aws_secret_access_key" },
      models: ["a"],
    });
    const there: ActualState = {
      kind: "provider",
      tenant: "acme",
      project: null,
      name: "their-own",
      id: "prv_1",
      spec: { api_key: "*** ffffffffffff" },
      etag: null,
      origin: "store",
    };
    const kept = withSecrets(wanted(text), [there], { get: () => undefined });
    expect(kept.missing.map(({ of }) => of)).toEqual([
      "provider their-own (tenant acme): aws.secret_access_key",
      "provider their_own (tenant acme): api_key",
    ]);
    expect(kept.desired[0]!.spec["api_key"]).toBe("*** 0123456789ab");
  });
});

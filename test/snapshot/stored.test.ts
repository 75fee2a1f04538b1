// Stored objects beside the file: joined by the rule, compiled for their tenant or project, and left out with a message
// where they cannot be used.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSecretCipher } from "../../src/config/secret-cipher.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { isEnabled } from "../../src/auth/permitted-models.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { type Snapshot, snapshotSeenBy } from "../../src/core/snapshot.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { findRoute } from "../../src/routing/resolve-route.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";
import { openSnapshotSource, type SnapshotProblem, type SnapshotSource } from "../../src/snapshot/source.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { writes } from "../harness/store-writes.ts";
import { timesAsMuch } from "../harness/time/cpu-time.ts";
import { turnedClock } from "../harness/time/turned-clock.ts";
import { until } from "../harness/time/until.ts";
import { storedSample } from "../harness/sample-tokens.ts";

const KEY = new Uint8Array(32).fill(1);
let folder: string;
let store: Store;
let source: SnapshotSource | null;
let problems: SnapshotProblem[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "dragoman-stored-"));
  ({ store } = await openSqliteDatabase({ file: join(folder, "store.db"), cipher: openSecretCipher([KEY]) }));
  await store.migrate();
  [source, problems] = [null, []];
  for (const id of ["acme", "beta"]) await writes(store).createTenant({ id, name: id });
  for (const id of ["site", "app"]) await writes(store).createProject({ id, tenantId: "acme", name: id });
});
afterEach(async () => {
  source?.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

async function follow(file = "", from: Store = store): Promise<SnapshotSource> {
  writeFileSync(join(folder, "dragoman.yaml"), file);
  const environment = readEnvironment({ OPENAI_API_KEY: "of-the-operator" });
  source = await openSnapshotSource({
    loaded: loadConfiguration({ file: join(folder, "dragoman.yaml"), families: PROVIDER_FAMILIES, environment }),
    store: from,
    families: PROVIDER_FAMILIES,
    environment,
    onProblem: (problem) => void problems.push(problem),
    pollMs: 20,
    // on a busy machine an answer of the store may take so long that it is reported
    clock: turnedClock(Date.now()),
  });
  return source;
}

const put = (
  kind: "provider" | "route" | "policy" | "limit" | "price" | "setting",
  name: string,
  document: JsonObject,
  projectId: string | null = null,
  tenantId = "acme",
) => writes(store).createResource({ kind, tenantId, projectId, name, document, byOperator: false });

const told = (): string =>
  problems
    .filter(({ source: of }) => of === "store")
    .map(({ message }) => message)
    .join("\n");

test("a tool server whose secret cannot be decrypted, or is invalid, is named", async () => {
  await writes(store).createResource({
    kind: "tool_server",
    tenantId: "acme",
    projectId: null,
    name: "search",
    document: { url: "https://tools.test/mcp?key=very-secret" },
  });
  await writes(store).createResource({
    kind: "tool_server",
    tenantId: "acme",
    projectId: null,
    name: "broken",
    document: { url: 7 },
  });
  const { store: other } = await openSqliteDatabase({
    file: join(folder, "store.db"),
    cipher: openSecretCipher([new Uint8Array(32).fill(2)]),
  });
  await follow("", other);
  expect(told()).toMatch(
    /stored tool server search of the tenant acme is disabled: url\? cannot be decrypted: it was encrypted with the master key [0-9a-f]{8}/,
  );
  expect(told()).toContain("stored tool server broken of the tenant acme is disabled: url");
  await other.close();
});

describe("a stored provider", () => {
  test("that answers in the process needs no address check: it calls no address", async () => {
    await put("provider", "mine", { type: "sandbox" });
    expect(
      snapshotSeenBy((await follow()).current(), { tenantId: "acme", projectId: null }).providers.get("mine"),
    ).toMatchObject({ enabled: true, guarded: false });
  });

  test("belongs to its tenant, and its key to no other", async () => {
    await put("provider", "openai", { api_key: "of-acme" });
    const snapshot = (await follow()).current();
    const keyOf = (tenantId: string, projectId: string | null) =>
      snapshotSeenBy(snapshot, { tenantId, projectId })
        .providers.get("openai")
        ?.credentials.map((one) => ("secret" in one ? one.secret : null));
    expect(keyOf("acme", "site")).toEqual(["of-acme"]);
    expect(keyOf("beta", null)).toEqual(["of-the-operator"]);
    expect(told()).toBe("");
  });

  test("without a key never takes the operator's, and one whose key cannot be decrypted is off and named", async () => {
    await put("provider", "openai", {});
    await put("provider", "mistral", { api_key: "secret-of-acme" });
    const { store: other } = await openSqliteDatabase({
      file: join(folder, "store.db"),
      cipher: openSecretCipher([new Uint8Array(32).fill(2)]),
    });
    const seen = snapshotSeenBy((await follow("", other)).current(), { tenantId: "acme", projectId: null }).providers;
    expect(seen.get("openai")?.credentials).toEqual([]);
    expect(seen.get("mistral")).toMatchObject({ enabled: false, credentials: [] });
    expect(told()).toMatch(
      /stored provider mistral of the tenant acme is disabled: api_key cannot be decrypted: it was encrypted with the master key [0-9a-f]{8}/,
    );
    expect(told()).not.toContain("secret-of-acme");
    await other.close();
  });

  test("of a tenant uses neither files nor identities of the machine, and its own address is checked", async () => {
    await put("provider", "bedrock", { aws: "default", region: "eu-west-1" });
    await put("provider", "mine", { type: "custom", base_url: "http://10.0.0.7:8000/v1" });
    const seen = snapshotSeenBy((await follow()).current(), { tenantId: "acme", projectId: null }).providers;
    expect(seen.get("bedrock")?.enabled).toBe(false);
    expect(seen.get("mine")).toMatchObject({ enabled: true, guarded: true, owner: "acme" });
    expect(told()).toContain("identity or a file of the gateway's machine");
  });
});

describe("file and store", () => {
  test("the file takes precedence for the same kind, scope and name; objects of other scopes stand beside it", async () => {
    await put("route", "fast", { targets: ["sandbox:from-store"] }, "site");
    await put("route", "own", { targets: ["sandbox:own"] }, "site");
    await put("route", "fast", { targets: ["sandbox:of-tenant"] });
    const { projectRoutes, tenantRoutes } = (
      await follow('projects: {site: {routes: {fast: {targets: ["sandbox:from-file"]}}}}\n')
    ).current();
    expect(projectRoutes.get("site")?.get("fast")?.targets[0]?.name).toBe("sandbox:from-file");
    expect(projectRoutes.get("site")?.get("own")?.targets[0]?.name).toBe("sandbox:own");
    expect(tenantRoutes.get("acme")?.get("fast")?.targets[0]?.name).toBe("sandbox:of-tenant");
  });

  test("settings join one by one", async () => {
    await put("setting", "settings", { drop_params: true, disable_stop_sequence_limit: true });
    const { tenantSettings } = (await follow("tenants: {acme: {settings: {drop_params: false}}}\n")).current();
    expect(tenantSettings.get("acme")).toEqual({ dropParams: false, disableStopSequenceLimit: true });
  });

  test("[d16.2] prompt caching of a project joins as every other setting", async () => {
    await put("setting", "settings", { prompt_cache: "auto" }, "site");
    await put("setting", "settings", { drop_params: true }, "app");
    const file = "projects: {app: {settings: {prompt_cache: auto}}, site: {settings: {drop_params: false}}}\n";
    const { projectSettings } = (await follow(file)).current();
    expect(projectSettings.get("site")).toMatchObject({ dropParams: false, promptCaching: "auto" });
    expect(projectSettings.get("app")).toMatchObject({ dropParams: true, promptCaching: "auto" });
  });

  test("[d1.4] a model that the tenant or the project has not enabled is unknown there", async () => {
    await put("setting", "settings", { models: ["sandbox:*", "openai:gpt-*"] });
    await put("setting", "settings", { models: ["openai:*"] }, "site");
    const snapshot = (await follow()).current();
    const enabled = (tenantId: string, projectId: string, name: string) =>
      isEnabled(snapshot, { tenantId, projectId }, name);
    expect([
      enabled("acme", "site", "openai:gpt-5"),
      enabled("acme", "site", "sandbox:echo"),
      enabled("acme", "site", "openai:o9"),
      enabled("acme", "app", "sandbox:echo"),
      enabled("beta", "lab", "openai:o9"),
    ]).toEqual([true, false, false, true, true]);
  });
});

describe("a stored document that cannot be used", () => {
  test("[d11.3] settings that cannot be read turn content logging off: they may have said so", async () => {
    await put("setting", "settings", { content_log: { enabled: true } });
    expect((await follow()).current().contentLogs.has("site")).toBe(true);
    await put("setting", "settings", { content_log: { enabled: false }, of_a_newer_version: 1 }, "site");
    const { contentLogs } = (await follow()).current();
    expect([contentLogs.has("site"), contentLogs.has("app")]).toEqual([false, true]);
  });

  test("[d1.4] settings that cannot be read enable no more models than they name", async () => {
    await put("setting", "settings", { models: ["sandbox:*"], of_a_newer_version: 1 });
    await put("setting", "settings", { models: { only: "sandbox:*" } }, "site");
    await put("setting", "settings", { of_a_newer_version: 1 }, null, "beta");
    const snapshot = (await follow()).current();
    const enabled = (tenantId: string, projectId: string, name: string) =>
      isEnabled(snapshot, { tenantId, projectId }, name);
    expect([
      enabled("acme", "app", "sandbox:echo"),
      enabled("acme", "app", "openai:o9"),
      enabled("acme", "site", "sandbox:echo"),
      enabled("beta", "lab", "openai:o9"),
    ]).toEqual([true, false, false, true]);
  });

  test("is reported once and left out, and everything else goes on", async () => {
    await put("policy", "newer", { rule: "true", effect: "deny", of_a_newer_version: 1 });
    await put("policy", "bad", { guard: { patterns: ["("] } });
    await put("policy", "good", { rule: "request.model == 'x'" });
    await put("limit", "negative", { metric: "requests", window: "minute", limit: -1 });
    await put("limit", "fine", { metric: "requests", window: "minute", limit: 5 });
    await put("route", "dead", { targets: ["nobody:model"] });
    await put("route", "to-dead", { targets: ["sandbox:echo"], fallbacks: ["route:dead"] });
    await put("price", "odd", { models: 5 });
    const following = await follow();
    const { policies, limitRules, tenantRoutes } = following.current();
    expect(policies.of("acme", "site")?.all.map(({ name }) => name)).toEqual(["bad", "good", "newer"]);
    expect(limitRules.forCaller("acme", "site", "t")).not.toBeNull();
    expect([...(tenantRoutes.get("acme")?.keys() ?? [])]).not.toContain("dead");
    // what a policy was to deny is not known: it denies
    for (const name of ["newer", "bad"]) {
      expect(told()).toContain(` ${name} of the tenant acme denies all calls to which it may apply: `);
      const { rule } = policies.of("acme", "site")!.rules.find((policy) => policy.name === name)!;
      expect(() => rule.denies({} as never)).toThrow();
    }
    for (const name of ["negative", "dead", "to-dead", "odd"])
      expect(told()).toContain(` ${name} of the tenant acme is ignored: `);
    expect(told().split("\n")).toHaveLength(6);
    await following.reload();
    expect(told().split("\n")).toHaveLength(6);
  });

  test("is used soon after it is repaired", async () => {
    const { id } = await put("limit", "mine", { metric: "requests", window: "minute", limit: -1 });
    const following = await follow();
    expect(following.current().limitRules.forCaller("acme", "site", "t")).toBeNull();
    await writes(store).changeResource("limit", id, (one) => ({ ...one, document: { ...one.document, limit: 1 } }));
    await until(() => following.current().limitRules.forCaller("acme", "site", "t") !== null);
  });
});

test("[d7.9] a route knows whether its time limits and its breaker are those of an operator", async () => {
  const document = { targets: ["sandbox:echo"], timeouts: { total_ms: 1 }, breaker: { failures: 1 } };
  await put("route", "hurried", document);
  await put("route", "plain", { targets: ["sandbox:echo"] }, "site");
  const operators = { kind: "route", tenantId: "acme", projectId: null, name: "operators", document } as const;
  await writes(store).createResource({ ...operators, byOperator: true });
  const ofFile = `{targets: ["sandbox:echo"], timeouts: {total_ms: 1}, breaker: {failures: 1}}`;
  const routes = (await follow(`tenants: {acme: {routes: {of-file: ${ofFile}}}}\n`))
    .current()
    .projectRoutes.get("site")!;
  const written = (name: string) => {
    const { hasTimeoutsOfTenant, breaker } = routes.get(name)!;
    return [hasTimeoutsOfTenant === true, breaker.ofTenant];
  };
  expect(written("hurried")).toEqual([true, "acme"]);
  for (const name of ["plain", "operators", "of-file"])
    expect([name, ...written(name)]).toEqual([name, false, undefined]);
});

test("[d1.4] a route whose provider is gone leaves its name to no wider route", async () => {
  const routes = `routes:\n  chat: {targets: ["openai:gpt-5"]}\n`;
  const providers = `providers:\n  mine: {type: custom, base_url: "http://127.0.0.1:1", api_key: key}\n`;
  await put("route", "chat", { targets: ["mine:m"] }, "site");
  await put("route", "leads", { targets: ["sandbox:echo"], fallbacks: ["route:chat"] }, "site");
  await put("route", "chat", { targets: ["mine:m"] }, null, "beta");
  const following = await follow(routes + providers);
  const targets = ({ routes: ofAll, tenantRoutes, projectRoutes }: Snapshot) =>
    [projectRoutes.get("site"), tenantRoutes.get("beta"), ofAll].map((seen) => seen!.get("chat")?.targets[0]?.name);
  expect(targets(following.current())).toEqual(["mine:m", "mine:m", "openai:gpt-5"]);
  writeFileSync(join(folder, "dragoman.yaml"), routes);
  await following.reload();
  expect(targets(following.current())).toEqual([undefined, undefined, "openai:gpt-5"]);
  expect([...following.current().projectRoutes.get("site")!.keys()]).toEqual(["direct"]);
  expect(told()).toContain("the stored route leads of the project site is ignored: ");
  writeFileSync(join(folder, "dragoman.yaml"), routes + providers);
  await following.reload();
  expect(targets(following.current())).toEqual(["mine:m", "mine:m", "openai:gpt-5"]);
});

test("[d1.4] a route whose provider is gone leaves its name to no alias of another route", async () => {
  const routes = `routes:\n  spare: {targets: ["openai:gpt-5"], aliases: [chat, other]}\n`;
  const providers = `providers:\n  mine: {type: custom, base_url: "http://127.0.0.1:1", api_key: key}\n`;
  await put("route", "chat", { targets: ["mine:m"] }, "site");
  const following = await follow(routes + providers);
  const served = (name: string) => {
    const { routes: ofAll, projectRoutes } = following.current();
    return [projectRoutes.get("site")!, ofAll].map((seen) => findRoute(name, seen, null)?.name);
  };
  expect(served("chat")).toEqual(["chat", "spare"]);
  writeFileSync(join(folder, "dragoman.yaml"), routes);
  await following.reload();
  expect(served("chat")).toEqual([undefined, "spare"]);
  expect(served("other")).toEqual(["spare", "spare"]);
});

test("a change of a token leaves everything else of the snapshot as the very same objects", async () => {
  await put("policy", "good", { rule: "request.model == 'x'" });
  await put("provider", "openai", { api_key: "of-acme" });
  const following = await follow();
  const before = following.current();
  await writes(store).createToken(
    storedSample({
      id: "AAAAAAAAAAAA",
      name: "t",
      secrets: [],
      createdAtMs: 1,
      expiresAtMs: 2,
      lifetimeMs: 1,
    }),
  );
  await until(() => following.current() !== before);
  const after = following.current();
  expect(after.tokens.has("AAAAAAAAAAAA")).toBe(true);
  for (const part of [
    "projects",
    "memberships",
    "providers",
    "tenantProviders",
    "tenantRoutes",
    "projectRoutes",
    "prices",
    "limitRules",
    "policies",
    "tenantSettings",
  ] as const)
    expect(after[part]).toBe(before[part] as never);
});

test("10,000 tokens and 1,000 policies of other projects are read and compiled, and one change of them in much less time", async () => {
  await store.change(LOCAL_ACTOR, async (writer) => {
    const common = {
      kind: "project",
      tenantId: "acme",
      projectId: "site",
      userId: null,
      role: "developer",
      permissions: [],
      models: ["openai:*"],
      routes: [],
      tools: [],
      ipRanges: [],
      createdAtMs: 1,
      lifetimeMs: 1,
      expiresAtMs: 2,
      revokedAtMs: null,
    } as const;
    for (let index = 0; index < 10_000; index++)
      await writer.createToken({
        ...common,
        id: `T${String(index).padStart(11, "0")}`,
        name: `t${index}`,
        secrets: [{ sha256: new Uint8Array(32).fill(index % 256), retiresAtMs: null }],
      });
    for (let index = 0; index < 1_000; index++)
      await writer.createResource({
        kind: "policy",
        tenantId: "acme",
        projectId: "app",
        name: `p${index}`,
        document: { rule: `request.model.startsWith("m${index}") && token.role != "owner"` },
      });
  });
  const following = await follow();
  expect(following.current().tokens.size).toBe(10_000);
  expect(following.current().policies.of("acme", "app")?.all).toHaveLength(1_000);
  const known = await store.readContents();
  await writes(store).changeToken("T00000000007", (token) => ({ ...token, revokedAtMs: 9 }));
  const { tokens } = (await store.readContents(known)).identities;
  expect(tokens.find(({ id }) => id === "T00000000007")?.revokedAtMs).toBe(9);
  const readChange = () => store.readContents(known);
  const readAll = () => store.readContents();
  expect(await timesAsMuch(readChange, readAll, 0.5)).toBeLessThan(0.5);
});

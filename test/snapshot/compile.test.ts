// File, store and environment compiled: which providers are enabled, where each key is sent, what is reported to the operator.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import type { AccessToken } from "../../src/core/identity.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import { compileSnapshot, configurationNotices } from "../../src/snapshot/compile.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import type { Identities } from "../../src/store/records.ts";
import { FAMILIES } from "../config/families.ts";
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";
import { sampleToken } from "../harness/sample-tokens.ts";

const token: AccessToken = sampleToken({
  id: "t1",
  name: "first",
  tenantId: "default",
  projectId: "default",
  secrets: [{ sha256: new Uint8Array(32), retiresAtMs: null }],
  createdAtMs: 1,
  expiresAtMs: 2,
});
const identities: Identities = {
  tenants: [{ id: "default", name: "Default" }],
  projects: [
    { id: "default", tenantId: "default", name: "Default" },
    { id: "other", tenantId: "default", name: "Other" },
  ],
  users: [
    { id: "u1", tenantId: "default", name: "Owner" },
    { id: "u2", tenantId: "default", name: "Second" },
  ],
  memberships: [
    { userId: "u1", tenantId: "default", projectId: null, role: "owner" },
    { userId: "u2", tenantId: "default", projectId: "default", role: "viewer" },
    { userId: "u2", tenantId: "default", projectId: "other", role: "developer" },
  ],
  tokens: [token],
};

interface Sources {
  readonly text?: string;
  readonly workers?: number;
  readonly environment?: Readonly<Record<string, string>>;
}
function inputOf({ text = "", environment = {}, workers = 1 }: Sources) {
  const read = readEnvironment(environment);
  return {
    configuration: parseConfiguration({ file: "f", text, families: FAMILIES, environment: read }),
    identities,
    families: FAMILIES,
    environment: read,
    workers,
  };
}
const compile = (sources: Sources): Snapshot => compileSnapshot({ ...inputOf(sources), version: 7 });
const noticesOf = (sources: Sources): readonly string[] => configurationNotices(inputOf(sources));
const enabledIn = ({ providers }: Snapshot): readonly string[] =>
  [...providers.values()].filter(({ enabled }) => enabled).map(({ id }) => id);

describe("a snapshot", () => {
  test("holds what the store contains, by id", () => {
    const snapshot = compile({});
    expect(snapshot.version).toBe(7);
    expect(snapshot.tokens.get("t1")).toBe(token);
    expect([...snapshot.projects.keys()]).toEqual(["default", "other"]);
    expect(snapshot.memberships.get("u2")!.map(({ role }) => role)).toEqual(["viewer", "developer"]);
    expect(snapshot.memberships.get("u3")).toBeUndefined();
  });

  test("holds what the file contains", () => {
    const snapshot = compile({
      text: "server: {max_body_bytes: 2048}\ncors: {origins: ['*']}\nops: {open: true}\nsettings: {drop_params: true}\ntenants: {default: {settings: {drop_params: false}}}\nprojects: {other: {settings: {drop_params: true}}}\n",
    });
    expect(snapshot.limits.maxBodyBytes).toBe(2048);
    expect(snapshot.corsOrigins).toEqual(["*"]);
    expect(snapshot.opsOpen).toBe(true);
    expect([
      snapshot.settings.dropParams,
      snapshot.tenantSettings.get("default")!.dropParams,
      snapshot.projectSettings.get("other")!.dropParams,
    ]).toEqual([true, false, true]);
  });

  test("allows private addresses when file or environment say so, and the environment takes precedence", () => {
    const yes = "providers: {allow_private_addresses: true}";
    expect(compile({}).allowPrivateAddresses).toBe(false);
    expect(compile({ text: yes }).allowPrivateAddresses).toBe(true);
    expect(compile({ environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "1" } }).allowPrivateAddresses).toBe(true);
    expect(compile({ text: yes, environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "0" } }).allowPrivateAddresses).toBe(
      false,
    );
  });
});

test("[d5.8, d13.1] the processes that serve share a quarter of the memory for bodies that arrive, whatever set their number", () => {
  const heldBytes = (sources: Sources): number => compile(sources).limits.maxHeldBytes;
  const one = heldBytes({});
  for (const [workers, text] of [
    [2, ""],
    [8, ""],
    [8, "server: {workers: 2}"],
    [1, "server: {workers: 8}"],
  ] as const)
    expect([workers, text, heldBytes({ text, workers })]).toEqual([workers, text, Math.floor(one / workers)]);
  expect(heldBytes({ text: "server: {max_held_bytes: 1048576}", workers: 8 })).toBe(1_048_576);
});

describe("which providers are enabled", () => {
  test("without any setting only the one that runs in the process; all others are known", () => {
    const snapshot = compile({});
    expect(enabledIn(snapshot)).toEqual(["sandbox"]);
    expect([...snapshot.providers.keys()]).toEqual(FAMILIES.map(({ id }) => id));
    expect(snapshot.providers.get("openai")).toEqual({
      ...providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", enabled: false }),
      guarded: true,
    });
  });

  test("by a key in the environment, the first of several", () => {
    const snapshot = compile({ environment: { GOOGLE_API_KEY: " g \n", ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "" } });
    expect(enabledIn(snapshot)).toEqual(["gemini", "anthropic", "sandbox"]);
    expect(snapshot.providers.get("gemini")!.credentials).toEqual([storedKey("g")]);
    expect(
      compile({ environment: { GOOGLE_API_KEY: "2", GEMINI_API_KEY: "1" } }).providers.get("gemini")!.credentials,
    ).toEqual([storedKey("1")]);
  });

  test("not by a key alone where there is no address", () => {
    const azure = compile({ environment: { AZURE_OPENAI_API_KEY: "k" } }).providers.get("azure")!;
    expect(azure).toMatchObject({ enabled: false, credentials: [], baseUrl: null });
  });

  test("by the file, which wins over the environment and may switch one off", () => {
    const text =
      "providers:\n  vllm:\n  openai: {api_key: file, models: [m]}\n  anthropic: {enabled: false}\n  sandbox: {enabled: false}\n";
    const snapshot = compile({ text, environment: { OPENAI_API_KEY: "environment", ANTHROPIC_API_KEY: "a" } });
    expect(enabledIn(snapshot)).toEqual(["vllm", "openai"]);
    expect(snapshot.providers.get("openai")).toMatchObject({
      credentials: [storedKey("file")],
      baseUrl: "https://api.openai.com/v1",
      models: [{ id: "m" }],
    });
    expect(snapshot.providers.get("vllm")).toMatchObject({ credentials: [], baseUrl: "http://localhost:8000/v1" });
    expect(snapshot.providers.get("anthropic")).toMatchObject({ credentials: [], enabled: false });
  });

  test("a configured id stands beside the provider of which it is a copy", () => {
    const snapshot = compile({ text: "providers: {mine: {type: custom, base_url: 'http://127.0.0.1:8000/v1/'}}" });
    expect(snapshot.providers.get("mine")).toEqual(
      providerSettings({ id: "mine", family: "custom", baseUrl: "http://127.0.0.1:8000/v1" }),
    );
    expect(snapshot.providers.get("custom")!.enabled).toBe(false);
  });
});

const secretOf = ([stored]: readonly StoredCredential[]): string | null =>
  stored?.kind === "key" ? stored.secret : null;

describe("the destination of keys", () => {
  const keyOf = (entry: string, environment: Readonly<Record<string, string>>, id: string): string | null =>
    secretOf(compile({ text: `providers: {${entry}}`, environment }).providers.get(id)!.credentials);
  const OPENAI = { OPENAI_API_KEY: "secret" };

  test("a key of the environment goes to the provider's own address only", () => {
    expect(keyOf("openai: {}", OPENAI, "openai")).toBe("secret");
    expect(keyOf("openai: {base_url: 'https://api.openai.com/v2'}", OPENAI, "openai")).toBe("secret");
    expect(keyOf("openai: {base_url: 'https://api.openai.com.example.org/v1'}", OPENAI, "openai")).toBeNull();
    expect(keyOf("openai: {base_url: 'http://api.openai.com/v1'}", OPENAI, "openai")).toBeNull();
    expect(keyOf("mine: {type: openai, base_url: 'http://127.0.0.1:1/v1'}", OPENAI, "mine")).toBeNull();
    expect(keyOf("mine: {type: openai}", OPENAI, "mine")).toBeNull();
  });

  test("and to the operator's where the provider has none", () => {
    expect(keyOf("azure: {base_url: 'https://x.example/openai/v1'}", { AZURE_OPENAI_API_KEY: "a" }, "azure")).toBe("a");
    expect(keyOf("localai: {base_url: 'http://gpu:8080/v1'}", { LOCALAI_API_KEY: "l" }, "localai")).toBe("l");
  });

  test("a key of the file goes to the address beside it", () => {
    expect(keyOf("openai: {base_url: 'http://127.0.0.1:1/v1', api_key: '${OPENAI_API_KEY}'}", OPENAI, "openai")).toBe(
      "secret",
    );
  });
});

describe("notices", () => {
  test("are absent where there is nothing to report", () => {
    expect(noticesOf({})).toEqual([]);
    expect(
      noticesOf({
        text: "providers: {openai: {}, vllm: {}, mine: {type: custom, base_url: 'http://a/v1'}}\ntenants: {default: {}}\nprojects: {other: {}}",
        environment: { OPENAI_API_KEY: "secret" },
      }),
    ).toEqual([]);
  });

  test("report settings of a project or tenant that does not exist", () => {
    expect(noticesOf({ text: "tenants: {defualt: {}}\nprojects: {p: {}}" })).toEqual([
      "tenants.defualt has settings in the file, but the database has no such tenant",
      "projects.p has settings in the file, but the database has no such project",
    ]);
  });

  test("say nothing of tenants and projects before the first start has made its own", () => {
    const input = inputOf({ text: "tenants: {default: {}}\nprojects: {default: {}}" });
    expect(
      configurationNotices({ ...input, identities: { ...identities, tenants: [], projects: [], tokens: [] } }),
    ).toEqual([]);
  });

  test("report missing and unused keys, without showing them", () => {
    const told = (text: string, environment: Readonly<Record<string, string>>): string =>
      noticesOf({ text: `providers: {${text}}`, environment }).join();
    expect(told("openai: {models: [m]}", {})).toBe(
      "providers.openai has no key: set OPENAI_API_KEY, or api_key in the file",
    );
    expect(told("mine: {type: openai}", { OPENAI_API_KEY: "secret" })).toContain("providers.mine has no api_key");
    expect(told("openai: {base_url: 'http://a/v1'}", { OPENAI_API_KEY: "secret" })).toContain(
      'set api_key: "${OPENAI_API_KEY}"',
    );
    expect(told("", { OPENAI_API_KEY: "two words" })).toBe(
      "the environment variable OPENAI_API_KEY is ignored: it contains characters that are not allowed in keys",
    );
    expect(told("openai: {enabled: false}", {})).toBe("");
    for (const text of ["", "mine: {type: openai}", "openai: {base_url: 'http://a/v1'}"])
      expect(told(text, { OPENAI_API_KEY: "secret" }) + told(text, { OPENAI_API_KEY: "secret words" })).not.toContain(
        "secret",
      );
  });
});

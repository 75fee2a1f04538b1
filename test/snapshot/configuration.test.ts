// The sections of the configuration file: defaults, bounds, and the messages for values out of bounds.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import { loadConfiguration, parseConfiguration, type Configuration } from "../../src/snapshot/configuration.ts";
import { FAMILIES } from "../config/families.ts";
import { storedKey } from "../harness/targets.ts";

function parse(text: string, environment: Readonly<Record<string, string>> = {}): Configuration {
  return parseConfiguration({ file: "f", text, families: FAMILIES, environment: readEnvironment(environment) });
}
function problemsOf(text: string): readonly string[] {
  try {
    parse(text);
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message.split("\n");
  }
  return [];
}

const NO_ROUTES = {
  routes: {},
  defaults: {},
  prices: {},
  limits: {},
  budgets: {},
  policies: {},
  webhooks: {},
  toolServers: {},
};

describe("without a file", () => {
  const { configuration } = loadConfiguration({ file: null, families: FAMILIES, environment: readEnvironment({}) });

  test("[s:limits.default-request-timeout] a call has 600 seconds unless configured otherwise", () => {
    expect(configuration.server.limits.defaultTimeoutMs).toBe(600_000);
    expect(parse("server: {default_timeout_s: 1.5}").server.limits.defaultTimeoutMs).toBe(1500);
  });

  test("everything has a default", () => {
    expect(configuration).toEqual({
      server: {
        host: "127.0.0.1",
        port: 4100,
        workers: 1,
        data: "data",
        databaseUrl: null,
        upstreamProxy: null,
        staleSnapshot: "serve",
        proxyTrust: null,
        conditionHeaders: [],
        limits: {
          maxBodyBytes: 33_554_432,
          body: {
            maxValues: 250_000,
            maxLevels: 64,
            maxMessages: 10_000,
            maxTools: 2048,
            maxItems: 10_000,
            maxNameCharacters: 256,
            maxNumberDigits: 64,
          },
          bodyTimeoutMs: 60_000,
          maxConcurrentCalls: 10_000,
          maxConcurrentCallsPerTenant: null,
          maxLiveTokens: 1000,
          maxHeldBytes: null,
          maxAnswerBytes: 67_108_864,
          maxEventBytes: 16_777_216,
          defaultTimeoutMs: 600_000,
          connectTimeoutMs: 10_000,
          firstByteTimeoutMs: 600_000,
          betweenBytesTimeoutMs: 300_000,
          headHoldMs: 10_000,
          drainMs: 30_000,
          keepAliveMs: 15_000,
        },
      },
      log: { level: "info" },
      cors: { origins: [] },
      ops: { open: false },
      oidc: [],
      ledger: { sync: "background", onFull: "refuse", folder: null },
      calls: { keepDays: 90, keepDetailsDays: 30 },
      audit: { keepDays: null, keepRefusedDays: 400, signingKey: null },
      console: {
        enabled: null,
        url: null,
        insecureHttp: false,
        projectTokens: false,
        sessionIdleMs: 43_200_000,
        sessionMaxMs: 604_800_000,
      },
      integrations: [],
      limit_store: { driver: null, url: null, clusterNodes: null },
      cache: { store: "memory", maxBytes: 67_108_864, maxAnswerBytes: 4_194_304, url: null, clusterNodes: null },
      providers: { allowPrivateAddresses: false, entries: new Map() },
      content_log: { allowed: true },
      settings: { dropParams: false, disableStopSequenceLimit: false },
      prices: {},
      limits: {},
      budgets: {},
      policies: {},
      webhooks: {},
      tool_servers: {},
      routes: {},
      route_defaults: {},
      tenants: new Map(),
      projects: new Map(),
    });
  });

  test("a named file has to exist", () => {
    expect(() =>
      loadConfiguration({ file: "/nowhere/dragoman.yaml", families: FAMILIES, environment: readEnvironment({}) }),
    ).toThrow("/nowhere/dragoman.yaml: there is no such file");
  });
});

describe("sections", () => {
  test("settings of tenants and projects contain only their own members", () => {
    const { settings, tenants, projects } = parse(
      "settings: {drop_params: true}\ntenants:\n  a: {settings: {drop_params: false}}\n  b:\nprojects: {p: {settings: {disable_stop_sequence_limit: true}}}\n",
    );
    expect(settings).toEqual({ dropParams: true, disableStopSequenceLimit: false });
    expect(tenants).toEqual(
      new Map([
        ["a", { ...NO_ROUTES, settings: { dropParams: false, disableStopSequenceLimit: null } }],
        ["b", { ...NO_ROUTES, settings: { dropParams: null, disableStopSequenceLimit: null } }],
      ]),
    );
    expect(projects).toEqual(
      new Map([["p", { ...NO_ROUTES, settings: { dropParams: null, disableStopSequenceLimit: true } }]]),
    );
  });

  test.each([
    ["server: {host: 'http://x'}", "f:1:10 server.host: expected a host name or an address, without scheme and port"],
    [
      "projects: {p: {settings: {content_log: {enabled: true, projects: [p]}}}}",
      "f:1:56 projects.p.settings.content_log.projects: only the settings of a tenant can list the projects whose content is kept",
    ],
    ["server: {max_body_bytes: 1.5}", "f:1:10 server.max_body_bytes: expected a whole number, got a fraction"],
    ["server: {head_hold_s: 11}", "f:1:10 server.head_hold_s: expected at most 10"],
    ["server: {keep_alive_s: .inf}", "f:1:10 server.keep_alive_s: expected number, got a number that is not finite"],
    ["server: {max_concurrent_calls: 0}", "f:1:10 server.max_concurrent_calls: expected at least 1"],
    ["server: {data: ''}", "f:1:10 server.data: expected a non-empty text"],
    ["log: {level: warning}", "f:1:7 log.level: expected one of trace, debug, info, warn, error, fatal, silent"],
    [
      "cors: {origins: ['https://a.example/']}",
      'f:1:18 cors.origins[0]: expected an origin such as "https://chat.example.com", in lower case and without a path, or "*"',
    ],
    ["ops: {open: 1}", "f:1:7 ops.open: expected true or false, got number"],
    [
      "projects: {'a project': {}}",
      "f:1:12 projects.a...: expected an id of 1 to 64 letters, digits, dashes, dots and underscores",
    ],
    ["provider: {}", 'f:1:1 provider: unknown key "provider"; did you mean "providers"?'],
  ])("%s", (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});

describe("providers", () => {
  const entryOf = (text: string, id: string) => parse(`providers:\n  ${id}: ${text}\n`).providers.entries.get(id)!;

  test("a known one needs nothing but its name", () => {
    expect(entryOf("", "vllm")).toEqual({
      family: "vllm",
      enabled: true,
      baseUrl: null,
      credentials: [],
      tokenUrl: null,
      settings: {},
      models: [],
      sharesConnections: false,
      native: null,
      hostedTools: null,
      vendorStore: false,
    });
  });

  test("a custom id stands for a known one", () => {
    expect(entryOf("{type: custom, base_url: 'HTTP://Example.com:80/v1//', api_key: k}", "mine-2_x")).toEqual({
      family: "custom",
      enabled: true,
      baseUrl: "http://example.com/v1",
      credentials: [storedKey("k")],
      tokenUrl: null,
      settings: {},
      models: [],
      sharesConnections: false,
      native: null,
      hostedTools: null,
      vendorStore: false,
    });
  });

  test("an empty key counts as none, so that `${NAME:-}` may be written", () => {
    expect(entryOf('{api_key: "${NONE:-}"}', "openai").credentials).toEqual([]);
  });

  test("models are names or mappings", () => {
    const text =
      "{models: [a:1/b, {id: c}, {id: d, name: D, context_length: 10, max_completion_tokens: 5, pricing: {prompt: '0.00000025', completion: '1'}}]}";
    expect(entryOf(text, "openai").models).toEqual([
      { id: "a:1/b", name: null, contextLength: null, maxCompletionTokens: null, pricing: null },
      { id: "c", name: null, contextLength: null, maxCompletionTokens: null, pricing: null },
      {
        id: "d",
        name: "D",
        contextLength: 10,
        maxCompletionTokens: 5,
        pricing: { prompt: "0.00000025", completion: "1" },
      },
    ]);
  });

  test.each([
    ["opnai", "{}", 'f:2:3 providers.opnai: unknown provider id; did you mean "openai"? your own ids need `type`'],
    ["mine", "{}", "f:2:3 providers.mine: unknown provider id; your own ids need `type`"],
    ["mine", "{type: opena}", 'f:2:10 providers.mine.type: unknown provider; did you mean "openai"?'],
    ["mine", "{type: mine}", "f:2:10 providers.mine.type: unknown provider"],
    [
      "openai",
      "{type: custom}",
      'f:2:12 providers.openai.type: "openai" is the id of a known provider; leave `type` out, or use another id',
    ],
    [
      "Mine",
      "{type: openai}",
      "f:2:3 providers.Mine: expected an id of 1 to 64 lower-case letters, digits, dashes and underscores",
    ],
    [
      "-x",
      "{type: openai}",
      "f:2:3 providers.-x: expected an id of 1 to 64 lower-case letters, digits, dashes and underscores",
    ],
    ["custom", "{}", "f:2:3 providers.custom.base_url: is missing: Custom has no default address"],
    [
      "sandbox",
      "{base_url: 'http://a'}",
      "f:2:13 providers.sandbox.base_url: Sandbox runs inside the gateway and has no address",
    ],
    [
      "allow_private_adresses",
      "true",
      'f:2:3 providers.allow_private_adresses: expected a mapping, got boolean; did you mean "allow_private_addresses"?',
    ],
    ["openai", "{apikey: x}", 'f:2:12 providers.openai.apikey: unknown key "apikey"; did you mean "api_key"?'],
    [
      "openai",
      '{api_key: "a b"}',
      "f:2:12 providers.openai.api_key: expected printable characters without spaces and line breaks",
    ],
    [
      "openai",
      '{api_key: "a\\r\\nx: y"}',
      "f:2:12 providers.openai.api_key: expected printable characters without spaces and line breaks",
    ],
    ["openai", "{models: [a, b, {id: a}]}", "f:2:27 providers.openai.models[2]: duplicate model"],
    [
      "openai",
      "{models: ['a/../b']}",
      "f:2:21 providers.openai.models[0]: expected a model's name: printable characters without spaces, `..`, `?`, `#` and a `.` between slashes",
    ],
    [
      "openai",
      "{models: [{id: a, pricing: {prompt: 0.1, completion: '0'}}]}",
      "f:2:39 providers.openai.models[0].pricing.prompt: expected string, got a fraction",
    ],
    [
      "openai",
      "{models: [{id: a, pricing: {prompt: '0'}}]}",
      "f:2:29 providers.openai.models[0].pricing.completion: is missing: expected string",
    ],
  ])("%s: %s", (id, text, problem) => {
    expect(problemsOf(`providers:\n  ${id}: ${text}\n`)).toEqual([problem]);
  });

  test.each([
    "ftp://a/v1",
    "//a/v1",
    "a.example/v1",
    "http://u:p@a/v1",
    "http://u@a/v1",
    "http://a/v1?x=1",
    "http://a/v1?",
    "http://a/v1#f",
    "http://a/v 1",
    "http://",
    "http:a",
    "http://a\\b",
    "javascript:1",
    "",
  ])("the address %p is refused", (address) => {
    expect(problemsOf(`providers:\n  custom: {base_url: ${JSON.stringify(address)}}\n`)).toEqual([
      "f:2:12 providers.custom.base_url: expected an http or https address without user name, query and fragment",
    ]);
  });

  test.each([
    ["http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"],
    ["https://[::1]:8443", "https://[::1]:8443"],
    ["https://a.example/x/../v1///", "https://a.example/v1"],
  ])("the address %p is %p", (address, expected) => {
    expect(
      parse(`providers: {custom: {base_url: ${JSON.stringify(address)}}}`).providers.entries.get("custom")!.baseUrl,
    ).toBe(expected);
  });

  test.each(["0", "1", "0.5", "0.000000000000000001", "1.000"])("the price %p is accepted", (price) => {
    expect(
      problemsOf(`providers: {openai: {models: [{id: a, pricing: {prompt: "${price}", completion: "0"}}]}}`),
    ).toEqual([]);
  });
  test.each(["", "-1", "1.1", "2", "1e-7", ".5", "0,1", "free"])("the price %p is refused", (price) => {
    expect(
      problemsOf(`providers: {openai: {models: [{id: a, pricing: {prompt: "${price}", completion: "0"}}]}}`),
    ).toHaveLength(1);
  });
});

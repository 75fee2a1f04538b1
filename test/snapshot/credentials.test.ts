// Credentials and settings of file and environment compiled: every form, their precedence, their destinations, and the
// messages for mistakes.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import { ADDRESS_WORD } from "../../src/core/target.ts";
import type { ProviderSettings } from "../../src/core/snapshot.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { compileProviders } from "../../src/snapshot/provider-table.ts";
import { CLOUDS, FAMILIES } from "../config/families.ts";
import { PRIVATE_KEY } from "../credentials/lending.ts";
import { storedKey } from "../harness/targets.ts";

const families = [...FAMILIES, ...CLOUDS];
type Environment = Readonly<Record<string, string>>;

function tableOf(entries: string, environment: Environment = {}) {
  const read = readEnvironment(environment);
  return compileProviders(
    parseConfiguration({ file: "f", text: `providers:\n  ${entries}\n`, families, environment: read }).providers,
    families,
    read,
  );
}
const providerOf = (id: string, entries: string, environment?: Environment): ProviderSettings =>
  tableOf(entries, environment).providers.get(id)!;
const storedOf = (id: string, entry: string, environment?: Environment): readonly StoredCredential[] =>
  providerOf(id, `${id}: ${entry}`, environment).credentials;
function problemsOf(entries: string): readonly string[] {
  try {
    tableOf(entries);
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message.split("\n");
  }
  return [];
}
const OPERATORS = { weight: 1, fromCaller: false } as const;
const folder = mkdtempSync(join(tmpdir(), "secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const secretFile = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

describe("credentials in the file", () => {
  test("api_key is a key, or what the family makes of a bare one", () => {
    expect(storedOf("hills", "{api_key: k}")).toEqual([storedKey("k")]);
    expect(storedOf("river", "{api_key: k}")).toEqual([
      { kind: "ibm_iam", apiKey: "k", tokenUrl: "https://iam.cloud.ibm.com/identity/token", ...OPERATORS },
    ]);
    expect(storedOf("river", "{api_key: k, token_url: 'https://iam.test.example/identity/token/'}")).toEqual([
      { kind: "ibm_iam", apiKey: "k", tokenUrl: "https://iam.test.example/identity/token", ...OPERATORS },
    ]);
  });

  test("api_keys are several, with weights", () => {
    expect(storedOf("openai", '{api_keys: [a, {key: "${B}", weight: 3}, {key: c}]}', { B: "b" })).toEqual([
      storedKey("a"),
      { ...storedKey("b"), weight: 3 },
      storedKey("c"),
    ]);
    expect(storedOf("river", "{api_keys: [a, {key: b, weight: 2}]}")).toMatchObject([
      { kind: "ibm_iam", apiKey: "a", weight: 1 },
      { kind: "ibm_iam", apiKey: "b", weight: 2 },
    ]);
  });

  test("may stand in files of their own", () => {
    expect(storedOf("openai", `{api_key: "\${file:${secretFile("key", "from-a-file\n")}}"}`)).toEqual([
      storedKey("from-a-file"),
    ]);
    expect(problemsOf(`openai: {api_key: "\${file:${folder}/gone}"}`)).toEqual([
      `f:2:12 providers.openai.api_key: the file ${folder}/gone cannot be read: there is no such file`,
    ]);
  });

  test("aws is a key pair, a profile, or the chain", () => {
    expect(storedOf("hills", "{region: r, aws: {access_key_id: AKIA, secret_access_key: s}}")).toEqual([
      { kind: "aws_keys", accessKeyId: "AKIA", secretAccessKey: "s", sessionToken: null, ...OPERATORS },
    ]);
    expect(
      storedOf("hills", "{region: r, aws: {access_key_id: AKIA, secret_access_key: s, session_token: t}}"),
    ).toMatchObject([{ sessionToken: "t" }]);
    expect(storedOf("hills", "{region: r, aws: {profile: of mine}}")).toEqual([
      { kind: "aws_chain", profile: "of mine", ...OPERATORS },
    ]);
    expect(storedOf("hills", "{region: r, aws: default}")).toEqual([
      { kind: "aws_chain", profile: null, ...OPERATORS },
    ]);
  });

  test("google is a file, a service account, or application default credentials", () => {
    const account = {
      type: "service_account",
      client_email: "robot@x",
      private_key: PRIVATE_KEY,
      private_key_id: "id",
      token_uri: "https://elsewhere.example",
    };
    const path = secretFile("account.json", `${JSON.stringify(account, null, 2)}\n`);
    const stored = {
      kind: "google_service_account",
      clientEmail: "robot@x",
      privateKey: PRIVATE_KEY,
      privateKeyId: "id",
      tokenUrl: "https://oauth2.googleapis.com/token",
      ...OPERATORS,
    } as const;
    expect(storedOf("valley", `{google: {service_account: "\${file:${path}}"}}`)).toEqual([stored]);
    expect(
      storedOf("valley", `{token_url: "http://127.0.0.1:9/t", google: {service_account: "\${file:${path}}"}}`),
    ).toEqual([{ ...stored, tokenUrl: "http://127.0.0.1:9/t" }]);
    expect(storedOf("valley", `{google: {credentials_file: ${path}}}`)).toEqual([
      { kind: "google_file", path, tokenUrl: "https://oauth2.googleapis.com/token", ...OPERATORS },
    ]);
    expect(storedOf("valley", "{google: default}")).toEqual([{ kind: "google_default", ...OPERATORS }]);
  });

  test("entra is an application with a secret or with a file", () => {
    const common = {
      tenantId: "t-1",
      clientId: "c-1",
      tokenUrl: "https://login.microsoftonline.com/t-1/oauth2/v2.0/token",
      ...OPERATORS,
    };
    expect(storedOf("coast", "{resource: r, entra: {tenant_id: t-1, client_id: c-1, client_secret: s}}")).toEqual([
      { kind: "entra_client", clientSecret: "s", scope: "https://cognitiveservices.azure.com/.default", ...common },
    ]);
    expect(
      storedOf(
        "coast",
        "{resource: r, token_url: 'https://login.example/x', entra: {tenant_id: t-1, client_id: c-1, federated_token_file: /var/run/token, scope: 'https://a/.default'}}",
      ),
    ).toEqual([
      {
        kind: "entra_federated",
        tokenFile: "/var/run/token",
        scope: "https://a/.default",
        ...common,
        tokenUrl: "https://login.example/x",
      },
    ]);
  });

  test.each([
    [
      "openai: {aws: default}",
      "f:2:12 providers.openai.aws: OpenAI does not accept this credential; it takes api_key, api_keys",
    ],
    [
      "hills: {google: default}",
      "f:2:11 providers.hills.google: Hills does not accept this credential; it takes api_key, api_keys, aws",
    ],
    [
      "hills: {api_key: k, aws: default}",
      "f:2:23 providers.hills.aws: cannot be combined with api_key; set one of them, or configure a second provider for another account",
    ],
    [
      "openai: {api_key: k, api_keys: [l]}",
      "f:2:24 providers.openai.api_keys: cannot be combined with api_key; set one of them, or configure a second provider for another account",
    ],
    ["openai: {api_keys: []}", "f:2:12 providers.openai.api_keys: expected at least 1 entries"],
    [
      "openai: {api_keys: ['a b']}",
      "f:2:23 providers.openai.api_keys[0]: expected printable characters without spaces and line breaks",
    ],
    ["openai: {api_keys: [{key: a, weight: 0}]}", "f:2:32 providers.openai.api_keys[0].weight: expected at least 1"],
    ["openai: {token_url: 'https://a'}", "f:2:12 providers.openai.token_url: OpenAI has no token service"],
    [
      "river: {api_key: k, token_url: 'ftp://a'}",
      "f:2:23 providers.river.token_url: expected an http or https address without user name, query and fragment",
    ],
    ["hills: {aws: chain}", 'f:2:11 providers.hills.aws: expected "default" or a mapping'],
    [
      "hills: {aws: {}}",
      "f:2:11 providers.hills.aws.access_key_id: is missing: expected access_key_id and secret_access_key, or profile, or aws: default",
    ],
    [
      "hills: {aws: {access_key_id: a}}",
      "f:2:11 providers.hills.aws.secret_access_key: is missing: access_key_id needs it",
    ],
    [
      "hills: {aws: {profile: p, access_key_id: a}}",
      "f:2:17 providers.hills.aws.profile: expected a profile or a pair of keys, not both",
    ],
    [
      "hills: {aws: {acces_key_id: a, profile: p}}",
      'f:2:17 providers.hills.aws.acces_key_id: unknown key "acces_key_id"; did you mean "access_key_id"?',
    ],
    [
      "valley: {google: {}}",
      "f:2:12 providers.valley.google: expected one of credentials_file and service_account, or google: default",
    ],
    [
      "valley: {google: {credentials_file: account.json}}",
      "f:2:21 providers.valley.google.credentials_file: expected an absolute path",
    ],
    [
      "valley: {google: {service_account: 'no json'}}",
      'f:2:21 providers.valley.google.service_account: expected the JSON of a service account\'s key file, with the type "service_account"',
    ],
    [
      'valley: {google: {service_account: \'{"type":"external_account"}\'}}',
      'f:2:21 providers.valley.google.service_account: expected the JSON of a service account\'s key file, with the type "service_account"',
    ],
    [
      'valley: {google: {service_account: \'{"type":"service_account","client_email":"a"}\'}}',
      "f:2:21 providers.valley.google.service_account: expected a key file with private_key, in PEM",
    ],
    [
      "coast: {entra: {tenant_id: t, client_id: c}}",
      "f:2:11 providers.coast.entra: expected one of client_secret and federated_token_file",
    ],
    [
      "coast: {entra: {tenant_id: t/../x, client_id: c, client_secret: s}}",
      "f:2:19 providers.coast.entra.tenant_id: expected 1 to 128 letters, digits, dots, underscores or dashes",
    ],
    [
      "coast: {entra: {client_id: c, client_secret: s}}",
      "f:2:11 providers.coast.entra.tenant_id: is missing: expected string",
    ],
    ["hills: {project: p}", "f:2:11 providers.hills.project: Hills has no such setting; it has region"],
    ["coast: {region: p}", "f:2:11 providers.coast.region: Coast has no such setting; it has resource, api_version"],
    ["openai: {region: p}", "f:2:12 providers.openai.region: OpenAI has no such setting; it has none"],
    [
      "hills: {region: 'a/b'}",
      "f:2:11 providers.hills.region: expected 1 to 128 letters, digits, dots, underscores or dashes",
    ],
    ["hills: {regoin: a}", 'f:2:11 providers.hills.regoin: unknown key "regoin"; did you mean "region"?'],
  ])("%s is a mistake", (entries, problem) => {
    expect(problemsOf(entries)).toEqual([problem]);
  });
});

describe("settings", () => {
  test("come from the file, else the environment, else by default", () => {
    const settingsOf = (id: string, entries: string, environment: Environment = {}) =>
      providerOf(id, entries, environment).settings;
    const environment = { VALLEY_PROJECT: "of-environment", VALLEY_LOCATION: "west" };
    expect(settingsOf("valley", "openai:")).toEqual({ location: "global" });
    expect(settingsOf("valley", "openai:", environment)).toEqual({ project: "of-environment", location: "west" });
    expect(settingsOf("valley", "valley: {project: of-file}", environment)).toEqual({
      project: "of-file",
      location: "west",
    });
    expect(settingsOf("mine", "mine: {type: valley, location: east, google: default}", environment)).toEqual({
      project: "of-environment",
      location: "east",
    });
    expect(settingsOf("hills", "openai:", { HILLS_DEFAULT_REGION: "second" })).toEqual({ region: "second" });
  });

  test("of the environment that could change an address are not used, and reported without their value", () => {
    const { providers, notices } = tableOf("openai: {api_key: k}", {
      HILLS_REGION: "x.evil.example/",
      VALLEY_LOCATION: "a b",
    });
    expect([providers.get("hills")!.settings, providers.get("valley")!.settings]).toEqual([{}, { location: "global" }]);
    expect(notices).toEqual([
      "the environment variable HILLS_REGION is ignored: it contains something other than letters, digits, dots, underscores and dashes",
      "the environment variable VALLEY_LOCATION is ignored: it contains something other than letters, digits, dots, underscores and dashes",
    ]);
    expect("x.evil.example/").not.toMatch(ADDRESS_WORD);
  });

  test("that an address lacks are reported", () => {
    expect(tableOf("hills: {api_key: k}").notices).toEqual([
      "providers.hills has no region: set HILLS_REGION, or region in the file",
    ]);
    expect(tableOf("coast: {api_key: k}").notices).toEqual([
      "providers.coast has no resource: set COAST_RESOURCE, or resource in the file",
    ]);
  });
});

describe("the environment alone", () => {
  const enabled = (environment: Environment): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      [...tableOf("openai:", environment).providers.values()]
        .filter((one) => one.enabled && CLOUDS.some(({ id }) => id === one.id))
        .map((one) => [one.id, one.credentials[0]!.kind]),
    );

  test("enables a cloud for which it has everything that a call needs, and no other", () => {
    const aws = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "s" };
    expect(enabled(aws)).toEqual({});
    expect(enabled({ ...aws, HILLS_REGION: "r" })).toEqual({ hills: "aws_keys" });
    expect(enabled({ AWS_ACCESS_KEY_ID: "AKIA", HILLS_REGION: "r" })).toEqual({});
    expect(enabled({ HILLS_TOKEN: "t" })).toEqual({});
    expect(enabled({ GOOGLE_APPLICATION_CREDENTIALS: "/a.json" })).toEqual({});
    expect(enabled({ GOOGLE_APPLICATION_CREDENTIALS: "/a.json", VALLEY_PROJECT: "p" })).toEqual({
      valley: "google_file",
    });
    const entra = { AZURE_TENANT_ID: "t", AZURE_CLIENT_ID: "c", COAST_RESOURCE: "r" };
    expect(enabled(entra)).toEqual({});
    expect(enabled({ ...entra, AZURE_CLIENT_SECRET: "s" })).toEqual({ coast: "entra_client" });
    expect(enabled({ ...entra, AZURE_FEDERATED_TOKEN_FILE: "/t" })).toEqual({ coast: "entra_federated" });
    expect(enabled({ RIVER_API_KEY: "k" })).toEqual({ river: "ibm_iam" });
  });

  test("uses the variable that the vendor's own library would use", () => {
    expect(
      enabled({ AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "s", HILLS_TOKEN: "t", HILLS_REGION: "r" }),
    ).toEqual({ hills: "key" });
    expect(enabled({ GOOGLE_APPLICATION_CREDENTIALS: "/a.json", VALLEY_API_KEY: "k" })).toEqual({ valley: "key" });
    expect(enabled({ GOOGLE_APPLICATION_CREDENTIALS: "/a.json", VALLEY_API_KEY: "k", VALLEY_PROJECT: "p" })).toEqual({
      valley: "google_file",
    });
    expect(
      enabled({
        AZURE_TENANT_ID: "t",
        AZURE_CLIENT_ID: "c",
        AZURE_CLIENT_SECRET: "s",
        COAST_API_KEY: "k",
        COAST_RESOURCE: "r",
      }),
    ).toEqual({ coast: "key" });
  });

  test("reports what of it cannot be used, without its value", () => {
    const told = (environment: Environment): string =>
      tableOf("openai: {api_key: k}", { ...environment }).notices.join("\n");
    expect(told({ AWS_ACCESS_KEY_ID: "secret value", AWS_SECRET_ACCESS_KEY: "s" })).toBe(
      "the environment variable AWS_ACCESS_KEY_ID is ignored: it contains characters that are not allowed in keys",
    );
    expect(told({ AWS_ACCESS_KEY_ID: "secret" })).toBe(
      "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set, so it is ignored",
    );
    expect(told({ AZURE_TENANT_ID: "se/cret", AZURE_CLIENT_ID: "c", AZURE_CLIENT_SECRET: "s" })).toBe(
      "the environment variable AZURE_TENANT_ID is ignored: it contains something other than the id of a directory",
    );
  });
});

describe("addresses of the environment", () => {
  const at = (environment: Environment, entries = "openai:"): Pick<ProviderSettings, "baseUrl" | "enabled"> => {
    const { baseUrl, enabled } = providerOf("coast", entries, environment);
    return { baseUrl, enabled };
  };

  test("replace the provider's own, below that of the file", () => {
    expect(at({ COAST_API_KEY: "k", COAST_ENDPOINT: "https://Mine.example/v1/" })).toEqual({
      baseUrl: "https://mine.example/v1",
      enabled: true,
    });
    expect(at({ COAST_ENDPOINT: "https://mine.example" }, "coast: {api_key: k}")).toMatchObject({
      baseUrl: "https://mine.example",
    });
    expect(
      at({ COAST_ENDPOINT: "https://mine.example" }, "coast: {api_key: k, base_url: 'https://file.example'}"),
    ).toMatchObject({ baseUrl: "https://file.example" });
  });

  test("are plain http and https ones, or are reported without their text and not used", () => {
    for (const address of [
      "mine.example",
      "https://u:p@mine.example",
      "https://mine.example/?key=x",
      "file:///etc/passwd",
    ]) {
      expect(at({ COAST_ENDPOINT: address }).baseUrl).toBe("https://{resource}.coast.example/v1");
      expect(tableOf("openai: {api_key: k}", { COAST_ENDPOINT: address }).notices).toEqual([
        "the environment variable COAST_ENDPOINT is ignored: it contains something other than an http or https address without user name, query and fragment",
      ]);
    }
  });

  test("enable a provider that needs no key, or is a self-hosted server", () => {
    const garage = (environment: Environment): ProviderSettings => providerOf("garage", "openai:", environment);
    expect([
      garage({}).enabled,
      garage({ GARAGE_HOST: "http://gpu:1" }).enabled,
      garage({ GARAGE_KEY: "k" }).enabled,
    ]).toEqual([false, true, true]);
    expect(garage({ GARAGE_HOST: "http://gpu:1", GARAGE_KEY: "k" })).toMatchObject({
      baseUrl: "http://gpu:1",
      credentials: [storedKey("k")],
    });
    const shed = (environment: Environment): ProviderSettings => providerOf("shed", "openai:", environment);
    expect(shed({})).toMatchObject({ enabled: false, baseUrl: "http://localhost:9999" });
    expect(shed({ SHED_HOST: "http://10.0.0.7:9999" })).toMatchObject({
      enabled: true,
      baseUrl: "http://10.0.0.7:9999",
      credentials: [],
    });
  });

  test("are not those of another account", () => {
    expect(
      providerOf("mine", "mine: {type: coast, api_key: k}", { COAST_ENDPOINT: "https://mine.example" }).baseUrl,
    ).toBe("https://{resource}.coast.example/v1");
  });
});

describe("the destination of credentials", () => {
  const AWS = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "s", HILLS_REGION: "r" };
  const kindOf = (entry: string, environment: Environment, id = "hills"): string | undefined =>
    storedOf(id, entry, environment)[0]?.kind;

  test("one of the environment goes to the provider's own address in any region, and to no other", () => {
    expect(kindOf("{}", AWS)).toBe("aws_keys");
    expect(kindOf("{base_url: 'https://runtime.another-1.hills.example'}", AWS)).toBe("aws_keys");
    for (const address of [
      "https://runtime.evil.example",
      "https://runtime.a.b.hills.example",
      "https://runtime.r.hills.example.evil.example",
      "http://runtime.r.hills.example",
      "https://runtime.r.hills.example:8443",
      "https://127.0.0.1",
    ])
      expect([address, kindOf(`{base_url: '${address}'}`, AWS)]).toEqual([address, undefined]);
    expect(kindOf("{type: hills}", AWS, "mine")).toBeUndefined();
    expect(tableOf("hills: {base_url: 'https://a.example'}", AWS).notices).toEqual([
      "providers.hills: the credential of the environment is only sent to Hills's own addresses; set it in the file to send it to this one",
    ]);
  });

  test("nor to a token service of the file", () => {
    const environment = { RIVER_API_KEY: "k" };
    expect(kindOf("{}", environment, "river")).toBe("ibm_iam");
    expect(kindOf("{token_url: 'https://a.example'}", environment, "river")).toBeUndefined();
    expect(tableOf("river: {token_url: 'https://a.example'}", environment).notices).toEqual([
      "providers.river: the credential of the environment is not sent to the token_url of the file; set the credential in the file, next to token_url",
    ]);
  });

  test("one of the file takes precedence, and a provider that is switched off has none", () => {
    expect(kindOf("{api_key: k}", AWS)).toBe("key");
    expect(kindOf("{enabled: false}", AWS)).toBeUndefined();
    expect(kindOf("{enabled: false, aws: default}", {})).toBeUndefined();
  });

  test("a missing one is reported with what to set", () => {
    expect(tableOf("hills: {region: r}").notices).toEqual([
      "providers.hills has no credential: set HILLS_TOKEN, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the gateway, or providers.hills.api_key or providers.hills.aws in the file",
    ]);
    expect(tableOf("mine: {type: hills, region: r}", AWS).notices).toEqual([
      "providers.mine has no api_key or aws; HILLS_TOKEN is not used automatically for a provider with another id",
    ]);
  });
});

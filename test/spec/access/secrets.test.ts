// Promises 2.9 and 7.8: secrets are planted in every form of credential, providers and token services repeat whatever they are sent, and then everything
// that leaves is searched: answers, headers, log lines, metrics, listings, problems of the configuration.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../../src/config/environment.ts";
import type { StoredCredential } from "../../../src/core/configured/credential.ts";
import { callLine } from "../../../src/observe/log.ts";
import { openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { compileProviders } from "../../../src/snapshot/provider-table.ts";
import { parseConfiguration } from "../../../src/snapshot/configuration.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { CLOUDS as CLOUD_FAMILIES, FAMILIES } from "../../config/families.ts";
import { PRIVATE_KEY } from "../../credentials/lending.ts";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../harness/processes/gateway-process.ts";
import { cannedUpstream, type Stub } from "../../harness/in-process.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  startUpstream,
} from "../../harness/servers/upstream.ts";
import { HELLO } from "../chat-calls.ts";
import { cloudGateway } from "../made-up-cloud.ts";
import { until } from "../../harness/time/until.ts";

/** What no text may hold. A slash, a plus and a quote, because such characters are spelled in several ways. */
const planted = (name: string): string => `PLANTED-${name}/x+y"z-SECRET`;
const SEARCHED = /PLANTED|(?<!SCW_)SECRET|MII[A-Za-z0-9+/]{20}/;
const OPERATORS = { weight: 1, fromCaller: false } as const;
const folder = mkdtempSync(join(tmpdir(), "planted-"));
afterAll(() => rmSync(folder, { recursive: true }));
function planting(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const TOKENS = "https://tokens.example/token";
const ACCOUNT = { clientEmail: "robot@x.example", privateKey: PRIVATE_KEY, privateKeyId: "0123456789abcdef" } as const;
const STORED: Readonly<Record<string, readonly StoredCredential[]>> = {
  key: [{ kind: "key", secret: planted("key"), ...OPERATORS }],
  keys: [
    { kind: "key", secret: planted("first"), ...OPERATORS },
    { kind: "key", secret: planted("second"), ...OPERATORS },
  ],
  pair: [
    {
      kind: "aws_keys",
      accessKeyId: planted("id"),
      secretAccessKey: planted("half"),
      sessionToken: planted("session"),
      ...OPERATORS,
    },
  ],
  account: [{ kind: "google_service_account", ...ACCOUNT, tokenUrl: TOKENS, ...OPERATORS }],
  login: [
    {
      kind: "google_file",
      path: planting("login.json", {
        type: "authorized_user",
        client_id: "c",
        client_secret: planted("client"),
        refresh_token: planted("refresh"),
      }),
      tokenUrl: TOKENS,
      ...OPERATORS,
    },
  ],
  application: [
    {
      kind: "entra_client",
      tenantId: "t",
      clientId: "c",
      clientSecret: planted("client"),
      scope: "s",
      tokenUrl: TOKENS,
      ...OPERATORS,
    },
  ],
  federated: [
    {
      kind: "entra_federated",
      tenantId: "t",
      clientId: "c",
      tokenFile: planting("assertion", planted("assertion")),
      scope: "s",
      tokenUrl: TOKENS,
      ...OPERATORS,
    },
  ],
  exchanged: [{ kind: "ibm_iam", apiKey: planted("iam"), tokenUrl: TOKENS, ...OPERATORS }],
};
const BROUGHT: Readonly<Record<string, object>> = {
  key: { api_key: planted("key").replaceAll('"', "_") },
  pair: {
    aws_access_key_id: "PLANTED-id-SECRET",
    aws_secret_access_key: "PLANTED/half+SECRET",
    aws_session_token: "PLANTED-session-SECRET",
  },
  token: { vertex_access_token: "PLANTED-token-SECRET" },
  account: {
    vertex_credentials: { type: "service_account", client_email: "robot@x.example", private_key: PRIVATE_KEY },
  },
};

/** Quotes headers and body in its words, plain, in JSON and as an address has them. */
function quoting(headers: Readonly<Record<string, string>>, body: string): string {
  const inside = JSON.parse(headers["x-called-with"] ?? "{}") as Record<string, unknown>;
  const sent = [
    ...Object.values(headers),
    ...Object.values(inside).flat().map(String),
    body.startsWith("{") ? "" : [...new URLSearchParams(body).values()].join(" and "),
  ].join(" and ");
  return `you sent ${sent} that is ${JSON.stringify(sent)} or ${encodeURIComponent(sent)}`;
}

/** A provider and a token service that repeat everything; `tokens`: whether the latter gives one. */
function talkative(status: number, tokens: boolean): UpstreamClient {
  return cannedUpstream(({ url, headers, body }) => {
    if (!url.includes("cloud.example")) {
      if (tokens) return { body: JSON.stringify({ access_token: "PLANTED-access-token-SECRET", expires_in: 3600 }) };
      return {
        status: 400,
        body: JSON.stringify({
          error: "invalid_grant",
          error_description: quoting(headers, body),
          errorCode: "E",
          errorMessage: quoting(headers, body),
        }),
      };
    }
    const words = quoting(headers, "");
    if (status !== 200)
      return { status, body: JSON.stringify({ error: { message: words, type: words, code: words, param: words } }) };
    return body.includes('"stream":true')
      ? {
          headers: { "content-type": "text/event-stream" },
          body: eventStream(openaiChunk({ content: "a" }), { error: { message: words, type: words, code: words } }),
        }
      : { body: JSON.stringify(openaiAnswer()) };
  });
}

async function everything(stub: Stub, body: object): Promise<string> {
  const response = await stub.chat({ messages: HELLO, ...body });
  const answer = await response.text();
  const metrics = openMetrics();
  for (const record of stub.records) metrics.publish(record);
  return [
    response.status,
    JSON.stringify([...response.headers]),
    answer,
    ...stub.records.map(callLine),
    await metrics.text(),
    JSON.stringify(stub.refused),
  ].join("\n");
}

describe("what leaves the gateway holds no secret", () => {
  test.each(Object.entries(STORED))(
    "[d2.9] [d7.8] of a stored credential (%s), whatever the provider and the token service repeat",
    async (name, stored) => {
      for (const status of [200, 400, 401, 402, 403, 404, 429, 500, 503]) {
        for (const [tokens, stream] of [
          [true, false],
          [true, true],
          [false, false],
        ] as const) {
          const stub = cloudGateway(stored, { upstream: talkative(status, tokens) });
          const text = await everything(stub, { model: name === "exchanged" ? "exchanging:m" : "cloud:m", stream });
          expect(stub.records).toHaveLength(1);
          expect([
            status,
            tokens,
            stream,
            SEARCHED.exec(text)?.[0],
            text.match(/.{0,80}(PLANTED|SECRET).{0,80}/)?.[0],
          ]).toEqual([status, tokens, stream, undefined, undefined]);
        }
      }
    },
  );

  test.each(Object.entries(BROUGHT))("[d7.8] of a credential that the request brings (%s)", async (_, brought) => {
    for (const status of [200, 400, 401, 403, 429, 500]) {
      for (const tokens of [true, false]) {
        const text = await everything(cloudGateway([], { upstream: talkative(status, tokens) }), {
          model: "cloud:m",
          ...brought,
        });
        expect([status, tokens, text.match(/.{0,80}(PLANTED|SECRET|MII[A-Za-z0-9+/]{20}).{0,80}/)?.[0]]).toEqual([
          status,
          tokens,
          undefined,
        ]);
      }
    }
  });

  test("[d2.9] of a request that is refused because of its credential", async () => {
    const wrong: readonly object[] = [
      { api_key: "PLANTED SECRET" },
      { aws_access_key_id: "PLANTED-SECRET" },
      { aws_access_key_id: "PLANTED\nSECRET", aws_secret_access_key: "PLANTED-SECRET" },
      { vertex_credentials: "PLANTED-SECRET" },
      {
        vertex_credentials: { type: "service_account", client_email: "PLANTED-SECRET", private_key: "PLANTED-SECRET" },
      },
      {
        vertex_credentials: {
          type: "service_account",
          client_email: "a@b",
          private_key: "-----BEGIN PRIVATE KEY-----\nPLANTED-SECRET\n-----END PRIVATE KEY-----",
        },
      },
      { vertex_credentials: {}, vertex_access_token: "PLANTED-SECRET" },
      { model: "exchanging:m", vertex_access_token: "PLANTED-SECRET" },
    ];
    for (const brought of wrong) {
      const stub = cloudGateway([], { upstream: talkative(200, true) });
      const text = await everything(stub, { model: "cloud:m", ...brought });
      expect(text).toStartWith("40");
      expect(text).not.toMatch(SEARCHED);
      expect(stub.sent).toEqual([]);
    }
  });
});

describe("the configuration", () => {
  const families = [...FAMILIES, ...CLOUD_FAMILIES];
  const told = (text: string, environment: Readonly<Record<string, string>> = {}): string => {
    const read = readEnvironment(environment);
    try {
      return compileProviders(
        parseConfiguration({ file: "f", text, families, environment: read }).providers,
        families,
        read,
      ).notices.join("\n");
    } catch (thrown) {
      return (thrown as Error).message;
    }
  };

  test("[d2.9] reports mistakes at every key of a credential without its value", () => {
    const bad = ["PLANTED SECRET", "{PLANTED-SECRET: 1}", "[PLANTED-SECRET]", '"PLANTED\\nSECRET"'];
    const places = [
      "openai: {api_key: @}",
      "openai: {api_keys: [@]}",
      "openai: {api_keys: [{key: @}]}",
      "openai: {api_keys: [{key: a, weight: @}]}",
      "openai: {aws: @}",
      "openai: {token_url: @}",
      "hills: {aws: @}",
      "hills: {aws: {access_key_id: @, secret_access_key: @, session_token: @}}",
      "hills: {aws: {profile: [@]}}",
      "valley: {google: @}",
      "valley: {google: {service_account: @}}",
      "valley: {google: {credentials_file: @}}",
      "coast: {entra: @}",
      "coast: {entra: {tenant_id: @, client_id: @, client_secret: @, scope: @, federated_token_file: @}}",
      "hills: {region: @}",
      "river: {api_key: @}",
    ];
    for (const place of places)
      for (const value of bad) {
        const text = told(`providers:\n  ${place.replaceAll("@", value)}\n`);
        expect([place, value, text === ""]).toEqual([place, value, false]);
        // a key that is no known one is shown as it was written
        expect([place, value, text.replaceAll(/unknown key "PLANTED-SECRET"|\.PLANTED-SECRET/g, "")]).toEqual([
          place,
          value,
          expect.not.stringMatching(SEARCHED),
        ]);
      }
  });

  test("[d2.9] reports what is wrong in the environment and in files without their content", () => {
    const environment = Object.fromEntries(
      [
        "OPENAI_API_KEY",
        "HILLS_TOKEN",
        "HILLS_REGION",
        "VALLEY_API_KEY",
        "VALLEY_PROJECT",
        "COAST_ENDPOINT",
        "COAST_RESOURCE",
        "RIVER_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
      ].map((name) => [name, "PLANTED SECRET"]),
    );
    const notices = told("", environment);
    expect(notices.split("\n").length).toBeGreaterThan(6);
    expect(notices).not.toMatch(SEARCHED);
    expect(
      told(`providers: {valley: {google: {service_account: "\${file:${planting("bad", "PLANTED-SECRET")}}"}}}`),
    ).not.toMatch(SEARCHED);
    expect(told(`providers: {openai: {api_key: "\${file:${planting("worse", "PLANTED SECRET")}}"}}`)).toBe(
      "f:1:22 providers.openai.api_key: expected printable characters without spaces and line breaks",
    );
  });
});

describe("a real gateway", () => {
  let provider: FakeUpstream;
  let gateway: GatewayProcess;
  const environment = {
    OPENAI_API_KEY: "PLANTED-environment-SECRET",
    AWS_ACCESS_KEY_ID: "PLANTED-id-SECRET",
    AWS_SECRET_ACCESS_KEY: "PLANTED-half-SECRET",
  };
  let config: string;
  beforeAll(async () => {
    provider = startUpstream(({ headers }) =>
      Response.json(
        {
          error: { message: `no ${headers["authorization"]}`, type: "invalid_request_error", code: "invalid_api_key" },
        },
        { status: 401 },
      ),
    );
    config = `providers:
  first:
    type: custom
    base_url: ${provider.url}/v1
    api_keys: ["\${file:${planting("one", "PLANTED-one-SECRET-1111\n")}}", {key: PLANTED-two-SECRET-2222, weight: 2}]
    models: [m]
`;
    gateway = await startGateway({ config, environment });
  });
  afterAll(async () => {
    await gateway.stop();
    await provider.stop();
  });

  test("[d2.9] [d7.8] shows of a refused key its last four characters in one log line, and nothing of other keys anywhere", async () => {
    const seen: string[] = [];
    for (let call = 0; call < 6; call++) {
      const response = await gateway.chat({ model: "first:m", messages: HELLO });
      seen.push(String(response.status), JSON.stringify([...response.headers]), await response.text());
    }
    for (const path of ["/api/v1/models", "/metrics", "/readyz"])
      seen.push(
        await (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${gateway.firstToken}` } })).text(),
      );
    const set = (): readonly Record<string, unknown>[] =>
      gateway.lines().filter(({ msg }) => msg === "a credential was refused and is not used for a while");
    // lines are handed over in blocks
    const told = (): number =>
      gateway.lines().filter(({ trace_id: id, status }) => id !== undefined && status !== undefined).length;
    await until(() => set().length >= 2 && told() >= 6);
    expect(
      set().map(({ level, provider: id, credential, reason, minutes }) => [level, id, credential, reason, minutes]),
    ).toEqual(
      expect.arrayContaining([
        ["warn", "first", "key …1111", "authentication", 10],
        ["warn", "first", "key …2222", "authentication", 10],
      ]),
    );
    expect(set()).toHaveLength(2);
    // the first call tries both keys, and the others the one that becomes available first
    expect(provider.seen).toHaveLength(7);
    const output = gateway.output();
    expect(output).toContain("upstream_authentication");
    expect(seen.join("\n") + output).not.toMatch(SEARCHED);
  });

  test("[d2.9] lists providers, models and parameters without a secret", async () => {
    const file = planting("dragoman.yaml", config);
    for (const command of [["providers"], ["models"], ["params", "first:m"]])
      for (const form of [[], ["--json"]]) {
        const { code, stdout, stderr } = await runCli(
          [...command, "--config", file, ...form],
          cleanEnvironment(environment),
        );
        expect([command, code]).toEqual([command, 0]);
        expect(stdout + stderr).not.toMatch(SEARCHED);
      }
    const broken = planting("broken.yaml", `${config}    aws: {access_key_id: PLANTED-SECRET}\n`);
    const { code, stdout, stderr } = await runCli(["check", broken, "--json"], cleanEnvironment(environment));
    expect([code, stdout.includes("providers.first.aws")]).toEqual([1, true]);
    expect(stdout + stderr).not.toMatch(SEARCHED);
  });
});

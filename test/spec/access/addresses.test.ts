// Promises 2.9, 2.10 and 2.12 through the whole gateway: where a stored credential is sent, which headers a caller may
// set, and which addresses of a request are called, once in this process to inspect the upstream request and once over
// the real one.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type CredentialProvider,
  IBM_TOKEN_URL,
  type StoredCredential,
} from "../../../src/core/configured/credential.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { parseConfiguration } from "../../../src/snapshot/configuration.ts";
import { compileProviders } from "../../../src/snapshot/provider-table.ts";
import type { UpstreamCall, UpstreamClient } from "../../../src/wire/upstream.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { type FakeUpstream, openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS } from "../chat-calls.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const gateway = answeringGateway();
const REMOTE = CONVERSING.filter(({ baseUrl }) => baseUrl === null || /^https?:/.test(baseUrl));
const IN_KEY_FORM = REMOTE.filter(({ credentials }) => credentials.includes("key"));
const WITH_KEY = IN_KEY_FORM.filter(({ keyVariables }) => keyVariables.length > 0);
const OWN = "http://127.0.0.1:9/own/v1";

describe("a stored credential", () => {
  test("[d2.9] goes to the address that was configured with it", async () => {
    for (const { id } of WITH_KEY) {
      const { request } = await ask(gateway, { model: `${id}:m` });
      expect([id, JSON.stringify(request!.headers).includes("stored-key")]).toEqual([id, true]);
      const { baseUrl, settings } = gateway.context.snapshot().providers.get(id)!;
      expect([
        id,
        request!.url.startsWith(baseUrl!.replaceAll(/\{(\w+)\}/g, (_, name: string) => settings[name]!)),
      ]).toEqual([id, true]);
    }
  });

  test("[d2.9] never goes to an address of the request: that address gets the api_key given with it, or none", async () => {
    for (const { id, credentials } of REMOTE) {
      for (const name of ["base_url", "api_base"]) {
        const bare = await ask(gateway, { model: `${id}:m`, [name]: OWN });
        expect([id, bare.outcome, bare.request!.url.startsWith("http://127.0.0.1:9/own/v1")]).toEqual([
          id,
          "200",
          true,
        ]);
        expect(JSON.stringify(bare.request)).not.toContain("stored-key");
        expect(Object.keys(bare.request!.headers).filter((header) => /auth|key|token|cookie/.test(header))).toEqual([]);
        if (!credentials.includes("key")) continue;
        const keyed = await ask(gateway, { model: `${id}:m`, [name]: OWN, api_key: "sk-of-the-caller" });
        expect(JSON.stringify(keyed.request!.headers)).toContain("sk-of-the-caller");
        expect(JSON.stringify(keyed.request)).not.toContain("stored-key");
        expect(keyed.request!.body).not.toContain("sk-of-the-caller");
      }
    }
  });

  test("[d2.9] does not go even to the configured address when the request itself gives that address", async () => {
    const stub = answeringGateway({
      providers: WITH_KEY.map(({ id }) =>
        providerSettings({ id, baseUrl: OWN, credentials: [storedKey("stored-key")] }),
      ),
    });
    for (const { id } of WITH_KEY) {
      const stored = await ask(stub, { model: `${id}:m` });
      const said = await ask(stub, { model: `${id}:m`, base_url: OWN });
      expect([id, said.request!.url]).toEqual([id, stored.request!.url]);
      expect([
        JSON.stringify(stored.request).includes("stored-key"),
        JSON.stringify(said.request).includes("stored-key"),
      ]).toEqual([true, false]);
    }
  });

  test("[d2.9] gives way to the request's api_key at the configured address", async () => {
    for (const { id } of WITH_KEY) {
      const { request } = await ask(gateway, { model: `${id}:m`, api_key: "sk-of-the-caller" });
      expect([
        id,
        JSON.stringify(request!.headers).includes("sk-of-the-caller"),
        JSON.stringify(request).includes("stored-key"),
      ]).toEqual([id, true, false]);
    }
  });

  test("[d2.9] that is exchanged is itself never sent, whether stored or brought by the request", async () => {
    const exchanged = REMOTE.filter(({ credentials }) => credentials[0] === "ibm_iam");
    expect(exchanged.length).toBeGreaterThan(0);
    const seen: StoredCredential[] = [];
    const stored: StoredCredential = {
      kind: "ibm_iam",
      apiKey: "stored-key",
      tokenUrl: IBM_TOKEN_URL,
      weight: 1,
      fromCaller: false,
    };
    const stub = answeringGateway({
      providers: exchanged.map(({ id }) => providerSettings({ id, baseUrl: OWN, credentials: [stored] })),
    });
    const resolve: CredentialProvider["resolve"] = (list) => {
      seen.push(...list);
      return { kind: "token", secret: "made-of-it", fromCaller: false };
    };
    Object.assign(stub.context, { credentials: { resolve, refused: () => {} } });
    for (const { id } of exchanged)
      for (const brought of [{}, { api_key: "sk-of-the-caller" }, { api_key: "sk-of-the-caller", base_url: OWN }]) {
        const { outcome, request } = await ask(stub, { model: `${id}:m`, ...brought });
        expect([id, outcome, request!.headers["authorization"]]).toEqual([id, "200", "Bearer made-of-it"]);
        expect(JSON.stringify(request)).not.toMatch(/stored-key|sk-of-the-caller/);
      }
    expect(seen.map((one) => one.kind === "ibm_iam" && one.apiKey)).toEqual(
      exchanged.flatMap(() => ["stored-key", "sk-of-the-caller", "sk-of-the-caller"]),
    );
  });

  test("[d2.9] appears in no answer and no error, even when the provider repeats it", async () => {
    for (const status of [400, 401, 403, 429, 500]) {
      const echo = cannedUpstream(({ headers }) => ({
        status,
        body: JSON.stringify({ error: { message: `you sent ${JSON.stringify(headers)}`, type: "x", code: null } }),
      }));
      const stub = answeringGateway({ upstream: echo });
      for (const model of FAMILIES) {
        const { text, headers } = await ask(stub, { model });
        expect([model, status, (text + JSON.stringify([...headers])).includes("stored-key")]).toEqual([
          model,
          status,
          false,
        ]);
      }
    }
  });
});

describe("headers of the request", () => {
  test("[d2.10] headers and extra_headers go to the provider, and extra_headers wins regardless of case", async () => {
    for (const { id } of REMOTE) {
      const { request } = await ask(gateway, {
        model: `${id}:m`,
        headers: { "X-One": "1", "X-Two": "2" },
        extra_headers: { "x-two": "two", "x-three": "3" },
      });
      expect([id, request!.headers]).toMatchObject([id, { "x-one": "1", "x-two": "two", "x-three": "3" }]);
    }
  });

  const FORBIDDEN = [
    "Authorization",
    "authorization",
    "AUTHORIZATION",
    "api-key",
    "x-api-key",
    "X-Api-Key",
    "x-goog-api-key",
    "X-Goog-User-Project",
    "x-amz-date",
    "X-Amz-Security-Token",
    "OpenAI-Organization",
    "openai-project",
    "Host",
    "Cookie",
    "Content-Length",
    "Connection",
    "Keep-Alive",
    "Proxy-Authorization",
    "Proxy-Authenticate",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
  ];
  for (const field of ["headers", "extra_headers"]) {
    test(`[d2.10] ${field} cannot set credentials, cloud signatures, framing or hop-by-hop names`, async () => {
      for (const name of FORBIDDEN)
        for (const model of FAMILIES)
          expect([name, (await ask(gateway, { model, [field]: { "x-a": "1", [name]: "x" } })).outcome]).toEqual([
            name,
            `400 header_not_allowed ${field}.${name}`,
          ]);
    });

    test(`[d2.10] ${field} loses no name, not even one that every JavaScript object has`, async () => {
      for (const name of ["__proto__", "constructor"]) {
        const { request } = await ask(
          gateway,
          `{"model":"openai:gpt-4o","messages":[{"role":"user","content":"x"}],"${field}":{"${name}":"x"}}`,
        );
        expect(Object.entries(request!.headers)).toContainEqual([name, "x"]);
      }
    });

    test(`[d2.10] a line break or an invalid header name in ${field} is answered with 400`, async () => {
      for (const value of ["a\r\nauthorization: x", "a\nb", "a\rb", "a\0b", "ü", "\u{1F600}", 5, true, ["x"], {}])
        expect([value, (await ask(gateway, { [field]: { "x-a": value } })).outcome]).toEqual([
          value,
          `400 invalid_request ${field}.x-a`,
        ]);
      for (const name of ["", "a b", "a\r\nb", "a:b", "größe", "x".repeat(257), "(a)"])
        expect([name, (await ask(gateway, { [field]: { [name]: "x" } })).outcome]).toEqual([
          name,
          `400 invalid_request ${field}.${name}`,
        ]);
      for (const value of ["x", 5, [], true])
        expect((await ask(gateway, { [field]: value })).outcome).toBe(`400 invalid_request ${field}`);
    });
  }

  test("[d2.10] the headers of a tool are checked like those of the call", async () => {
    for (const tool of [
      { type: "mcp", server_label: "files" },
      { type: "function", function: { name: "f" } },
    ]) {
      const outcomeWith = async (headers: unknown): Promise<string> =>
        (await ask(gateway, { tools: [{ ...tool, headers }] })).outcome;
      for (const name of FORBIDDEN)
        expect([name, await outcomeWith({ [name]: "x" })]).toEqual([
          name,
          `400 header_not_allowed tools[0].headers.${name}`,
        ]);
      expect(await outcomeWith({ "x-a": "a\r\nb" })).toBe("400 invalid_request tools[0].headers.x-a");
    }
  });

  test("[d2.10] the client's own HTTP headers go on where the provider's row lists them, and the request's value for the same name wins", async () => {
    const listed = REMOTE.filter(({ clientHeaders }) => clientHeaders.length > 0);
    expect(Object.fromEntries(listed.map(({ id, clientHeaders }) => [id, clientHeaders]))).toEqual({
      anthropic: ["anthropic-beta"],
      azure: ["openai-beta"],
      openai: ["openai-beta"],
    });
    for (const { id, clientHeaders } of listed)
      for (const name of clientHeaders) {
        const headersWith = async (body: object, value: string): Promise<string | undefined> =>
          (await ask(gateway, { model: `${id}:m`, ...body }, { [name]: value })).request!.headers[name];
        expect([
          id,
          await headersWith({}, "one-2025, two"),
          await headersWith({ extra_headers: { [name]: "mine" } }, "one-2025"),
        ]).toEqual([id, expect.stringMatching(/^one-2025, ?two$/), "mine"]);
        expect([id, await headersWith({}, "x".repeat(9000)), await headersWith({}, "a\u00e4")]).toEqual([
          id,
          undefined,
          undefined,
        ]);
      }
  });

  test("[d2.10] no other header of the client is forwarded", async () => {
    const own = {
      cookie: "session=canary",
      "x-custom": "canary",
      "openai-organization": "canary",
      "x-api-key": "canary",
      "user-agent": "canary",
      "x-forwarded-for": "canary",
      "anthropic-beta": "canary",
      "x-stainless-lang": "canary",
      "x-request-id": "canary",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "x-gateway-project-id": "default",
      referer: "canary",
      origin: "https://canary.example",
      accept: "canary",
      "accept-language": "canary",
    };
    for (const { id } of REMOTE) {
      const without = await ask(gateway, { model: `${id}:m` });
      const { clientHeaders } = providers.get(id)!;
      const { request } = await ask(
        gateway,
        { model: `${id}:m` },
        Object.fromEntries(Object.entries(own).filter(([name]) => !clientHeaders.includes(name))),
      );
      expect([id, request]).toEqual([id, without.request!]);
    }
  });
});

/** The options of the call beside the request, above all the address to connect to. */
function watchedUpstream(): { readonly client: UpstreamClient; readonly calls: UpstreamCall[] } {
  const calls: UpstreamCall[] = [];
  const inner = cannedUpstream({ body: JSON.stringify(openaiAnswer()) });
  return {
    calls,
    client: {
      send(request, call) {
        calls.push(call);
        return inner.send(request, call);
      },
    },
  };
}

describe("addresses of the request", () => {
  const publicOnly = answeringGateway({ snapshot: { allowPrivateAddresses: false } });
  const outcomeAt = async (stub: typeof gateway, base_url: string): Promise<string> =>
    (await ask(stub, { model: "custom:m", api_key: "k", base_url })).outcome;

  test("[d2.12] a private address is refused in every spelling unless the operator allows it, and nothing is sent", async () => {
    for (const host of [
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f000001",
      "0177.0.0.1",
      "10.0.0.1",
      "172.16.0.1",
      "192.168.1.1",
      "169.254.1.1",
      "100.64.0.1",
      "0.0.0.0",
      "[::1]",
      "[fd00::1]",
      "[fe80::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "localhost",
    ]) {
      const before = publicOnly.sent.length;
      expect([host, await outcomeAt(publicOnly, `http://${host}:8080/v1`), publicOnly.sent.length]).toEqual([
        host,
        "400 address_not_allowed base_url",
        before,
      ]);
    }
    for (const host of ["127.0.0.1", "10.0.0.1", "[::1]", "localhost"])
      expect([host, await outcomeAt(gateway, `http://${host}:8080/v1`)]).toEqual([host, "200"]);
  });

  test("[d2.12] a metadata address is refused also where private ones are allowed", async () => {
    for (const host of [
      "169.254.169.254",
      "2852039166",
      "[::ffff:169.254.169.254]",
      "[fd00:ec2::254]",
      "100.100.100.200",
      "168.63.129.16",
      "metadata.google.internal",
      "METADATA.google.internal.",
    ])
      expect([host, await outcomeAt(gateway, `http://${host}/v1`)]).toEqual([host, "400 address_not_allowed base_url"]);
  });

  test("[d2.12] a row's own address is checked where the operator has not configured the provider, and called unchecked where the operator has", async () => {
    const local = REMOTE.filter(
      ({ baseUrl }) => baseUrl !== null && ["127.0.0.1", "localhost"].includes(new URL(baseUrl).hostname),
    );
    expect(local.length).toBeGreaterThan(3);
    const compiled = (text: string, variables: Record<string, string> = {}) =>
      compileProviders(
        parseConfiguration({
          file: "f",
          text,
          families: [...providers.values()],
          environment: { get: () => undefined },
        }).providers,
        [...providers.values()],
        { get: (name) => variables[name] },
      ).providers;
    const stub = (all: ReadonlyMap<string, ProviderSettings>) =>
      answeringGateway({ providers: [...all.values()], snapshot: { allowPrivateAddresses: false } });
    const named = compiled(`providers:\n${local.map(({ id }) => `  ${id}: {}\n`).join("")}`);
    const untouched = compiled("");
    const switchedOff = compiled(`providers:\n${local.map(({ id }) => `  ${id}: { enabled: false }\n`).join("")}`);
    for (const { id, baseUrl, baseUrlVariables } of local) {
      for (const all of [untouched, switchedOff]) {
        const refused = stub(all);
        expect([id, (await ask(refused, { model: `${id}:m`, api_key: "k" })).outcome, refused.sent.length]).toEqual([
          id,
          "400 address_not_allowed model",
          0,
        ]);
      }
      expect([id, (await ask(stub(named), { model: `${id}:m`, api_key: "k" })).outcome]).toEqual([id, "200"]);
      for (const variable of baseUrlVariables)
        expect([
          id,
          (await ask(stub(compiled("", { [variable]: baseUrl! })), { model: `${id}:m`, api_key: "k" })).outcome,
        ]).toEqual([id, "200"]);
    }
  });

  test("[d2.12] only absolute http and https addresses without user, query and fragment are accepted", async () => {
    for (const address of [
      "ftp://models.example/v1",
      "file:///etc/passwd",
      "ws://models.example",
      "javascript:alert(1)",
      "data:,x",
      "sandbox://here",
      "models.example/v1",
      "/v1",
      "",
      "http://",
      "https://user:secret@models.example/v1",
      "https://models.example/v1?x=1",
      "https://models.example/v1#x",
    ])
      expect([address, await outcomeAt(gateway, address)]).toEqual([address, "400 invalid_request base_url"]);
  });

  test("[d2.12] the address is looked up once and the call goes to exactly the address that was checked; an address of the file is called as it is", async () => {
    const { client, calls } = watchedUpstream();
    const stub = answeringGateway({ upstream: client });
    const { request } = await ask(stub, { model: "custom:m", base_url: "http://LOCALHOST:8080/v1/" });
    expect([request!.url, calls.at(-1)!.pinnedAddress]).toEqual([
      "http://localhost:8080/v1/chat/completions",
      "127.0.0.1",
    ]);
    await ask(stub, { model: MODELS.openai });
    expect(calls.at(-1)!.pinnedAddress).toBeUndefined();
  });

  test("[d2.12] a redirect is an error and is not followed", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const stub = answeringGateway({
        upstream: cannedUpstream({ status, headers: { location: "http://169.254.169.254/" }, body: "" }),
      });
      expect((await ask(stub, { model: "custom:m", base_url: OWN })).outcome).toBe(
        "502 upstream_invalid_response null",
      );
      expect(stub.sent.length).toBe(1);
    }
  });

  test("[d1.8] a path segment of dots alone would climb the path, and is not accepted", async () => {
    for (const name of ["api_version", "aws_region_name", "vertex_project", "vertex_location"])
      for (const value of [".", "..", "..."])
        expect([name, value, (await ask(gateway, { [name]: value })).outcome]).toEqual([
          name,
          value,
          `400 invalid_request ${name}`,
        ]);
  });

  test("[d1.8] api_version and model cannot change the address", async () => {
    for (const api_version of ["../../x", "v1/evil", "v1?x", "v1#", "", "a b", "x".repeat(129), "ü"])
      expect([api_version, (await ask(gateway, { model: MODELS.gemini, api_version })).outcome]).toEqual([
        api_version,
        "400 invalid_request api_version",
      ]);
    for (const model of [
      "gemini:../../x",
      "gemini:a..b",
      "gemini:a?b",
      "gemini:a#b",
      "gemini:a b",
      "gemini:ü",
      `gemini:${"x".repeat(257)}`,
      "gemini:a\r\nb",
    ])
      expect([model, (await ask(gateway, { model })).outcome]).toEqual([model, "400 invalid_request model"]);
    for (const model of ["gemini:a/b:c", "gemini:a%2e%2e%2fb", "gemini:a@b", "gemini:a\\b"]) {
      const { pathname, host, search } = new URL((await ask(gateway, { model })).request!.url);
      expect([host, search]).toEqual(["generativelanguage.googleapis.com", ""]);
      expect(decodeURIComponent(pathname)).toBe(`/v1beta/models/${model.slice("gemini:".length)}:generateContent`);
    }
  });

  test("[d1.8] [d2.9] a region is one label of the host name: with a dot it would name another host, which anyone could own", async () => {
    const regional = REMOTE.filter(
      ({ baseUrl, settings }) =>
        baseUrl?.includes("{region}") === true && settings.some(({ field }) => field === "aws_region_name"),
    );
    expect(regional.map(({ id }) => id).toSorted()).toEqual(["bedrock", "bedrock-mantle", "sagemaker"]);
    const unfilled = answeringGateway({
      providers: regional.map(({ id, baseUrl, credentials }) =>
        providerSettings({
          id,
          baseUrl,
          credentials: [
            credentials.includes("key")
              ? storedKey("stored-key")
              : {
                  kind: "aws_keys",
                  accessKeyId: "a",
                  secretAccessKey: "b",
                  sessionToken: null,
                  weight: 1,
                  fromCaller: false,
                },
          ],
        }),
      ),
    });
    for (const { id } of regional) {
      for (const aws_region_name of ["s3.us-east-1", "evil-1.us-east-1.elb", "a.", ".a"])
        expect([id, (await ask(unfilled, { model: `${id}:m`, aws_region_name })).outcome]).toEqual([
          id,
          "400 invalid_request aws_region_name",
        ]);
      expect(
        new URL((await ask(unfilled, { model: `${id}:m`, aws_region_name: "eu-west-3" })).request!.url).host,
      ).toContain(".eu-west-3.");
    }
  });

  test("[d1.8] a model's name contains no path segment that an address would drop", async () => {
    for (const name of [".", "./a", "a/.", "a/./b", "deployment/."])
      for (const id of ["bedrock", "watsonx", "sagemaker", "replicate"])
        expect([id, name, (await ask(gateway, { model: `${id}:${name}` })).outcome]).toEqual([
          id,
          name,
          "400 invalid_request model",
        ]);
    expect((await ask(gateway, { model: "replicate:.a/b." })).outcome).not.toContain("400");
  });
});

describe("over the real process", () => {
  let upstream: FakeUpstream;
  let strict: GatewayProcess;
  let open: GatewayProcess;
  let strictToken: string;
  let openToken: string;
  beforeAll(async () => {
    upstream = startUpstream(({ path }) =>
      path.startsWith("/redirect")
        ? new Response(null, { status: 307, headers: { location: `${upstream.url}/v1/chat/completions` } })
        : Response.json(openaiAnswer()),
    );
    const config = (own: string): string =>
      `providers:\n  ${own}\n  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: key-of-the-file}\n`;
    [strict, open] = await Promise.all([
      startGateway({ config: config("allow_private_addresses: false") }),
      startGateway({ config: config("allow_private_addresses: true") }),
    ]);
    [strictToken, openToken] = await Promise.all([
      strict.createToken("--permission", "byo_endpoint"),
      open.createToken("--permission", "byo_endpoint"),
    ]);
  });
  afterAll(async () => {
    await Promise.all([strict.stop(), open.stop()]);
    await upstream.stop();
  });

  const call = (gateway_: GatewayProcess, token: string, fields: object): Promise<Response> =>
    gateway_.chat(
      { model: "mine:m", messages: HELLO, ...fields },
      { token, headers: { cookie: "session=canary", "x-custom": "canary" } },
    );

  test("[d2.12] an address of the file may be private, with its own credential; the same address of a request is refused there", async () => {
    expect((await call(strict, strictToken, {})).status).toBe(200);
    expect(upstream.last().headers["authorization"]).toBe("Bearer key-of-the-file");
    const seen = upstream.seen.length;
    for (const base_url of [`${upstream.url}/v1`, upstream.url.replace("127.0.0.1", "localhost")])
      expect(await (await call(strict, strictToken, { base_url })).json()).toMatchObject({
        error: {
          code: "address_not_allowed",
          param: "base_url",
          message: expect.stringMatching(/^The host of `base_url` .*`providers\.allow_private_addresses: true`/),
        },
      });
    expect(upstream.seen.length).toBe(seen);
  });

  test("[d2.9] [d2.10] where private addresses are allowed the call arrives, with the caller's key or none, its headers and none of the client's", async () => {
    const byName = upstream.url.replace("127.0.0.1", "localhost");
    expect((await call(open, openToken, { base_url: `${byName}/v1`, extra_headers: { "x-extra": "1" } })).status).toBe(
      200,
    );
    const bare = upstream.last().headers;
    expect([bare["authorization"], bare["x-extra"], bare["cookie"], bare["x-custom"], bare["host"]]).toEqual([
      undefined,
      "1",
      undefined,
      undefined,
      new URL(byName).host,
    ]);
    expect(JSON.stringify(bare)).not.toContain("key-of-the-file");
    await call(open, openToken, { base_url: `${byName}/v1`, api_key: "sk-of-the-caller" });
    expect(upstream.last().headers["authorization"]).toBe("Bearer sk-of-the-caller");
  });

  test("[d2.12] a provider whose own address is on the gateway's machine is not called with an api_key unless the file names the address", async () => {
    const answer = await strict.chat({ model: "xinference:m", messages: HELLO, api_key: "k" }, { token: strictToken });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      {
        error: {
          code: "address_not_allowed",
          param: "model",
          message: expect.stringMatching(
            /^The host of the provider that `model` names .*`providers\.allow_private_addresses: true`/,
          ),
        },
      },
    ]);
  });

  test("[d2.12] a redirect is not followed", async () => {
    const seen = upstream.seen.length;
    const response = await call(open, openToken, { base_url: `${upstream.url}/redirect` });
    expect([response.status, upstream.seen.length]).toEqual([502, seen + 1]);
  });

  test("[d2.12] metadata addresses are refused here too, without a request", async () => {
    const response = await call(open, openToken, { base_url: "http://169.254.169.254/latest" });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      "address_not_allowed",
    ]);
  });
});

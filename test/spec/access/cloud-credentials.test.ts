// Promises 2.9 and 7.8 for clouds: where stored key pairs and tokens are sent, which credential takes precedence when a request brings its own, and to whom a refusal is reported.
import { describe, expect, test } from "bun:test";
import type { StoredCredential } from "../../../src/core/configured/credential.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { cannedUpstream, type CannedAnswer } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { entraClient, iamKey, plainKey, PRIVATE_KEY, serviceAccount } from "../../credentials/lending.ts";
import { ask } from "../chat-calls.ts";
import { cloudGateway } from "../made-up-cloud.ts";

const PAIR: StoredCredential = {
  kind: "aws_keys",
  accessKeyId: "AKIASTORED012345",
  secretAccessKey: "stored-half-0123456789",
  sessionToken: null,
  weight: 1,
  fromCaller: false,
};
const STORED: Readonly<Record<string, StoredCredential>> = {
  key: plainKey("stored-key-0123456789"),
  pair: PAIR,
  account: serviceAccount("https://tokens.example/google"),
  application: entraClient("https://tokens.example/entra"),
  exchanged: iamKey("https://tokens.example/iam"),
};
const CALLERS_PAIR = {
  aws_access_key_id: "AKIACALLER012345",
  aws_secret_access_key: "callers-half-0123456789",
  aws_session_token: "callers-session-0123",
};
const ACCOUNT = {
  type: "service_account",
  client_email: "robot@caller.example",
  private_key: PRIVATE_KEY,
  token_uri: "https://evil.example/token",
};

/** Answers every token request with a token, and every other request with an answer. */
function service(answer: CannedAnswer = { body: JSON.stringify(openaiAnswer()) }): UpstreamClient {
  let tokens = 0;
  return cannedUpstream(({ url }) =>
    url.includes("cloud.example") || url.startsWith("http://127.0.0.1:9/")
      ? answer
      : { body: JSON.stringify({ access_token: `made-token-${++tokens}-0123456789`, expires_in: 3600 }) },
  );
}
const withOf = (headers: Readonly<Record<string, string>>): Record<string, unknown> =>
  JSON.parse(headers["x-called-with"] ?? "null") as Record<string, unknown>;
const model = (name: string): string => (name === "exchanged" ? "exchanging:m" : "cloud:m");

describe("a stored credential of a cloud", () => {
  test.each(Object.entries(STORED))(
    "[d2.9] (%s) goes to the configured address, and never to an address of the request",
    async (name, stored) => {
      const stub = cloudGateway([stored], { upstream: service() });
      const own = await ask(stub, { model: model(name) });
      expect([own.outcome, own.request!.url]).toEqual(["200", "https://west.cloud.example/v1/chat/completions"]);
      expect(own.request!.headers).toHaveProperty("x-called-with");
      const before = stub.sent.length;
      for (const field of ["base_url", "api_base"]) {
        const elsewhere = await ask(stub, { model: model(name), [field]: "http://127.0.0.1:9/v1" });
        expect([elsewhere.outcome, elsewhere.request!.headers["x-called-with"]]).toEqual(["200", undefined]);
      }
      // no token is asked for either
      expect(stub.sent.slice(before).map(({ url }) => url)).toEqual(
        Array<string>(2).fill("http://127.0.0.1:9/v1/chat/completions"),
      );
    },
  );

  test.each(Object.entries(STORED))("[d2.9] (%s) gives way to a credential of the request", async (name, stored) => {
    const stub = cloudGateway([stored], { upstream: service() });
    const { request } = await ask(stub, { model: "cloud:m", api_key: "callers-key-0123456789" });
    expect(withOf(request!.headers)).toEqual({ kind: "key", secret: "callers-key-0123456789", fromCaller: true });
    expect([name, stub.sent.length]).toEqual([name, 1]);
  });
});

describe("a credential that the request brings", () => {
  test("[d2.9] goes to the address of the request; a key pair takes precedence over an api_key beside it", async () => {
    for (const place of [{}, { base_url: "http://127.0.0.1:9/v1" }]) {
      const { request, outcome } = await ask(cloudGateway([PAIR]), {
        model: "cloud:m",
        api_key: "callers-key-0123456789",
        ...CALLERS_PAIR,
        ...place,
      });
      expect(outcome).toBe("200");
      expect(withOf(request!.headers)).toEqual({
        kind: "aws",
        secret: "callers-half-0123456789",
        accessKeyId: "AKIACALLER012345",
        sessionToken: "callers-session-0123",
        fromCaller: true,
      });
      expect(request!.body).not.toMatch(/AKIA|callers-/);
    }
  });

  test("[d2.9] as a service account is exchanged at Google's own address, whatever its file names", async () => {
    const stub = cloudGateway([], { upstream: service() });
    const { request } = await ask(stub, { model: "cloud:m", vertex_credentials: JSON.stringify(ACCOUNT) });
    expect(stub.sent.map(({ url }) => new URL(url).host)).toEqual(["oauth2.googleapis.com", "west.cloud.example"]);
    expect(withOf(request!.headers)).toEqual({ kind: "token", secret: "made-token-1-0123456789", fromCaller: true });
  });

  test("[d2.9] as a bare key is exchanged at the vendor's own address where the provider exchanges keys", async () => {
    const stub = cloudGateway([STORED["exchanged"]!], { upstream: service() });
    await ask(stub, { model: "exchanging:m", api_key: "callers-key-0123456789" });
    expect(stub.sent.map(({ url }) => new URL(url).host)).toEqual(["iam.cloud.ibm.com", "west.cloud.example"]);
    expect(withOf(stub.sent[1]!.headers)).toMatchObject({ secret: "made-token-1-0123456789", fromCaller: true });
  });

  test("[d2.9] as a file of another type, or with an invalid key, is refused before anything is sent", async () => {
    for (const file of [
      { ...ACCOUNT, type: "external_account", credential_source: { url: "http://169.254.169.254/" } },
      { ...ACCOUNT, type: "authorized_user" },
      { ...ACCOUNT, private_key: "garbage" },
    ]) {
      const stub = cloudGateway([], { upstream: service() });
      expect((await ask(stub, { model: "cloud:m", vertex_credentials: file })).outcome).toBe(
        "400 invalid_request vertex_credentials",
      );
      expect(stub.sent).toEqual([]);
    }
    const stub = cloudGateway([], { upstream: service() });
    const unreadable = await ask(stub, {
      model: "cloud:m",
      vertex_credentials: {
        ...ACCOUNT,
        private_key: "-----BEGIN PRIVATE KEY-----\ngarbage\n-----END PRIVATE KEY-----",
      },
    });
    expect([unreadable.outcome, unreadable.text.includes("garbage"), stub.sent]).toEqual([
      "401 credential_rejected null",
      false,
      [],
    ]);
  });
});

describe("a refusal", () => {
  const refusing = (status: number): UpstreamClient =>
    service({
      status,
      body: JSON.stringify({
        error: { message: "no", type: "x", code: status === 429 ? "insufficient_quota" : "invalid_api_key" },
      }),
    });

  test("[d7.8] of the gateway's own credential makes it unused for a time, once, and fetches a new token", async () => {
    const stub = cloudGateway([STORED["account"]!], { upstream: refusing(401) });
    for (let call = 0; call < 3; call++)
      expect((await ask(stub, { model: "cloud:m" })).outcome).toBe("502 upstream_authentication null");
    expect(stub.sent.filter(({ url }) => url.includes("tokens.example"))).toHaveLength(3);
    expect(stub.refused).toEqual([
      {
        providerId: "cloud",
        kind: "google_service_account",
        lastFour: "e1f0",
        reason: "authentication",
        forMs: 600_000,
      },
    ]);
  });

  test("[d7.8] for quota makes it unused for a shorter time, and the next credential is used, by the same call too", async () => {
    const [first, second] = [plainKey("first-key-0123456789"), plainKey("second-key-0123456789")];
    const stub = cloudGateway([first, second], {
      upstream: cannedUpstream(({ headers }) =>
        headers["x-called-with"]!.includes("first")
          ? {
              status: 429,
              body: JSON.stringify({
                error: { message: "no", type: "insufficient_quota", code: "insufficient_quota" },
              }),
            }
          : { body: JSON.stringify(openaiAnswer()) },
      ),
    });
    const outcomes: string[] = [];
    for (let call = 0; call < 5; call++) outcomes.push((await ask(stub, { model: "cloud:m" })).outcome);
    expect(outcomes).toEqual(["200", "200", "200", "200", "200"]);
    const isOfFirst = stub.sent.map(({ headers }) => headers["x-called-with"]!.includes("first"));
    // the first call has found it out, and has gone on with the second key
    expect(isOfFirst).toEqual([true, false, false, false, false, false]);
    expect(stub.refused).toMatchObject([{ reason: "quota", forMs: 300_000 }]);
  });

  test("[d7.8] inside a success has the same effect", async () => {
    const stub = cloudGateway([PAIR], {
      upstream: service({ body: JSON.stringify({ error: { message: "no", type: "x", code: "invalid_api_key" } }) }),
    });
    expect((await ask(stub, { model: "cloud:m" })).outcome).toBe("502 upstream_authentication null");
    expect(stub.refused).toMatchObject([{ kind: "aws_keys", lastFour: "2345", reason: "authentication" }]);
  });

  test("[d7.8] of the caller's credential is reported to the caller, and affects no stored credential", async () => {
    const stub = cloudGateway([PAIR], { upstream: refusing(401) });
    expect((await ask(stub, { model: "cloud:m", ...CALLERS_PAIR })).outcome).toBe("401 credential_rejected null");
    expect(stub.refused).toEqual([]);
  });
});

describe("without a credential", () => {
  test("a cloud is not called at its own address, and the message names the settings that are missing", async () => {
    const { outcome, error, request } = await ask(cloudGateway([]), { model: "cloud:m" });
    expect([outcome, request]).toEqual(["404 model_not_found model", null]);
    expect(error!.message).toBe(
      'The provider "cloud" has no credential: set CLOUD_KEY, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or GOOGLE_APPLICATION_CREDENTIALS, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET in the environment of the gateway, or providers.cloud.api_key or providers.cloud.aws or providers.cloud.google or providers.cloud.entra in the file.',
    );
  });
});

// Every form of credential, over real sockets: requests to the token service, files, libraries, and what cannot be
// used.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importSPKI, jwtVerify } from "jose";
import { googleServiceAccount, type StoredCredential } from "../../src/core/configured/credential.ts";
import type { GoogleAuthLibrary } from "../../src/credentials/google.ts";
import { startUpstream } from "../harness/servers/upstream.ts";
import {
  CALLERS,
  entraClient,
  lending,
  OPERATORS,
  PRIVATE_KEY,
  PRIVATE_KEY_ID,
  PUBLIC_KEY,
  serviceAccount,
  START_MS,
  wordsOf,
} from "./lending.ts";

const service = startUpstream(() =>
  Response.json({ access_token: "token-0123456789", expires_in: 3599, token_type: "Bearer" }),
);
const elsewhere = startUpstream(() => Response.json({ access_token: "stolen" }));
const folder = mkdtempSync(join(tmpdir(), "credentials-"));
afterAll(async () => {
  await service.stop();
  await elsewhere.stop();
  rmSync(folder, { recursive: true });
});
let before = 0;
beforeEach(() => {
  before = service.seen.length;
});

const form = (): Record<string, string> => Object.fromEntries(new URLSearchParams(service.last().text));
const file = (content: unknown): string => {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};
const googleFile = (path: string): StoredCredential => ({
  kind: "google_file",
  path,
  tokenUrl: service.url,
  ...OPERATORS,
});
const ACCOUNT = {
  type: "service_account",
  client_email: "robot@project.iam.example",
  private_key: PRIVATE_KEY,
  private_key_id: PRIVATE_KEY_ID,
  token_uri: `${elsewhere.url}/token`,
};

async function assertion(): Promise<Record<string, unknown>> {
  const { grant_type, assertion: text } = form();
  expect(grant_type).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
  const { payload, protectedHeader } = await jwtVerify(text!, await importSPKI(PUBLIC_KEY, "RS256"), {
    currentDate: new Date(START_MS + 1000),
  });
  return { ...payload, header: protectedHeader };
}
const CLAIMS = {
  iss: "robot@project.iam.example",
  aud: "https://oauth2.googleapis.com/token",
  scope: "https://www.googleapis.com/auth/cloud-platform",
  iat: START_MS / 1000,
  exp: START_MS / 1000 + 3600,
  header: { alg: "RS256", typ: "JWT", kid: PRIVATE_KEY_ID },
};

describe("a service account of Google", () => {
  test("signs an assertion for Google alone, which goes to the operator's address", async () => {
    expect(await lending().lend(serviceAccount(service.url))).toEqual({
      kind: "token",
      secret: "token-0123456789",
      fromCaller: false,
    });
    expect(await assertion()).toEqual(CLAIMS);
  });

  test("may have its key in the older form", async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
    });
    expect(privateKey).toStartWith("-----BEGIN RSA PRIVATE KEY-----");
    expect((await lending().lend({ ...serviceAccount(service.url), privateKey })).secret).toBe("token-0123456789");
  });

  test("in a file is read when it is needed, and its token_uri is not followed", async () => {
    expect((await lending().lend(googleFile(file(ACCOUNT)))).secret).toBe("token-0123456789");
    expect(await assertion()).toEqual(CLAIMS);
    expect(elsewhere.seen).toEqual([]);
  });

  test.each<[string, string]>([
    ["garbage", "-----BEGIN PRIVATE KEY-----\nMIIEvgIBADANBgkqh\n-----END PRIVATE KEY-----\n"],
    ["nothing", "-----BEGIN PRIVATE KEY-----\n"],
    [
      "a key that signs otherwise",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }),
    ],
    [
      "a key that is too short",
      generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ type: "pkcs8", format: "pem" }),
    ],
  ])("whose key is %s is refused without a word of the key, the operator's and the caller's", async (_, privateKey) => {
    const operators = await lending().fault({ ...serviceAccount(service.url), privateKey });
    expect([operators.code, operators.detail]).toEqual([
      "upstream_authentication",
      expect.stringMatching(
        /^the private_key of the service account (cannot be read|is not an RSA key of 2048 to 4096 bits)$/,
      ),
    ]);
    const callers = await lending().fault({
      ...serviceAccount("https://oauth2.googleapis.com/token"),
      privateKey,
      ...CALLERS,
    });
    expect([callers.code, callers.detail]).toEqual(["credential_rejected", null]);
    for (const error of [operators, callers])
      expect(wordsOf(error)).not.toContain(privateKey.split("\n")[1] || "BEGIN");
    expect(service.seen.length).toBe(before);
  });

  test("of a caller is used without the addresses in its file, and only of this type", () => {
    const parsed = googleServiceAccount({ ...ACCOUNT, auth_uri: elsewhere.url, universe_domain: "evil.example" });
    expect(parsed).toEqual({
      kind: "google_service_account",
      clientEmail: ACCOUNT.client_email,
      privateKey: PRIVATE_KEY,
      privateKeyId: PRIVATE_KEY_ID,
      tokenUrl: "https://oauth2.googleapis.com/token",
    });
    for (const type of ["external_account", "authorized_user", "impersonated_service_account", "", undefined])
      expect(googleServiceAccount({ ...ACCOUNT, ...(type === undefined ? { type: null } : { type }) })).toBeString();
    expect(googleServiceAccount({ ...ACCOUNT, private_key: "x".repeat(20_000) })).toBeString();
    expect(
      googleServiceAccount({ ...ACCOUNT, private_key: `-----BEGIN PRIVATE KEY-----\n${"x".repeat(20_000)}` }),
    ).toBeString();
  });
});

describe("a credentials file of Google", () => {
  test("of a developer's login is a refresh token", async () => {
    expect(
      (
        await lending().lend(
          googleFile(
            file({
              type: "authorized_user",
              client_id: "id",
              client_secret: "secret-0123456789",
              refresh_token: "refresh-0123456789",
            }),
          ),
        )
      ).secret,
    ).toBe("token-0123456789");
    expect(form()).toEqual({
      grant_type: "refresh_token",
      client_id: "id",
      client_secret: "secret-0123456789",
      refresh_token: "refresh-0123456789",
    });
  });

  test.each<[string, () => string, RegExp]>([
    ["is not there", () => join(folder, "gone.json"), /^the file .*gone\.json cannot be read \(ENOENT\)$/],
    ["is a folder", () => folder, /is not a file$/],
    [
      "is no JSON",
      () => file("private-words"),
      /cannot be used: expected a JSON object with a type, such as service_account$/,
    ],
    ["has no type", () => file({ private_key: "private-words" }), /expected a JSON object with a type/],
    [
      "has no key",
      () => file({ ...ACCOUNT, private_key: undefined }),
      /cannot be used: expected a key file with private_key, in PEM$/,
    ],
    [
      "has no PEM",
      () => file({ ...ACCOUNT, private_key: "private-words" }),
      /expected a key file with private_key, in PEM$/,
    ],
    [
      "lacks its refresh token",
      () => file({ type: "authorized_user", client_id: "id", client_secret: "private-words" }),
      /an authorized_user needs client_id, client_secret and refresh_token$/,
    ],
    ["is too large", () => file(" ".repeat(70_000)), /is larger than 65536 bytes$/],
  ])("that %s is told to the operator with its path, and to the client without", async (_, path, detail) => {
    const at = path();
    const error = await lending().fault(googleFile(at));
    expect([error.code, error.detail]).toEqual(["upstream_authentication", expect.stringMatching(detail)]);
    expect(error.message).not.toContain(folder);
    expect(wordsOf(error)).not.toContain("private-words");
    expect(service.seen.length).toBe(before);
  });

  test("is reread at each exchange: it works as soon as it exists", async () => {
    const path = join(folder, "late.json");
    const of = lending();
    await of.fault(googleFile(path));
    writeFileSync(path, JSON.stringify(ACCOUNT));
    of.clock.pass(1001);
    expect((await of.lend(googleFile(path))).secret).toBe("token-0123456789");
  });
});

function library(asked: unknown[], token: string | null = "library-token-0123"): () => Promise<GoogleAuthLibrary> {
  return () =>
    Promise.resolve({
      GoogleAuth: class {
        constructor(options: object) {
          asked.push(options);
        }
        getClient() {
          return Promise.resolve({
            getAccessToken: () => Promise.resolve({ token }),
            credentials: { expiry_date: START_MS + 60_000 },
          });
        }
      },
    });
}

describe("google-auth-library", () => {
  const SCOPES = { scopes: ["https://www.googleapis.com/auth/cloud-platform"] };

  test("gives application default credentials, and is called again when its token ends", async () => {
    const asked: unknown[] = [];
    const of = lending({ googleAuth: library(asked) });
    expect((await of.lend({ kind: "google_default", ...OPERATORS })).secret).toBe("library-token-0123");
    await of.lend({ kind: "google_default", ...OPERATORS });
    expect(asked).toEqual([SCOPES]);
    of.clock.pass(60_001);
    await of.lend({ kind: "google_default", ...OPERATORS });
    expect(asked).toHaveLength(2);
  });

  test("reads files of types that only it understands, of operators", async () => {
    const asked: unknown[] = [];
    const path = file({
      type: "external_account",
      token_url: elsewhere.url,
      credential_source: { file: "/etc/passwd" },
    });
    expect((await lending({ googleAuth: library(asked) }).lend(googleFile(path))).secret).toBe("library-token-0123");
    expect(asked).toEqual([{ ...SCOPES, keyFilename: path }]);
    expect(elsewhere.seen).toEqual([]);
  });

  test("that is not installed is reported with its cure, to the client as well", async () => {
    const error = await lending({ googleAuth: () => Promise.reject(new Error("Cannot find package")) }).fault({
      kind: "google_default",
      ...OPERATORS,
    });
    expect([error.code, error.message]).toEqual([
      "upstream_authentication",
      expect.stringContaining("npm install google-auth-library"),
    ]);
  });

  test("that fails, gives nothing, or never answers, fails the call in time", async () => {
    const failing: GoogleAuthLibrary = {
      GoogleAuth: class {
        getClient = () => Promise.reject(new Error("Could not load the default credentials."));
      },
    };
    expect(
      (await lending({ googleAuth: () => Promise.resolve(failing) }).fault({ kind: "google_default", ...OPERATORS }))
        .detail,
    ).toBe("Could not load the default credentials.");
    expect(
      (await lending({ googleAuth: library([], null) }).fault({ kind: "google_default", ...OPERATORS })).detail,
    ).toBe("google-auth-library gave no token");
    const silent: GoogleAuthLibrary = {
      GoogleAuth: class {
        getClient = () => new Promise<never>(() => {});
      },
    };
    expect(
      (
        await lending({ googleAuth: () => Promise.resolve(silent), exchangeTimeoutMs: 30 }).fault({
          kind: "google_default",
          ...OPERATORS,
        })
      ).detail,
    ).toBe("no credential was obtained within 0.03 s");
  });

  test("is the real one where a configuration asks for it", async () => {
    const { importGoogleAuth } = await import("../../src/credentials/google.ts");
    expect(new (await importGoogleAuth()).GoogleAuth({ scopes: [] })).toHaveProperty("getClient");
  });
});

describe("Entra ID", () => {
  test("is called with an application's secret, which is never revealed", async () => {
    expect(await lending().lend(entraClient(service.url))).toEqual({
      kind: "token",
      secret: "token-0123456789",
      origin: ["client~secret_0123456789"],
      fromCaller: false,
    });
    expect(form()).toEqual({
      grant_type: "client_credentials",
      client_id: "c-1",
      client_secret: "client~secret_0123456789",
      scope: "https://scope.example/.default",
    });
  });

  const federated = (tokenFile: string): StoredCredential => ({
    kind: "entra_federated",
    tenantId: "t-1",
    clientId: "c-1",
    tokenFile,
    scope: "s",
    tokenUrl: service.url,
    ...OPERATORS,
  });

  test("is called with the assertion of a file, in its present content", async () => {
    const path = file("assertion-1\n");
    const of = lending();
    await of.lend(federated(path));
    expect(form()).toEqual({
      grant_type: "client_credentials",
      client_id: "c-1",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: "assertion-1",
      scope: "s",
    });
    writeFileSync(path, "assertion-2");
    of.clock.pass(3_600_000);
    await of.lend(federated(path));
    expect(form()["client_assertion"]).toBe("assertion-2");
  });

  test("reports that an assertion has expired: the operator sees it, the client does not", async () => {
    const refusing = startUpstream(() =>
      Response.json(
        {
          error: "invalid_client",
          error_description: "AADSTS700024: Client assertion assertion-0123456789 is not within its valid time range.",
        },
        { status: 401 },
      ),
    );
    const error = await lending().fault({
      ...federated(file("assertion-0123456789")),
      tokenUrl: refusing.url,
    } as StoredCredential);
    expect([error.code, error.detail]).toEqual([
      "upstream_authentication",
      "the token service answered 401: invalid_client: AADSTS700024: Client assertion [credential] is not within its valid time range.",
    ]);
    expect(error.message).not.toContain("AADSTS");
    await refusing.stop();
  });

  test("is not called without an assertion", async () => {
    expect((await lending().fault(federated(file("\n")))).detail).toEndWith(" is empty");
    expect(service.seen.length).toBe(before);
  });
});

describe("AWS's chain", () => {
  const chain: StoredCredential = { kind: "aws_chain", profile: null, ...OPERATORS };

  test("gives a key pair, which is looked up again before its end", async () => {
    const profiles: (string | null)[] = [];
    const of = lending({
      awsChain: (profile) => {
        profiles.push(profile);
        return Promise.resolve({
          accessKeyId: `AKIA-${profiles.length}`,
          secretAccessKey: "s",
          sessionToken: "t",
          expiration: new Date(START_MS + profiles.length * 3_600_000),
        });
      },
    });
    expect(await of.lend(chain)).toEqual({
      kind: "aws",
      secret: "s",
      accessKeyId: "AKIA-1",
      sessionToken: "t",
      fromCaller: false,
    });
    expect(await of.lend({ ...chain, profile: "other" })).toMatchObject({ accessKeyId: "AKIA-2" });
    of.clock.pass(3_600_000 - 299_000);
    await of.lend(chain);
    await Bun.sleep(1);
    expect(await of.lend(chain)).toMatchObject({ accessKeyId: "AKIA-3" });
    expect(profiles).toEqual([null, "other", null]);
  });

  test("that finds nothing is reported to the operator with the reason", async () => {
    const error = await lending({
      awsChain: () => Promise.reject(new Error("Could not load credentials from any providers")),
    }).fault(chain);
    expect([error.code, error.detail]).toEqual([
      "upstream_authentication",
      "the AWS credential chain found no credentials: Could not load credentials from any providers",
    ]);
  });

  test("is the vendor's library, which reads profiles", async () => {
    const { nodeChain } = await import("../../src/credentials/aws.ts");
    const shared = join(folder, "aws-credentials");
    writeFileSync(shared, "[mine]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = wJalrEXAMPLE\n");
    const { AWS_SHARED_CREDENTIALS_FILE: old } = process.env;
    process.env["AWS_SHARED_CREDENTIALS_FILE"] = shared;
    try {
      expect(await nodeChain("mine")).toMatchObject({ accessKeyId: "AKIAEXAMPLE", secretAccessKey: "wJalrEXAMPLE" });
    } finally {
      if (old === undefined) delete process.env["AWS_SHARED_CREDENTIALS_FILE"];
      else process.env["AWS_SHARED_CREDENTIALS_FILE"] = old;
    }
  });
});

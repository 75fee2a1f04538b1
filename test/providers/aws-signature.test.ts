// Signatures with AWS keys: against a signer of this test's own, written from AWS's page, and against the official vectors where
// they are. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Credential, Target } from "../../src/core/target.ts";
import {
  canonicalPath,
  canonicalQuery,
  canonicalRequest,
  signatureOf,
} from "../../src/providers/credentials/aws-signature.ts";
import { bedrock } from "../../src/providers/bedrock/provider.ts";
import type { UpstreamRequest } from "../../src/wire/upstream.ts";
import { encoded, refusalOf } from "../contract/providers/provider-requests.ts";
import { targetFor } from "../harness/targets.ts";
import { vectorsFolder } from "../traffic/cases.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 30, 15);
const PAIR: Credential = {
  kind: "aws",
  accessKeyId: "AKIDEXAMPLE",
  secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  fromCaller: false,
};
const TEMPORARY: Credential = { ...PAIR, sessionToken: "FwoGZXIvYXdzEXAMPLE//token+==" };
const FRANKFURT = { nowMs: NOW_MS, settings: { region: "eu-central-1" } };
const ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0";

function requestFor(model: string, overrides: Partial<Target> = {}): UpstreamRequest {
  const request = encoded(bedrock, {}, { model }).request;
  const { baseUrl } = targetFor(bedrock);
  return {
    ...request,
    url: request.url.replace(baseUrl, overrides.baseUrl ?? "https://bedrock-runtime.eu-central-1.amazonaws.com"),
  };
}

const hex = (text: string): string => createHash("sha256").update(text).digest("hex");
const keyed = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const encodedAgain = (path: string): string =>
  path
    .split("/")
    .map((segment) =>
      encodeURIComponent(segment).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join("/");

/** The header `authorization` as the page says how to make it. */
function expectedAuthorization(
  { url, headers, body }: UpstreamRequest,
  credential: Credential,
  region: string,
  time: string,
  service: string,
): string {
  const { host, pathname } = new URL(url);
  const signed: Record<string, string> = {
    host,
    "content-type": headers["content-type"]!,
    "x-amz-date": time,
    ...(credential.sessionToken !== undefined && { "x-amz-security-token": credential.sessionToken }),
  };
  const names = Object.keys(signed).toSorted();
  const canonical = [
    "POST",
    encodedAgain(pathname),
    "",
    ...names.map((name) => `${name}:${signed[name]}`),
    "",
    names.join(";"),
    hex(body),
  ].join("\n");
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = [time.slice(0, 8), region, service, "aws4_request"].reduce<string | Buffer>(
    (made, part) => keyed(made, part),
    `AWS4${credential.secret}`,
  );
  const signature = keyed(key, ["AWS4-HMAC-SHA256", time, scope, hex(canonical)].join("\n")).toString("hex");
  return `AWS4-HMAC-SHA256 Credential=${credential.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
}

const TIME = "20261120T123015Z";

describe("signatures with AWS keys", () => {
  test.each(["amazon.nova-lite-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ARN, "odd*model'(name)!/x"])(
    "match the vendor's page, for the model %s",
    async (model) => {
      for (const credential of [PAIR, TEMPORARY]) {
        const request = requestFor(model);
        const { headers, url, body } = await bedrock.sign(request, credential, FRANKFURT);
        expect([url, body]).toEqual([request.url, request.body]);
        expect(headers["authorization"]).toBe(
          expectedAuthorization(request, credential, "eu-central-1", TIME, "bedrock"),
        );
        expect([headers["x-amz-date"], headers["x-amz-security-token"]]).toEqual([TIME, credential.sessionToken!]);
      }
    },
  );
  test("encode an id in the path like AWS's clients", () => {
    expect(requestFor("amazon.nova-lite-v1:0").url).toEndWith("/model/amazon.nova-lite-v1%3A0/converse");
    expect(requestFor(ARN).url).toEndWith(
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    );
  });
  test("cover the session token", async () => {
    const { headers } = await bedrock.sign(requestFor("m"), TEMPORARY, FRANKFURT);
    const { headers: other } = await bedrock.sign(
      requestFor("m"),
      { ...TEMPORARY, sessionToken: "another" },
      FRANKFURT,
    );
    expect(headers["authorization"]).toContain("x-amz-security-token");
    expect(other["authorization"]).not.toBe(headers["authorization"]!);
    expect(headers["authorization"]).not.toContain(PAIR.secret);
  });
  test("are the same each time, change nothing of the request, and cover its headers", async () => {
    const request = requestFor("m");
    const before = structuredClone(request);
    const once = await bedrock.sign(request, TEMPORARY, FRANKFURT);
    expect(await bedrock.sign(request, TEMPORARY, FRANKFURT)).toEqual(once);
    expect(request).toEqual(before);
    expect(Object.keys(once.headers).toSorted()).toEqual([
      "authorization",
      "content-type",
      "x-amz-date",
      "x-amz-security-token",
      "x-of-caller",
    ]);
    expect(once.headers["x-of-caller"]).toBe("kept");
  });
  test("are the same whatever a proxy does to headers that are not AWS's", async () => {
    const request = requestFor("m");
    const plain = await bedrock.sign({ ...request, headers: { "content-type": "application/json" } }, PAIR, FRANKFURT);
    expect((await bedrock.sign(request, PAIR, FRANKFURT)).headers["authorization"]).toBe(
      plain.headers["authorization"],
    );
  });
  test("name the host with its port, as the driver sends it", async () => {
    const request = requestFor("m", { baseUrl: "http://127.0.0.1:9900/some/base" });
    expect((await bedrock.sign(request, PAIR, FRANKFURT)).headers["authorization"]).toBe(
      expectedAuthorization(request, PAIR, "eu-central-1", TIME, "bedrock"),
    );
  });
  test("take the region from the vendor's own host where none is set, and are refused where the host has none", async () => {
    const { headers } = await bedrock.sign(requestFor("m"), PAIR, { nowMs: NOW_MS, settings: {} });
    expect(headers["authorization"]).toContain("/eu-central-1/bedrock/aws4_request");
    const elsewhere = requestFor("m", { baseUrl: "https://proxy.example" });
    const refused = refusalOf(() => bedrock.sign(elsewhere, PAIR, { nowMs: NOW_MS, settings: {} }));
    expect([refused?.code, refused?.param]).toEqual(["invalid_request", "aws_region_name"]);
  });
  test("are not made for a Bedrock key, which is a bearer token", async () => {
    for (const kind of ["key", "token"] as const)
      expect(
        (await bedrock.sign(requestFor("m"), { kind, secret: "bedrock-api-key-x", fromCaller: false }, FRANKFURT))
          .headers["authorization"],
      ).toBe("Bearer bedrock-api-key-x");
  });
});

const folder = join(vectorsFolder, "sigv4");
const vectorsMissing = !existsSync(folder);
if (vectorsMissing) console.log("vectors/sigv4: not on this machine (DRAGOMAN_TRAFFIC), its tests are skipped");
interface Vector {
  readonly name: string;
  readonly "context.json": {
    readonly credentials: {
      readonly access_key_id: string;
      readonly secret_access_key: string;
      readonly token?: string;
    };
    readonly normalize: boolean;
    readonly region: string;
    readonly service: string;
    readonly sign_body: boolean;
    readonly timestamp: string;
    readonly omit_session_token?: boolean;
  };
  readonly "request.txt": string;
  readonly "header-signature.txt": string;
}

function parsedVector(text: string) {
  const [head = "", body = ""] = text.split(/\n\n(.*)/s);
  const [first, ...lines] = head.split("\n");
  const [, method, target] = /^(\S+) (.*) HTTP\/1\.1$/.exec(first!)!;
  const [path, search = ""] = target!.split(/\?(.*)/s);
  const headers: Record<string, string> = {};
  let last = "";
  for (const line of lines.filter((each) => each !== "")) {
    if (/^\s/.test(line)) {
      headers[last] += ` ${line.trim()}`;
      continue;
    }
    const [, name, value] = /^([^:]+):(.*)$/.exec(line)!;
    last = name!.toLowerCase();
    headers[last] = headers[last] === undefined ? value!.trim() : `${headers[last]},${value!.trim()}`;
  }
  const query = new URLSearchParams(search.replaceAll("+", "%2B"));
  return { method: method!, path: path!, query, headers, body };
}

describe.skipIf(vectorsMissing)("the vectors of AWS", () => {
  const vectors = vectorsMissing
    ? []
    : readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Vector);
  test("are 38", () => expect(vectors.length).toBe(38));
  // the gateway signs no path that has to stay as it is
  test.each(
    vectors.filter(({ "context.json": { normalize } }) => normalize).map((vector) => [vector.name, vector] as const),
  )("%s", (_, vector) => {
    const context = vector["context.json"];
    const { secret_access_key: secret, token } = context.credentials;
    const { method, path, query, headers, body } = parsedVector(vector["request.txt"]);
    const time = context.timestamp.replaceAll(/[:-]/g, "");
    const { text } = canonicalRequest({
      method,
      path: canonicalPath(path),
      query: canonicalQuery(query),
      headers: {
        ...headers,
        "x-amz-date": time,
        ...(token !== undefined && context.omit_session_token !== true && { "x-amz-security-token": token }),
        ...(context.sign_body && { "x-amz-content-sha256": hex(body) }),
      },
      body,
    });
    const { region, service } = context;
    expect(signatureOf(text, time, { date: time.slice(0, 8), region, service }, secret)).toBe(
      vector["header-signature.txt"].trim(),
    );
  });
});

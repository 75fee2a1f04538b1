// Requests to clouds, seen by the server that is called: tokens of Google's, signatures of AWS's, and plain keys for
// both. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html,
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
import { describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import type { SeenRequest } from "../harness/servers/upstream.ts";
import { standingFamilyGateway } from "./operations/standing-family-gateway.ts";

const stage = standingFamilyGateway();

const VERTEX = "vertex:gemini-2.5-flash";
const BEDROCK = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const SAGEMAKER = "sagemaker:scripted-endpoint";

async function ask(model: string, content = "#text", more: object = {}): Promise<SeenRequest> {
  const response = await stage.gateway.chat({ model, messages: [{ role: "user", content }], ...more });
  await response.text();
  expect(response.status).toBe(content.startsWith("#fail") ? 502 : 200);
  return stage.upstream.last();
}

describe("Vertex AI", () => {
  test("one token is requested, used by every call, and requested again when it is refused", async () => {
    const first = await ask(VERTEX);
    expect(first.headers["authorization"]).toBe("Bearer token-of-vertex-1");
    const grant = new URLSearchParams(stage.tokens.last().text);
    expect(grant.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const claims = JSON.parse(Buffer.from(grant.get("assertion")!.split(".")[1]!, "base64url").toString()) as object;
    expect(claims).toMatchObject({
      iss: "gateway@scripted-project.iam.gserviceaccount.com",
      scope: expect.stringContaining("https://www.googleapis.com/auth/cloud-platform"),
    });
    expect((await ask(VERTEX, "#text", { stream: true })).headers["authorization"]).toBe("Bearer token-of-vertex-1");
    expect(stage.tokens.seen.length).toBe(1);
    await ask(VERTEX, "#fail-refused-key");
    expect((await ask(VERTEX)).headers["authorization"]).toMatch(/^Bearer token-of-vertex-[2-9]$/);
    expect(JSON.stringify(first.headers)).not.toContain("key-of");
  });

  test("a key has a header of its own, and no token is requested", async () => {
    const before = stage.tokens.seen.length;
    const { headers } = await ask("vertex-by-key:gemini-2.5-flash");
    expect([headers["x-goog-api-key"], headers["authorization"]]).toEqual(["key-of-vertex", undefined]);
    expect(stage.tokens.seen.length).toBe(before);
  });
});

describe("AWS", () => {
  const called = [
    [BEDROCK, "bedrock", {}],
    [BEDROCK, "bedrock", { stream: true }],
    [SAGEMAKER, "sagemaker", {}],
    [SAGEMAKER, "sagemaker", { stream: true }],
  ] as const;
  test.each([...called])(
    "%s: the signature is the one computed from the bytes and the key pair",
    async (model, service, how) => {
      const request = await ask(model, "#text", how);
      const { authorization } = request.headers;
      expect(authorization).toBe(signatureOf(request, service));
      expect(JSON.stringify(request.headers)).not.toContain(`secret-of-${service}`);
      // and not the one of other bytes
      expect(authorization).not.toBe(signatureOf({ ...request, text: `${request.text} ` }, service));
    },
  );

  test("a Bedrock key is a bearer token", async () => {
    expect((await ask("bedrock-by-key:us.anthropic.claude-sonnet-4-5-20250929-v1:0")).headers["authorization"]).toBe(
      "Bearer key-of-bedrock",
    );
  });
});

const hex = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** The value of `authorization` as AWS computes it of a request that has come, from the headers that it says are signed. */
function signatureOf({ path, headers, text }: SeenRequest, service: string): string {
  const signed = /SignedHeaders=([a-z0-9;-]+)/.exec(headers["authorization"]!)![1]!;
  expect(signed.split(";")).toEqual(expect.arrayContaining(["host", "x-amz-date"]));
  const time = headers["x-amz-date"]!;
  // every step of the path is encoded once more
  const steps = path.split("/").map(encodeURIComponent).join("/");
  const canonical = [
    "POST",
    steps,
    "",
    ...signed.split(";").map((name) => `${name}:${headers[name]!.trim()}`),
    "",
    signed,
    hex(text),
  ].join("\n");
  const scope = `${time.slice(0, 8)}/eu-central-1/${service}/aws4_request`;
  const key = ["eu-central-1", service, "aws4_request"].reduce(
    hmac,
    hmac(`AWS4secret-of-${service}`, time.slice(0, 8)),
  );
  const signature = hmac(key, ["AWS4-HMAC-SHA256", time, scope, hex(canonical)].join("\n")).toString("hex");
  return `AWS4-HMAC-SHA256 Credential=AKIASCRIPTED/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}

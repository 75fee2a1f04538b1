// Addresses of calls to Vertex AI: locations, projects, versions, calls with an API key alone; nothing in a request
// changes the host.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { vertex } from "../../../src/providers/vertex/provider.ts";
import { answeringGateway, ask } from "../../spec/chat-calls.ts";
import { keyCredential, providerSettings, SIGN_CONTEXT, storedKey } from "../../harness/targets.ts";
import { encode, refusalOf, TOKEN, urlOf } from "./calls.ts";

const REGION = "https://europe-west4-aiplatform.googleapis.com";
const at = (location: string): string => urlOf("gemini-2.5-flash", { settings: { project: "p1", location } });

describe("each form of model has its address", () => {
  test.each([
    [
      "gemini-2.5-flash",
      "v1beta1/projects/p1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent",
      ":streamGenerateContent?alt=sse",
    ],
    [
      "google/gemini-2.5-flash",
      "v1beta1/projects/p1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent",
      ":streamGenerateContent?alt=sse",
    ],
    [
      "publishers/google/models/gemini-2.5-flash",
      "v1beta1/projects/p1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent",
      ":streamGenerateContent?alt=sse",
    ],
    [
      "endpoints/1234567890",
      "v1beta1/projects/p1/locations/europe-west4/endpoints/1234567890:generateContent",
      ":streamGenerateContent?alt=sse",
    ],
    [
      "claude-haiku-4-5@20251001",
      "v1/projects/p1/locations/europe-west4/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict",
      ":streamRawPredict",
    ],
    [
      "anthropic/claude-opus-4-6",
      "v1/projects/p1/locations/europe-west4/publishers/anthropic/models/claude-opus-4-6:rawPredict",
      ":streamRawPredict",
    ],
    [
      "mistralai/mistral-medium-3",
      "v1/projects/p1/locations/europe-west4/publishers/mistralai/models/mistral-medium-3:rawPredict",
      ":streamRawPredict",
    ],
    [
      "codestral-2",
      "v1/projects/p1/locations/europe-west4/publishers/mistralai/models/codestral-2:rawPredict",
      ":streamRawPredict",
    ],
    [
      "meta/llama-4-maverick-17b-128e-instruct-maas",
      "v1/projects/p1/locations/europe-west4/endpoints/openapi/chat/completions",
      null,
    ],
    [
      "deepseek-ai/deepseek-v3.2-maas",
      "v1/projects/p1/locations/europe-west4/endpoints/openapi/chat/completions",
      null,
    ],
  ])("%s", (model, path, streamed) => {
    const whole = `${REGION}/${path}`;
    expect(urlOf(model)).toBe(whole);
    expect(urlOf(model, {}, { stream: true })).toBe(
      streamed === null ? whole : whole.replace(/:(generateContent|rawPredict)$/, streamed),
    );
  });
  test("locations: global, multi-regions, regions; unset is global, as in Google's own client", () => {
    expect(at("global")).toStartWith("https://aiplatform.googleapis.com/v1beta1/projects/p1/locations/global/");
    expect(at("us")).toStartWith("https://aiplatform.us.rep.googleapis.com/v1beta1/projects/p1/locations/us/");
    expect(at("eu")).toStartWith("https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p1/locations/eu/");
    expect(at("us-central1")).toStartWith(
      "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p1/locations/us-central1/",
    );
    expect(urlOf("gemini-2.5-flash", { settings: { project: "p1" } })).toStartWith(
      "https://aiplatform.googleapis.com/v1beta1/projects/p1/locations/global/",
    );
    expect(vertex.settings.find(({ name }) => name === "location")!.default).toBe("global");
  });
  test("the version is the setting's, else the base address's, else that of the vendor's client", () => {
    const settings = { project: "p1", location: "global", api_version: "v1" };
    expect(urlOf("gemini-2.5-flash", { settings })).toStartWith("https://aiplatform.googleapis.com/v1/projects/");
    expect(urlOf("claude-opus-4-6", { settings: { ...settings, api_version: "v1beta1" } })).toStartWith(
      "https://aiplatform.googleapis.com/v1beta1/projects/",
    );
    expect(urlOf("gemini-2.5-flash", { baseUrl: "https://proxy.test/google/v1" })).toStartWith(
      "https://proxy.test/google/v1/projects/p1/locations/europe-west4/",
    );
    expect(
      urlOf("gemini-2.5-flash", {
        baseUrl: "https://proxy.test/google/v1",
        settings: { ...settings, api_version: "v1beta1" },
      }),
    ).toStartWith("https://proxy.test/google/v1beta1/projects/");
  });
  test("a configured address stays, whatever the location", () => {
    for (const baseUrl of [
      "http://127.0.0.1:9/base",
      "https://proxy.test",
      "https://us-central1-aiplatform.googleapis.com",
    ])
      for (const location of ["global", "eu", "asia-east1"])
        expect(urlOf("gemini-2.5-flash", { baseUrl, settings: { project: "p1", location } })).toStartWith(
          `${baseUrl}/v1beta1/projects/p1/locations/${location}/`,
        );
  });
});

describe("an API key alone", () => {
  const settings = {};
  test("reaches Gemini models without project and location", async () => {
    const credential = keyCredential("AIza-key", true);
    expect(urlOf("gemini-2.5-flash", { settings, credential })).toBe(
      "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent",
    );
    expect(
      urlOf("gemini-2.5-flash", { settings: { location: "global", api_version: "v1" }, credential }, { stream: true }),
    ).toBe(
      "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    );
    const { request } = encode("gemini-2.5-flash", {}, { settings });
    expect((await vertex.sign(request, credential, SIGN_CONTEXT)).headers).toEqual({
      ...request.headers,
      "x-goog-api-key": "AIza-key",
    });
    expect((await vertex.sign(request, TOKEN, SIGN_CONTEXT)).headers).toEqual({
      ...request.headers,
      authorization: "Bearer ya29.token",
    });
  });
  test("is sent with a project where there is one", () => {
    expect(urlOf("gemini-2.5-flash", { credential: keyCredential("k") })).toStartWith(
      `${REGION}/v1beta1/projects/p1/locations/europe-west4/`,
    );
  });
  test.each([
    ["a token", "gemini-2.5-flash", { settings, credential: TOKEN }],
    [
      "a location other than the world",
      "gemini-2.5-flash",
      { settings: { location: "eu" }, credential: keyCredential("k") },
    ],
    ["a tuned model", "endpoints/123", { settings, credential: keyCredential("k") }],
    ["Claude", "claude-opus-4-6", { settings, credential: keyCredential("k") }],
    ["Mistral", "mistral-medium-3", { settings, credential: keyCredential("k") }],
    ["an open model", "meta/llama-4", { settings, credential: keyCredential("k") }],
  ])("%s needs a project, and the error says where to set it", (_, model, changes) => {
    const { code, param, message } = refusalOf(() => encode(model, {}, { ...changes, providerId: "mine" }));
    expect([code, param]).toEqual(["invalid_request", "vertex_project"]);
    for (const word of ["vertex_project", "providers.mine.project", "VERTEXAI_PROJECT"])
      expect(message).toContain(word);
  });
});

describe("nothing in a request changes the address", () => {
  const ATTACKS = [
    "..",
    ".",
    "a/../b",
    "a/b",
    "a?b",
    "a#b",
    "a@b",
    "a:b",
    "a%2fb",
    "a\\b",
    "a b",
    "a\nb",
    "ä",
    "。。",
    "a。b",
    "",
    "-/",
    "evil.example#",
  ];
  test("[d1.8] an invalid project, location or version is refused with its field, through the whole gateway and by the encoder itself", async () => {
    const gateway = answeringGateway();
    for (const field of ["vertex_project", "vertex_location", "api_version"])
      for (const attack of ATTACKS)
        expect([
          field,
          attack,
          (await ask(gateway, { model: "vertex:gemini-2.5-flash", [field]: attack })).outcome,
        ]).toEqual([field, attack, `400 invalid_request ${field}`]);
    for (const [name, field] of [
      ["project", "vertex_project"],
      ["location", "vertex_location"],
      ["api_version", "api_version"],
    ] as const)
      for (const attack of ATTACKS)
        expect([
          attack,
          refusalOf(() => urlOf("gemini-2.5-flash", { settings: { project: "p1", location: "eu", [name]: attack } }))
            .param,
        ]).toEqual([attack, field]);
  });
  test("[d1.8] a location is one label of a host at most", () => {
    for (const location of ["evil.example", "evil.example.", "us_central1", "US", "a".repeat(64)])
      expect(refusalOf(() => at(location)).param).toBe("vertex_location");
  });
  test("[d1.8] the host stays Google's or the given one, and the path below its place, whatever the names are", () => {
    const word = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/),
      fc.constantFrom("..", ".", "...", "-", "_", "evil.example", "a..b", "metadata.google.internal"),
    );
    const model = fc
      .oneof(
        fc.string({
          unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
          minLength: 1,
          maxLength: 40,
        }),
        fc
          .array(
            fc.constantFrom(
              "claude-",
              "gemini-",
              "publishers/",
              "google/",
              "anthropic/",
              "mistralai/",
              "models/",
              "endpoints/",
              "/",
              "../",
              "%2e%2e/",
              "@",
              ":",
              "\\",
              "//evil.example/",
              "a",
            ),
            { minLength: 1, maxLength: 6 },
          )
          .map((parts) => parts.join("")),
      )
      .filter((name) => !name.includes("..") && !/[?#]/.test(name));
    fc.assert(
      fc.property(word, word, model, fc.boolean(), (project, location, name, own) => {
        const baseUrl = own ? "https://proxy.test/below/here" : vertex.baseUrl!;
        let address: string;
        try {
          address = urlOf(name, { baseUrl, settings: { project, location } });
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid_request" });
          return;
        }
        const url = new URL(address);
        expect([url.protocol, url.username, url.port, url.hash]).toEqual(["https:", "", "", ""]);
        expect(own ? url.host === "proxy.test" : url.host.endsWith(".googleapis.com")).toBe(true);
        expect(url.pathname).toStartWith(`${own ? "/below/here" : ""}/v1`);
        expect(url.pathname).toContain(`/projects/${project}/locations/${location}/`);
      }),
      { numRuns: 600 },
    );
  });
  test("[d1.8] a model's name is encoded, except for the sign before a version", () => {
    expect(urlOf("claude-x:rawPredict")).toEndWith("/models/claude-x%3ArawPredict:rawPredict");
    expect(urlOf("gemini 2?x#y")).toEndWith("/models/gemini%202%3Fx%23y:generateContent");
    expect(urlOf("mistral-a/b")).toEndWith("/models/mistral-a%2Fb:rawPredict");
  });
});

describe("through the gateway", () => {
  const stub = (settings: Readonly<Record<string, string>> = {}) =>
    answeringGateway({
      providers: [
        providerSettings({ id: "vertex", baseUrl: vertex.baseUrl, credentials: [storedKey("stored-key")], settings }),
      ],
    });
  test("fields of a request set project and location for that call", async () => {
    const { outcome, request } = await ask(stub({ project: "of-file", location: "global" }), {
      model: "vertex:gemini-2.5-flash",
      vertex_project: "of-call",
      vertex_location: "eu",
      vertex_access_token: "ya29.x",
    });
    expect(outcome).toBe("200");
    expect(request!.url).toBe(
      "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/of-call/locations/eu/publishers/google/models/gemini-2.5-flash:generateContent",
    );
    expect(request!.headers["authorization"]).toBe("Bearer ya29.x");
    expect(JSON.stringify(request)).not.toContain("stored-key");
  });
  test("a stored key works without any setting", async () => {
    const { outcome, request } = await ask(stub(), { model: "vertex:gemini-2.5-flash" });
    expect([outcome, request!.url]).toEqual([
      "200",
      "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent",
    ]);
  });
  test("a missing project is reported to the caller", async () => {
    expect((await ask(stub(), { model: "vertex:claude-opus-4-6" })).outcome).toBe("400 invalid_request vertex_project");
  });
});

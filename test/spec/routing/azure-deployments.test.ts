// Promises 1.7 and 1.8 for Azure: which of the two forms of address a call uses, where the deployment's name goes, and
// that nothing changes the host. https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle
import { describe, expect, test } from "bun:test";
import { COMPLETIONS } from "../../../src/operations/completions/completions.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { answeringGateway, ask, HELLO } from "../chat-calls.ts";

const OWN = "http://127.0.0.1:9";
const DATED = "2024-10-21";
const azureWith = (settings: Readonly<Record<string, string>>, baseUrl = "https://{resource}.openai.azure.com") =>
  answeringGateway({
    providers: [providerSettings({ id: "azure", baseUrl, credentials: [storedKey("stored-key")], settings })],
  });
const gateway = azureWith({ resource: "acme" });

/** Where a call went, and the model that its body names. */
async function placeOf(fields: Readonly<Record<string, unknown>>, stub = gateway): Promise<string> {
  const { outcome, request, wire } = await ask(stub, { model: "azure:gpt-4o", ...fields });
  return outcome === "200" ? `${request!.url} ${wire!["model"] as string}` : outcome;
}

describe("the two forms of address", () => {
  test("[s:param.api-version d1.7] a dated api_version calls the deployment in the address, by deployment_id or else by the model's name", async () => {
    expect(await placeOf({ api_version: DATED })).toBe(
      `https://acme.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=${DATED} gpt-4o`,
    );
    expect(await placeOf({ api_version: "2025-04-01-preview", deployment_id: "team-4o" })).toBe(
      "https://acme.openai.azure.com/openai/deployments/team-4o/chat/completions?api-version=2025-04-01-preview gpt-4o",
    );
  });
  test("[s:param.api-version] without api_version, or with v1 or preview, the newer address is called", async () => {
    expect(await placeOf({})).toBe("https://acme.openai.azure.com/openai/v1/chat/completions gpt-4o");
    for (const api_version of ["v1", "preview"])
      expect(await placeOf({ api_version })).toBe(
        `https://acme.openai.azure.com/openai/v1/chat/completions?api-version=${api_version} gpt-4o`,
      );
  });
  test("[s:param.deployment-id d1.7] at the newer address the deployment is the model of the body", async () => {
    expect(await placeOf({ deployment_id: "team-4o" })).toBe(
      "https://acme.openai.azure.com/openai/v1/chat/completions team-4o",
    );
    expect(await placeOf({ deployment_id: "team-4o", api_version: "preview" })).toBe(
      "https://acme.openai.azure.com/openai/v1/chat/completions?api-version=preview team-4o",
    );
  });
  test("[s:param.api-version] the configured version holds unless a request gives another", async () => {
    const dated = azureWith({ resource: "acme", api_version: DATED });
    expect(await placeOf({ deployment_id: "d" }, dated)).toBe(
      `https://acme.openai.azure.com/openai/deployments/d/chat/completions?api-version=${DATED} gpt-4o`,
    );
    expect(await placeOf({ api_version: "2025-01-01-preview" }, dated)).toContain(
      "/openai/deployments/gpt-4o/chat/completions?api-version=2025-01-01-preview",
    );
    expect(await placeOf({ api_version: "v1" }, dated)).toContain("/openai/v1/chat/completions?api-version=v1");
  });
  test("an address that already has the path of either form does not get it twice", async () => {
    const cases: readonly (readonly [base: string, fields: object, place: string])[] = [
      ["/openai/v1", {}, "/openai/v1/chat/completions gpt-4o"],
      ["/openai/v1/", { deployment_id: "d" }, "/openai/v1/chat/completions d"],
      ["/openai/v1", { api_version: "preview" }, "/openai/v1/chat/completions?api-version=preview gpt-4o"],
      ["/openai", {}, "/openai/v1/chat/completions gpt-4o"],
      ["/openai", { api_version: DATED }, `/openai/deployments/gpt-4o/chat/completions?api-version=${DATED} gpt-4o`],
      [
        "/openai/deployments/x",
        { api_version: DATED },
        `/openai/deployments/x/chat/completions?api-version=${DATED} gpt-4o`,
      ],
      ["/openai/deployments/x", {}, "/openai/deployments/x/chat/completions gpt-4o"],
      [
        "/openai/deployments/x",
        { api_version: DATED, deployment_id: "d" },
        `/openai/deployments/d/chat/completions?api-version=${DATED} gpt-4o`,
      ],
      [
        "/behind/a/proxy",
        { api_version: DATED },
        `/behind/a/proxy/openai/deployments/gpt-4o/chat/completions?api-version=${DATED} gpt-4o`,
      ],
      ["", {}, "/openai/v1/chat/completions gpt-4o"],
    ];
    for (const [base, fields, place] of cases)
      expect([base, fields, await placeOf({ base_url: OWN + base, ...fields })]).toEqual([base, fields, OWN + place]);
  });
  test("a missing resource is reported with the variable that sets it", async () => {
    const { outcome, error } = await ask(azureWith({}), { model: "azure:gpt-4o" });
    expect(outcome).toBe("400 invalid_request null");
    expect(error!.message).toContain("AZURE_OPENAI_RESOURCE");
  });
});

describe("attacks", () => {
  test("[d1.8] [s:param.deployment-id] a deployment that is not one path segment is answered with 400 and its param, at every provider, and nothing is sent", async () => {
    const before = gateway.sent.length;
    for (const deployment_id of [
      "../x",
      "..",
      ".",
      "a?b",
      "a#b",
      "a/b",
      "a\\b",
      "a%2fb",
      "a b",
      "",
      "ü",
      "a\r\nb",
      "x".repeat(129),
      5,
      {},
      ["x"],
    ])
      for (const fields of [{}, { api_version: DATED }, { drop_params: true }])
        expect([deployment_id, await placeOf({ deployment_id, ...fields })]).toEqual([
          deployment_id,
          "400 invalid_request deployment_id",
        ]);
    expect(gateway.sent.length).toBe(before);
    const all = answeringGateway();
    for (const id of CONVERSING.map((one) => one.id))
      expect([id, (await ask(all, { model: `${id}:m`, deployment_id: "../x", drop_params: true })).outcome]).toEqual([
        id,
        "400 invalid_request deployment_id",
      ]);
  });
  test("[d1.8] [s:param.api-version] a version that is not one word is answered with 400 and its param", async () => {
    for (const api_version of [
      "../../x",
      "..",
      ".",
      "2024-10-21&x=1",
      "v1/evil",
      "v1?x",
      "v1#",
      "",
      "a b",
      "ü",
      "x".repeat(129),
    ])
      expect([api_version, await placeOf({ api_version })]).toEqual([api_version, "400 invalid_request api_version"]);
  });
  test("[d1.8] a model's name stays one segment of the path", async () => {
    for (const name of ["a/b", "a&b=c", "a%2e%2e%2fb", "@evil.example", "a\\b", "a:80", "{model}"]) {
      const { request } = await ask(gateway, { model: `azure:${name}`, api_version: DATED });
      const { host, pathname, search } = new URL(request!.url);
      expect([host, search]).toEqual(["acme.openai.azure.com", `?api-version=${DATED}`]);
      const [, , , step, ...rest] = pathname.split("/");
      expect([decodeURIComponent(step!), rest]).toEqual([name, ["chat", "completions"]]);
    }
    for (const model of ["azure:../x", "azure:a?b"])
      expect(await placeOf({ model, api_version: DATED })).toBe("400 invalid_request model");
  });
});

describe("deployment_id in x_gateway", () => {
  const x_gateway = { deployment_id: "team-9" };
  const VECTOR = { data: [{ index: 0, embedding: [1] }], model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } };
  const TEXT = {
    choices: [{ index: 0, text: "Hello", finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  test("[d1.7 s:param.deployment-id] is called for embeddings and raw prompts as for chats", async () => {
    for (const [operation, path, model, fields, answer] of [
      [EMBEDDINGS, "/embeddings", "text-embedding-3-large", { input: "a" }, VECTOR],
      [COMPLETIONS, "/completions", "gpt-35-turbo-instruct", { prompt: "a" }, TEXT],
    ] as const)
      for (const [settings, address, named] of [
        [{}, `/openai/v1${path}`, "team-9"],
        [{ api_version: DATED }, `/openai/deployments/team-9${path}?api-version=${DATED}`, model],
      ] as const) {
        const own = answeringGateway({
          upstream: cannedUpstream({ body: JSON.stringify(answer) }),
          providers: [
            providerSettings({ id: "azure", baseUrl: OWN, credentials: [storedKey("stored-key")], settings }),
          ],
        });
        const response = await own.call(operation, { model: `azure:${model}`, ...fields, x_gateway });
        expect([response.status, own.sent.map(({ url }) => url)]).toEqual([200, [OWN + address]]);
        const sent = JSON.parse(own.sent[0]!.body) as Record<string, unknown>;
        expect([sent["model"], Object.hasOwn(sent, "deployment_id")]).toEqual([named, false]);
      }
  });
  test("[d1.7 s:param.deployment-id] is refused for embeddings elsewhere", async () => {
    const all = answeringGateway();
    const asked = { model: "openai:text-embedding-3-large", input: "a", x_gateway };
    const refused = await all.call(EMBEDDINGS, asked);
    expect([refused.status, refused.headers.get("x-gateway-error-code"), all.sent.length]).toEqual([
      400,
      "unsupported_parameter",
      0,
    ]);
  });
});

describe("deployment_id elsewhere", () => {
  test("[d1.7] [s:param.deployment-id] is refused by name, or dropped and reported", async () => {
    const all = answeringGateway();
    for (const id of CONVERSING.map((one) => one.id).filter((each) => each !== "azure" && each !== "sandbox")) {
      const refused = await ask(all, { model: `${id}:m`, deployment_id: "d" });
      expect([id, refused.outcome]).toEqual([id, "400 unsupported_parameter deployment_id"]);
      const dropped = await ask(all, { model: `${id}:m`, deployment_id: "d", drop_params: true });
      expect([id, dropped.outcome, dropped.headers.get("x-gateway-dropped-params")]).toEqual([
        id,
        "200",
        "deployment_id",
      ]);
    }
  });
  test("[d1.7] needs byo_endpoint, also at Azure", async () => {
    const plain = answeringGateway({ permissions: [] });
    expect((await ask(plain, { model: "azure:gpt-4o", deployment_id: "d" })).outcome).toBe(
      "403 permission_required deployment_id",
    );
  });
});

describe("what Azure returns", () => {
  const answering = (status: number, body: object) =>
    answeringGateway({ upstream: cannedUpstream({ status, body: JSON.stringify(body) }) });
  test("keys go in api-key and tokens as bearers", async () => {
    expect((await ask(gateway, { model: "azure:gpt-4o" })).request!.headers).toMatchObject({ "api-key": "stored-key" });
    const signed = await providers
      .get("azure")!
      .sign(
        { url: OWN, headers: {}, body: "" },
        { kind: "token", secret: "entra", fromCaller: false },
        { nowMs: 0, settings: {} },
      );
    expect(signed.headers).toEqual({ authorization: "Bearer entra" });
  });
  test("errors are classified by their inner code", async () => {
    const blocked = {
      error: {
        message: "The prompt was filtered.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: {} },
      },
    };
    expect((await ask(answering(400, blocked), { model: "azure:m" })).outcome).toBe(
      "400 content_policy_violation null",
    );
    expect((await ask(answering(200, blocked), { model: "azure:m" })).outcome).toBe(
      "400 content_policy_violation null",
    );
    expect(
      (
        await ask(answering(404, { error: { code: "DeploymentNotFound", message: "There is no such deployment." } }), {
          model: "azure:m",
        })
      ).outcome,
    ).toStartWith("404 model_not_found");
    expect(
      (await ask(answering(404, { error: { code: "404", message: "Resource not found" } }), { model: "azure:m" }))
        .outcome,
    ).toStartWith("404 model_not_found");
  });
  test("the filter results at the head of a stream are not part of the answer", async () => {
    const chunk = (rest: object): string =>
      `data: ${JSON.stringify({ id: "", object: "", created: 0, model: "", ...rest })}\n\n`;
    const filters = { hate: { filtered: false, severity: "safe" } };
    const body =
      chunk({ choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }] }) +
      chunk({
        id: "c1",
        object: "chat.completion.chunk",
        created: 1,
        model: "gpt-4o",
        choices: [
          {
            index: 0,
            delta: { role: "assistant", content: "Hi" },
            content_filter_results: filters,
            finish_reason: null,
          },
        ],
      }) +
      chunk({
        id: "c1",
        object: "chat.completion.chunk",
        created: 1,
        model: "gpt-4o",
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      }) +
      "data: [DONE]\n\n";
    const stub = answeringGateway({
      upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body }),
    });
    const text = await (await stub.chat({ model: "azure:gpt-4o", messages: HELLO, stream: true })).text();
    expect(text).toContain('"content":"Hi"');
    expect(text).toEndWith("data: [DONE]\n\n");
    expect(text).not.toContain("error");
  });
  test("reasoning models have OpenAI's exceptions, by the model's name regardless of the deployment's name", async () => {
    expect(await placeOf({ model: "azure:o3", deployment_id: "d", top_p: 0.5 })).toBe(
      "400 unsupported_parameter top_p",
    );
    const { wire } = await ask(gateway, {
      model: "azure:gpt-5",
      deployment_id: "d",
      max_tokens: 9,
      api_version: DATED,
    });
    expect(wire).toMatchObject({ max_completion_tokens: 9 });
    expect(wire).not.toHaveProperty("deployment_id");
  });
});

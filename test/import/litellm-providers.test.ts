// Which provider, model and address LiteLLM means by the names that a deployment has.
import { describe, expect, test } from "bun:test";
import { imported, lineAt, section } from "./imported.ts";

const deployment = (params: object, name = "a") =>
  imported("litellm", JSON.stringify({ model_list: [{ model_name: name, litellm_params: params }] }));
const targetsOf = (result: ReturnType<typeof deployment>): unknown =>
  Object.values(section(result, "routes")).flatMap((route) => (route as { targets: unknown }).targets);

describe("names", () => {
  test.each([
    ["gpt-3.5-turbo-instruct", "text-completion-openai:gpt-3.5-turbo-instruct"],
    ["davinci-002", "text-completion-openai:davinci-002"],
    ["text-embedding-3-small", "openai:text-embedding-3-small"],
    ["text-embedding-005", "vertex_ai:text-embedding-005"],
    ["textembedding-gecko@003", "vertex_ai:textembedding-gecko@003"],
    ["jamba-large", "ai21:jamba-large"],
    ["global.anthropic.claude-opus-4-6-v1", "bedrock:global.anthropic.claude-opus-4-6-v1"],
    ["deepseek.v3-v1:0", "bedrock:deepseek.v3-v1:0"],
    ["gpt-4.1", "openai:gpt-4.1"],
  ])("[d15.2] %s names no provider and is %s, as LiteLLM infers", (model, target) => {
    const result = deployment({ model });
    expect(targetsOf(result)).toEqual([target]);
    expect(result.missingTargets).toEqual([]);
  });
  test.each(["crusoe", "inception", "parasail", "reka"])("[d15.2] %s is the provider of that name", (provider) => {
    const result = deployment({ model: `${provider}/m` });
    expect(section(result, "providers")[provider]).not.toHaveProperty("type");
    expect(targetsOf(result)).toEqual([`${provider}:m`]);
  });
  test("[d15.2] a server or vendor that only LiteLLM names is called at the address that LiteLLM has for it", () => {
    expect(section(deployment({ model: "lemonade/org/m" }), "providers")["lemonade"]).toMatchObject({
      type: "custom",
      base_url: "http://localhost:8000/api/v1",
    });
    expect(section(deployment({ model: "aihubmix/m" }), "providers")["aihubmix"]).toMatchObject({
      type: "custom",
      base_url: "https://aihubmix.com/v1",
      api_key: "${AIHUBMIX_API_KEY:-}",
    });
  });
  test("[d15.2] a name that begins like a key, and goes on in words, is the name of a model", () => {
    const names = ["xai-grok-4-fast-reasoning", "skylark-pro-32k-character", "hf-textgeneration-mp-20240101"];
    for (const name of names) {
      const result = deployment({ model: `sagemaker/jumpstart-dft-${name}` }, name);
      expect(Object.keys(section(result, "routes"))).toEqual([name]);
      expect(targetsOf(result)).toEqual([`sagemaker:jumpstart-dft-${name}`]);
    }
    const key = `hf_${"aB3".repeat(11)}`;
    const result = deployment({ model: `openai/${key}` });
    expect(result.missingTargets.map(({ why }) => why)).toEqual([
      "it looks like a key, which cannot be the name of a model",
    ]);
    expect(lineAt(result, "model_list[0].litellm_params.model").outcome).toBe("without");
  });
});

describe("addresses", () => {
  const entryOf = (params: object): unknown => Object.entries(section(deployment(params), "providers"))[0];
  test.each([
    ["anthropic/m", "https://proxy.example.com/x/v1/messages", "https://proxy.example.com/x"],
    ["cohere/m", "https://proxy.example.com/v2/chat", "https://proxy.example.com"],
  ])("[d15.2] of an operation of %s are those of its server", (model, address, base) => {
    const result = deployment({ model, api_base: address });
    expect(section(result, "providers")[model.slice(0, -2)]).toMatchObject({ base_url: base });
    expect(lineAt(result, "model_list[0].litellm_params.api_base").outcome).toBe("changed");
  });
  test("[d15.2] of Google's publishers name the project and the location, and are Vertex's for Gemini too", () => {
    const own = "https://aiplatform.eu.rep.googleapis.com/v1/projects/acme/locations/eu/publishers/anthropic/models/m";
    expect(entryOf({ model: "vertex_ai/m", vertex_location: "us", api_base: own })).toEqual([
      "vertex_ai",
      { type: "vertex", google: "default", project: "acme", location: "eu", api_version: "v1", models: ["m"] },
    ]);
    expect(
      entryOf({
        model: "gemini/m",
        api_base: "https://proxy.example.com/p/v1/publishers/google",
        api_key: "os.environ/K",
      }),
    ).toEqual([
      "gemini-vertex",
      {
        type: "vertex",
        base_url: "https://proxy.example.com/p",
        api_key: "${K:-unset}",
        api_version: "v1",
        models: ["m"],
      },
    ]);
  });
  test("[d15.2] with a path that means more here are said to be changed", () => {
    const line = (model: string, address: string) =>
      lineAt(deployment({ model, api_base: address }), "model_list[0].litellm_params.api_base").outcome;
    expect(line("vertex_ai/m", "https://proxy.example.com/vertex")).toBe("changed");
    expect(line("vertex_ai/m", "https://proxy.example.com/v1/")).toBe("taken");
    expect(line("gemini/m", "https://proxy.example.com")).toBe("changed");
    expect(line("gemini/m", "https://proxy.example.com/v1beta")).toBe("taken");
  });
});

// Embeddings at each family of providers: what is sent, in which pieces, and that every vector comes back at the place of
// its text with the tokens summed.
import { describe, expect, test } from "bun:test";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { operationsOf } from "../../../src/http/model-operations.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { COMPLETIONS } from "../../../src/operations/completions/completions.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { providers } from "../../../src/providers/registry.ts";
import { type Stub, stubGateway } from "../../harness/in-process.ts";
import { type Body, bodyOf, vectorFor, vendors } from "./vendors.ts";

interface Case {
  readonly model: string;
  /** The end of the address. */
  readonly path: string;
  /** The most texts of one upstream request. */
  readonly most: number;
  /** What goes out for one text with 256 dimensions and `search_query`; null where the model has no such parameter. */
  readonly asked: Body | null;
  /** What goes out for one text without parameters. */
  readonly plain: Body;
  /** Whether the vendor tells tokens. */
  readonly tells?: false;
}

const CASES: readonly Case[] = [
  {
    model: "openai:text-embedding-3-small",
    path: "/v1/embeddings",
    most: 2048,
    plain: { model: "text-embedding-3-small", input: ["ab"] },
    asked: null,
  },
  {
    model: "azure:text-embedding-3-large",
    path: ".openai.azure.com/openai/v1/embeddings",
    most: 2048,
    plain: { model: "text-embedding-3-large", input: ["ab"] },
    asked: null,
  },
  {
    model: "mistral:codestral-embed",
    path: "/v1/embeddings",
    most: 32,
    plain: { model: "codestral-embed", input: ["ab"] },
    asked: null,
  },
  {
    model: "nvidia:nvidia/nv-embedqa-e5-v5",
    path: "/v1/embeddings",
    most: 50,
    plain: { model: "nvidia/nv-embedqa-e5-v5", input: ["ab"], input_type: "passage" },
    asked: { model: "nvidia/nv-embedqa-e5-v5", input: ["ab"], dimensions: 256, input_type: "query" },
  },
  {
    model: "together:intfloat/e5",
    path: "/v1/embeddings",
    most: 2048,
    plain: { model: "intfloat/e5", input: ["ab"] },
    asked: null,
  },
  {
    model: "fireworks:nomic",
    path: "/inference/v1/embeddings",
    most: 2048,
    plain: { model: "nomic", input: ["ab"] },
    asked: null,
  },
  {
    model: "deepinfra:BAAI/bge",
    path: "/v1/openai/embeddings",
    most: 1024,
    plain: { model: "BAAI/bge", input: ["ab"] },
    asked: null,
  },
  {
    model: "openrouter:qwen/qwen3-embedding-8b",
    path: "/api/v1/embeddings",
    most: 2048,
    plain: { model: "qwen/qwen3-embedding-8b", input: ["ab"] },
    asked: { model: "qwen/qwen3-embedding-8b", input: ["ab"], dimensions: 256, input_type: "search_query" },
  },
  { model: "vllm:e5", path: "/v1/embeddings", most: 2048, plain: { model: "e5", input: ["ab"] }, asked: null },
  { model: "llamacpp:e5", path: "/v1/embeddings", most: 2048, plain: { model: "e5", input: ["ab"] }, asked: null },
  { model: "lmstudio:e5", path: "/v1/embeddings", most: 2048, plain: { model: "e5", input: ["ab"] }, asked: null },
  {
    model: "voyage:voyage-3.5",
    path: "api.voyageai.com/v1/embeddings",
    most: 128,
    plain: { model: "voyage-3.5", input: ["ab"] },
    asked: { model: "voyage-3.5", input: ["ab"], output_dimension: 256, input_type: "query" },
  },
  {
    model: "jina:jina-embeddings-v3",
    path: "api.jina.ai/v1/embeddings",
    most: 128,
    plain: { model: "jina-embeddings-v3", input: ["ab"] },
    asked: { model: "jina-embeddings-v3", input: ["ab"], dimensions: 256, task: "retrieval.query" },
  },
  {
    model: "tei:e5",
    path: "localhost:8080/v1/embeddings",
    most: 32,
    plain: { model: "e5", input: ["ab"] },
    asked: null,
  },
  {
    model: "dashscope:text-embedding-v4",
    path: "/compatible-mode/v1/embeddings",
    most: 10,
    plain: { model: "text-embedding-v4", input: ["ab"] },
    asked: null,
  },
  {
    model: "databricks:databricks-gte-large-en",
    path: "/embeddings",
    most: 150,
    plain: { model: "databricks-gte-large-en", input: ["ab"] },
    asked: null,
  },
  {
    model: "siliconflow:BAAI/bge-m3",
    path: "/v1/embeddings",
    most: 32,
    plain: { model: "BAAI/bge-m3", input: ["ab"] },
    asked: null,
  },
  {
    model: "volcengine:doubao-embedding",
    path: "/api/v3/embeddings",
    most: 256,
    plain: { model: "doubao-embedding", input: ["ab"] },
    asked: null,
  },
  { model: "custom:any", path: "/v1/embeddings", most: 2048, plain: { model: "any", input: ["ab"] }, asked: null },
  {
    model: "cohere:embed-v4.0",
    path: "/v2/embed",
    most: 96,
    plain: { model: "embed-v4.0", texts: ["ab"], input_type: "search_document", embedding_types: ["float"] },
    asked: {
      model: "embed-v4.0",
      texts: ["ab"],
      input_type: "search_query",
      embedding_types: ["float"],
      output_dimension: 256,
    },
  },
  {
    model: "gemini:gemini-embedding-001",
    path: "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    most: 100,
    plain: { requests: [{ model: "models/gemini-embedding-001", content: { parts: [{ text: "ab" }] } }] },
    asked: {
      requests: [
        {
          model: "models/gemini-embedding-001",
          content: { parts: [{ text: "ab" }] },
          taskType: "RETRIEVAL_QUERY",
          outputDimensionality: 256,
        },
      ],
    },
    tells: false,
  },
  {
    model: "vertex:text-embedding-005",
    path: "/publishers/google/models/text-embedding-005:predict",
    most: 250,
    plain: { instances: [{ content: "ab" }] },
    asked: { instances: [{ content: "ab", task_type: "RETRIEVAL_QUERY" }], parameters: { outputDimensionality: 256 } },
  },
  {
    model: "vertex:gemini-embedding-001",
    path: "/publishers/google/models/gemini-embedding-001:predict",
    most: 1,
    plain: { instances: [{ content: "ab" }] },
    asked: { instances: [{ content: "ab", task_type: "RETRIEVAL_QUERY" }], parameters: { outputDimensionality: 256 } },
  },
  {
    model: "vertex:gemini-embedding-2-preview",
    path: "/publishers/google/models/gemini-embedding-2-preview:embedContent",
    most: 1,
    plain: { content: { parts: [{ text: "ab" }] } },
    asked: {
      content: { parts: [{ text: "ab" }] },
      embedContentConfig: { taskType: "RETRIEVAL_QUERY", outputDimensionality: 256 },
    },
  },
  {
    model: "bedrock:amazon.titan-embed-text-v2:0",
    path: "/model/amazon.titan-embed-text-v2%3A0/invoke",
    most: 1,
    plain: { inputText: "ab" },
    asked: null,
  },
  {
    model: "bedrock:us.cohere.embed-v4:0",
    path: "/model/us.cohere.embed-v4%3A0/invoke",
    most: 96,
    plain: { texts: ["ab"], input_type: "search_document", embedding_types: ["float"] },
    asked: { texts: ["ab"], input_type: "search_query", embedding_types: ["float"], output_dimension: 256 },
  },
  {
    model: "bedrock:amazon.nova-2-multimodal-embeddings-v1:0",
    path: "/invoke",
    most: 1,
    plain: {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: { embeddingPurpose: "GENERIC_INDEX", text: { truncationMode: "NONE", value: "ab" } },
    },
    asked: {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_RETRIEVAL",
        embeddingDimension: 256,
        text: { truncationMode: "NONE", value: "ab" },
      },
    },
  },
  {
    model: "ollama:nomic-embed-text",
    path: "/api/embed",
    most: 2048,
    plain: { model: "nomic-embed-text", input: ["ab"] },
    asked: null,
  },
  {
    model: "watsonx:ibm/slate-125m",
    path: "/ml/v1/text/embeddings?version=2024-10-08",
    most: 1000,
    plain: { model_id: "ibm/slate-125m", inputs: ["ab"] },
    asked: null,
  },
];

const gatewayOf = (): Stub => stubGateway({ operation: EMBEDDINGS, upstream: vendors() });
const texts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String.fromCodePoint(97 + (index % 26)).repeat(1 + (index % 40)));

describe("embeddings at", () => {
  for (const { model, path, most, plain, asked, tells } of CASES) {
    test(`[d12.10] ${model} go out in the vendor's form`, async () => {
      const gateway = gatewayOf();
      const answer = await gateway.chat({ model, input: ["ab"] });
      expect([answer.status, await answer.json()]).toEqual([
        200,
        {
          object: "list",
          data: [{ object: "embedding", index: 0, embedding: [...vectorFor("ab")] }],
          model,
          usage: { prompt_tokens: tells === false ? 1 : 2, total_tokens: tells === false ? 1 : 2 },
        },
      ]);
      expect(answer.headers.get("x-gateway-warnings")).toBe(tells === false ? "usage_estimated" : null);
      expect(new URL(gateway.sent[0]!.url).href.endsWith(path) || gateway.sent[0]!.url).toBe(true);
      expect(bodyOf(gateway.sent[0]!)).toEqual(plain);
    });

    test(`[d12.10] ${model} takes dimensions and input_type, or refuses them with their path`, async () => {
      const gateway = gatewayOf();
      const answer = await gateway.chat({ model, input: ["ab"], dimensions: 256, input_type: "search_query" });
      if (asked !== null) {
        expect(answer.status).toBe(200);
        expect(bodyOf(gateway.sent[0]!)).toEqual(asked);
        return;
      }
      const { error } = (await answer.json()) as Body;
      expect([answer.status, error["code"], gateway.sent]).toEqual([400, "unsupported_parameter", []]);
      expect(["dimensions", "input_type"]).toContain(error["param"]);
    });

    test(`[d12.10] ${model} gets ${most} texts at a time, and the vectors come back in order`, async () => {
      const gateway = gatewayOf();
      const input = texts(Math.min(2048, 2 * most + 1));
      const answer = await gateway.chat({ model, input });
      const { data, usage } = (await answer.json()) as Body;
      expect(data.map((one: Body) => [one["index"], one["embedding"]])).toEqual(
        input.map((text, index) => [index, [...vectorFor(text)]]),
      );
      expect(gateway.sent.length).toBe(Math.ceil(input.length / most));
      if (tells !== false) expect(usage).toEqual({ prompt_tokens: 2 * input.length, total_tokens: 2 * input.length });
      expect(gateway.records[0]!.attempts.length).toBe(gateway.sent.length);
    });
  }

  test("[d12.10] at least fifteen families have them, each with the page of its vendor", () => {
    const having = [...providers.values()].filter(({ tasks }) => tasks?.embeddings !== undefined);
    expect(having.length).toBeGreaterThanOrEqual(15);
    for (const { id, tasks } of having)
      expect([id, tasks!.embeddings!(sampleOf(id))!.docs.startsWith("https://")]).toEqual([id, true]);
  });
});

function sampleOf(id: string): string {
  return CASES.find(({ model }) => model.startsWith(`${id}:`))?.model.slice(id.length + 1) ?? "e5";
}

test("[d12.10] a vendor that has only vectors and scores is asked for no conversation, and lists none", async () => {
  for (const model of ["voyage:voyage-3.5", "jina:jina-clip-v2", "tei:any"]) {
    const gateway = stubGateway({ operation: EMBEDDINGS, upstream: vendors() });
    for (const [operation, body] of [
      [CHAT_COMPLETIONS, { model, messages: [{ role: "user", content: "a" }] }],
      [RESPONSES, { model, input: "a" }],
      [COMPLETIONS, { model, prompt: "a" }],
    ] as const) {
      const response = await gateway.call(operation, body);
      const { error } = (await response.json()) as Body;
      expect([model, response.status, error["param"], gateway.sent.length]).toEqual([model, 400, "model", 0]);
    }
    expect((await gateway.chat({ model, input: "ab" })).status).toBe(200);
    const [family, name] = model.split(":") as [string, string];
    const names = operationsOf(providers.get(family)!, name, () => "row").map((one) => one.name);
    expect(names.filter((one) => one === "chat.completions" || one === "completions")).toEqual([]);
    expect(names).toContain("embeddings");
  }
});

// The operation rerank: what it takes in both of Cohere's versions, what goes out at each vendor, and that indexes and
// scores stay as the vendor says them.
import { describe, expect, test } from "bun:test";
import { RERANK } from "../../../src/operations/rerank/rerank.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";

type Body = Readonly<Record<string, any>>;
const QUERY = "what is a panda?";
const DOCUMENTS = ["hi", "it is a bear", "The giant panda is a bear of China."];

const gatewayOf = (answer: unknown, status = 200): Stub =>
  stubGateway({
    operation: RERANK,
    upstream: cannedUpstream({ status, body: typeof answer === "string" ? answer : JSON.stringify(answer) }),
  });
const RESULTS = [
  { index: 0, relevance_score: -8.25 },
  { index: 2, relevance_score: 0.8215377926826477 },
  { index: 1, relevance_score: -4.5 },
];
const RANKED = [
  { index: 2, relevance_score: 0.8215377926826477 },
  { index: 1, relevance_score: -4.5 },
  { index: 0, relevance_score: -8.25 },
];

interface Case {
  readonly model: string;
  readonly url: string;
  readonly sent: Body;
  readonly answer: unknown;
}
const plain = (model: string, topN: string): Body => ({ model, query: QUERY, documents: DOCUMENTS, [topN]: 2 });
const passages = DOCUMENTS.map((text) => ({ text }));
const CASES: readonly Case[] = [
  {
    model: "cohere:rerank-v3.5",
    url: "https://api.cohere.com/v2/rerank",
    sent: plain("rerank-v3.5", "top_n"),
    answer: { results: RESULTS, meta: { billed_units: { search_units: 1 } } },
  },
  {
    model: "together:r",
    url: "https://api.together.ai/v1/rerank",
    sent: plain("r", "top_n"),
    answer: { results: RESULTS },
  },
  {
    model: "openrouter:cohere/rerank-v3.5",
    url: "https://openrouter.ai/api/v1/rerank",
    sent: plain("cohere/rerank-v3.5", "top_n"),
    answer: { results: RESULTS, usage: { search_units: 1, total_tokens: 9, cost: 0.002 } },
  },
  {
    model: "fireworks:r",
    url: "https://api.fireworks.ai/inference/v1/rerank",
    sent: plain("r", "top_n"),
    answer: { data: RESULTS },
  },
  {
    model: "vllm:r",
    url: "http://localhost:8000/v1/rerank",
    sent: plain("r", "top_n"),
    answer: { results: RESULTS, usage: { total_tokens: 55 } },
  },
  {
    model: "llamacpp:r",
    url: "http://localhost:8080/v1/rerank",
    sent: plain("r", "top_n"),
    answer: { results: RESULTS },
  },
  {
    model: "voyage:rerank-2.5",
    url: "https://api.voyageai.com/v1/rerank",
    sent: plain("rerank-2.5", "top_k"),
    answer: { object: "list", data: RESULTS, usage: { total_tokens: 9 } },
  },
  {
    model: "jina:jina-reranker-v3",
    url: "https://api.jina.ai/v1/rerank",
    sent: plain("jina-reranker-v3", "top_n"),
    answer: { results: RESULTS, usage: { total_tokens: 9 } },
  },
  {
    model: "tei:BAAI/bge-reranker",
    url: "http://localhost:8080/rerank",
    sent: { model: "BAAI/bge-reranker", query: QUERY, texts: DOCUMENTS },
    answer: RESULTS.map(({ index, relevance_score: score }) => ({ index, score })),
  },
  {
    model: "dashscope:qwen3-rerank",
    url: "https://dashscope-intl.aliyuncs.com/compatible-api/v1/reranks",
    sent: plain("qwen3-rerank", "top_n"),
    answer: { output: { results: RESULTS }, usage: { total_tokens: 9 } },
  },
  {
    model: "nvidia:nvidia/llama-rerank",
    url: "https://ai.api.nvidia.com/v1/retrieval/nvidia/llama-rerank/reranking",
    sent: { model: "nvidia/llama-rerank", query: { text: QUERY }, passages },
    answer: { rankings: RESULTS.map(({ index, relevance_score: logit }) => ({ index, logit })) },
  },
  {
    model: "bedrock:cohere.rerank-v3-5:0",
    url: "https://bedrock-runtime.region.amazonaws.com/model/cohere.rerank-v3-5%3A0/invoke",
    sent: { query: QUERY, documents: DOCUMENTS, api_version: 2, top_n: 2 },
    answer: { results: RESULTS },
  },
  {
    model: "bedrock:amazon.rerank-v1:0",
    url: "https://bedrock-runtime.region.amazonaws.com/model/amazon.rerank-v1%3A0/invoke",
    sent: { query: QUERY, documents: DOCUMENTS, top_n: 2 },
    answer: { results: RESULTS },
  },
];

describe("rerank at", () => {
  for (const { model, url, sent, answer } of CASES)
    test(`[d12.10] ${model} keeps indexes and raw scores, and cuts what is beyond top_n`, async () => {
      const gateway = gatewayOf(answer);
      const response = await gateway.chat({ model, query: QUERY, documents: DOCUMENTS, top_n: 2 });
      const { results } = (await response.json()) as Body;
      expect([response.status, results]).toEqual([200, RANKED.slice(0, 2)]);
      expect([gateway.sent[0]!.url, JSON.parse(gateway.sent[0]!.body)]).toEqual([url, sent]);
    });
});

describe("an answer", () => {
  const asked = async (fields: object, answer: unknown = { results: RESULTS }): Promise<Body> =>
    (await (
      await gatewayOf(answer).chat({ model: "vllm:r", query: QUERY, documents: DOCUMENTS, ...fields })
    ).json()) as Body;

  test("[d12.10] has all documents without top_n, and is in Cohere's form", async () => {
    expect(await asked({})).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      results: RANKED,
      meta: { api_version: { version: "2" } },
    });
    expect((await asked({ top_n: null }))["results"]).toEqual(RANKED);
  });
  test("[d12.10] repeats documents where version 1 asks for them, as the client sent them", async () => {
    const objects = DOCUMENTS.map((text, index) => ({ text, page: index }));
    for (const [documents, shown] of [
      [DOCUMENTS, DOCUMENTS.map((text) => ({ text }))],
      [objects, objects],
    ])
      expect((await asked({ documents, return_documents: true }))["results"]).toEqual(
        RANKED.map((one) => ({ ...one, document: shown![one.index] })),
      );
  });
  test("[d12.10] tells what the vendor bills", async () => {
    const response = await gatewayOf({ results: RESULTS, meta: { billed_units: { search_units: 3 } } }).chat({
      model: "cohere:rerank-v3.5",
      query: QUERY,
      documents: DOCUMENTS,
    });
    expect(((await response.json()) as Body)["meta"].billed_units).toEqual({ search_units: 3 });
    const told = await gatewayOf({ results: RESULTS, usage: { search_units: 2, total_tokens: 9 } }).chat({
      model: "openrouter:cohere/rerank-v3.5",
      query: QUERY,
      documents: DOCUMENTS,
    });
    expect(((await told.json()) as Body)["meta"].billed_units).toEqual({ search_units: 2 });
    expect(response.headers.get("x-gateway-warnings")).toBe("usage_estimated");
  });
  test("[d12.10] sends the fields that rank_fields names as lines", async () => {
    const gateway = gatewayOf({ results: [{ index: 0, relevance_score: 1 }] });
    await gateway.chat({
      model: "vllm:r",
      query: QUERY,
      documents: [{ title: "Panda", body: "a bear", other: 1 }],
      rank_fields: ["title", "body"],
    });
    expect((JSON.parse(gateway.sent[0]!.body) as Body)["documents"]).toEqual(["title: Panda\nbody: a bear"]);
  });
  test("[d12.10] that is none is 502", async () => {
    for (const answer of [
      {},
      "<html>",
      { results: [{ index: 3, relevance_score: 1 }] },
      {
        results: [
          { index: 0, relevance_score: 1 },
          { index: 0, relevance_score: 1 },
        ],
      },
      { results: [{ index: -1, relevance_score: 1 }] },
      { results: [{ index: 0, relevance_score: null }] },
      '{"results":[{"index":0,"relevance_score":1e999}]}',
    ]) {
      const response = await gatewayOf(answer).chat({ model: "vllm:r", query: QUERY, documents: DOCUMENTS, top_n: 1 });
      expect(response.status).toBe(502);
    }
  });
  test("[d12.10] that has fewer documents than were asked for is 502, so that none is lost", async () => {
    for (const [results, topN, status] of [
      [[], undefined, 502],
      [RESULTS.slice(1), undefined, 502],
      [RESULTS.slice(1), 3, 502],
      [RESULTS.slice(1), 2, 200],
      [RESULTS, 9, 200],
    ] as const) {
      const body = { query: QUERY, documents: DOCUMENTS, ...(topN !== undefined && { top_n: topN }) };
      const response = await gatewayOf({ results }).chat({ model: "vllm:r", ...body });
      expect([topN, response.status]).toEqual([topN, status]);
    }
  });
});

describe("bad input", () => {
  const REFUSED: readonly (readonly [string, Body, string])[] = [
    ["no query", { query: undefined }, "query"],
    ["an empty query", { query: "" }, "query"],
    ["no documents", { documents: [] }, "documents"],
    ["too many documents", { documents: Array.from({ length: 10_000 }, () => "a") }, "documents"],
    ["an empty document", { documents: ["a", ""] }, "documents[1]"],
    ["a document without a text", { documents: [{ title: "a" }] }, "documents[0]"],
    ["a document without the named fields", { documents: [{ title: "a" }], rank_fields: ["body"] }, "documents[0]"],
    ["a number", { documents: [1] }, "documents[0]"],
    ["top_n 0", { top_n: 0 }, "top_n"],
    ["half a result", { top_n: 1.5 }, "top_n"],
    ["return_documents that is no switch", { return_documents: "yes" }, "return_documents"],
    ["rank_fields that are no names", { rank_fields: [1] }, "rank_fields"],
    ["a field of conversations", { temperature: 1 }, "temperature"],
    ["a model without rerank", { model: "anthropic:claude-sonnet-4-5" }, "model"],
  ];
  for (const [what, fields, path] of REFUSED)
    test(`[d12.6 d12.10] ${what} is 400 in Cohere's envelope, with its path`, async () => {
      const gateway = gatewayOf({ results: RESULTS });
      const response = await gateway.chat({ model: "vllm:r", query: QUERY, documents: DOCUMENTS, ...fields });
      const body = (await response.json()) as Body;
      expect([response.status, Object.keys(body), gateway.sent.length]).toEqual([400, ["id", "message"], 0]);
      if (path !== "model") expect(body["message"]).toStartWith(path);
      expect(gateway.records[0]!.code).toBe("invalid_request");
    });
  test("[d12.10] a parameter that a model lacks is refused, or dropped and told", async () => {
    const gateway = gatewayOf({ results: RESULTS });
    const ask = (fields: object): Promise<Response> =>
      gateway.chat({
        model: "bedrock:amazon.rerank-v1:0",
        query: QUERY,
        documents: DOCUMENTS,
        max_tokens_per_doc: 9,
        ...fields,
      });
    expect((await ask({})).status).toBe(400);
    const dropped = await ask({ x_gateway: { drop_params: true } });
    expect([dropped.status, dropped.headers.get("x-gateway-dropped-params")]).toEqual([200, "max_tokens_per_doc"]);
  });
});

// Stand-ins for vendors of embeddings: each answers in the form of its vendor with vectors that tell which text they are
// of, so that a test sees whether they come back at the right place.
import { cannedUpstream, type CannedAnswer } from "../../harness/in-process.ts";
import type { UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";

/** The vector of a text: its length and its first character. Both are exact as 32-bit floats. */
export function vectorFor(text: string): readonly number[] {
  return [text.length / 8, text.charCodeAt(0) / 16];
}

export function base64For(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString("base64");
}

export type Body = Readonly<Record<string, any>>;

export function bodyOf(request: UpstreamRequest): Body {
  return JSON.parse(request.bytes === undefined ? request.body : new TextDecoder().decode(request.bytes)) as Body;
}

/** Answers in the form of the vendor that a request is for, by its address. */
export function answerOf(request: UpstreamRequest): CannedAnswer {
  const body = bodyOf(request);
  const { url } = request;
  if (url.includes("/v2/embed"))
    return sent({
      embeddings: { float: body["texts"].map(vectorFor) },
      meta: { billed_units: { input_tokens: 2 * body["texts"].length } },
    });
  if (url.endsWith(":batchEmbedContents"))
    return sent({
      embeddings: body["requests"].map((one: Body) => ({ values: vectorFor(one["content"].parts[0].text) })),
    });
  if (url.endsWith(":predict"))
    return sent({
      predictions: body["instances"].map((one: Body) => ({
        embeddings: { values: vectorFor(one["content"]), statistics: { token_count: 2 } },
      })),
    });
  if (url.endsWith(":embedContent"))
    return sent({
      embedding: { values: vectorFor(body["content"].parts[0].text) },
      usageMetadata: { promptTokenCount: 2 },
    });
  if (url.includes("/api/embed"))
    return sent({
      model: body["model"],
      embeddings: body["input"].map(vectorFor),
      prompt_eval_count: 2 * body["input"].length,
    });
  if (url.includes("titan")) return sent({ embedding: vectorFor(body["inputText"]), inputTextTokenCount: 2 });
  if (url.includes("nova"))
    return sent({
      embeddings: [{ embeddingType: "TEXT", embedding: vectorFor(body["singleEmbeddingParams"].text.value) }],
      inputTokenCount: 2,
    });
  if (url.includes("cohere.embed"))
    return {
      ...sent({ embeddings: { float: body["texts"].map(vectorFor) } }),
      headers: { "x-amzn-bedrock-input-token-count": String(2 * body["texts"].length) },
    };
  if (url.includes("/ml/v1/text/embeddings"))
    return sent({
      results: body["inputs"].map((text: string) => ({ embedding: vectorFor(text) })),
      input_token_count: 2 * body["inputs"].length,
    });
  return openAIAnswer(body);
}

function sent(body: unknown): CannedAnswer {
  return { body: JSON.stringify(body) };
}

/** OpenAI's form, with the entries in reverse order: the index says where they belong. */
function openAIAnswer(body: Body): CannedAnswer {
  const inputs: readonly unknown[] =
    Array.isArray(body["input"]) && typeof body["input"][0] !== "number" ? body["input"] : [body["input"]];
  const texts = inputs.map((input) => (typeof input === "string" ? input : JSON.stringify(input)));
  return sent({
    object: "list",
    data: texts
      .map((text, index) => ({
        object: "embedding",
        index,
        embedding: body["encoding_format"] === "base64" ? base64For(vectorFor(text)) : vectorFor(text),
      }))
      .toReversed(),
    model: body["model"],
    usage: { prompt_tokens: 2 * texts.length, total_tokens: 2 * texts.length },
  });
}

export function vendors(answer: (request: UpstreamRequest) => CannedAnswer = answerOf): UpstreamClient {
  return cannedUpstream(answer);
}

// Converts logprobsResult to OpenAI's logprobs. https://ai.google.dev/api/generate-content#LogprobsResult
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** `null` when the answer has no log probabilities. */
export function decodeLogprobs(result: Json | undefined): JsonObject | null {
  if (!isObject(result) || !Array.isArray(result["chosenCandidates"])) return null;
  const top = Array.isArray(result["topCandidates"]) ? (result["topCandidates"] as readonly Json[]) : [];
  const content = (result["chosenCandidates"] as readonly Json[]).map((chosen, index) => {
    const likeliest = top[index];
    const others =
      isObject(likeliest) && Array.isArray(likeliest["candidates"]) ? (likeliest["candidates"] as readonly Json[]) : [];
    return { ...token(chosen), top_logprobs: others.map(token) };
  });
  return { content, refusal: null };
}

function token(candidate: Json): JsonObject {
  const text = isObject(candidate) && typeof candidate["token"] === "string" ? candidate["token"] : "";
  const logprob =
    isObject(candidate) && typeof candidate["logProbability"] === "number" ? candidate["logProbability"] : 0;
  return { token: text, logprob, bytes: [...Buffer.from(text, "utf8")] };
}

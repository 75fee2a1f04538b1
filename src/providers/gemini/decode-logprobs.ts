// Converts logprobsResult to OpenAI's logprobs. https://ai.google.dev/api/generate-content#LogprobsResult
import { isObject, type Json, type JsonObject, listIn, textOrEmpty } from "../../core/json.ts";

/** `null` when the answer has no log probabilities. */
export function decodeLogprobs(result: Json | undefined): JsonObject | null {
  if (!isObject(result) || !Array.isArray(result["chosenCandidates"])) return null;
  const top = listIn(result["topCandidates"]);
  const content = (result["chosenCandidates"] as readonly Json[]).map((chosen, index) => {
    const likeliest = top[index];
    const others = isObject(likeliest) ? listIn(likeliest["candidates"]) : [];
    return { ...token(chosen), top_logprobs: others.map(token) };
  });
  return { content, refusal: null };
}

function token(candidate: Json): JsonObject {
  const text = isObject(candidate) ? textOrEmpty(candidate["token"]) : "";
  const logprob =
    isObject(candidate) && typeof candidate["logProbability"] === "number" ? candidate["logProbability"] : 0;
  return { token: text, logprob, bytes: [...Buffer.from(text, "utf8")] };
}

// Classifies errors on Vertex AI in their three forms: Anthropic's from Claude itself, OpenAI's from servers of open
// models, and Google's from everything in front of both.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { classifyError as classifyClaude } from "../anthropic/errors.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { classifyError as classifyGoogle } from "../gemini/errors.ts";
import type { ErrorAnswer, UpstreamFailure } from "../interface/upstream-failure.ts";
import { openModels } from "./open-models.ts";

export function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const body = readErrorJson(answer.body);
  const outer = Array.isArray(body) ? (body as readonly Json[])[0] : body;
  if (!isObject(outer)) return classifyGoogle(answer);
  if (outer["type"] === "error") return classifyClaude(answer);
  const error: JsonObject = isObject(outer["error"]) ? outer["error"] : outer;
  const isGoogles = typeof error["status"] === "string" || Array.isArray(error["details"]);
  return !isGoogles && typeof error["type"] === "string" ? openModels.classifyError(answer) : classifyGoogle(answer);
}

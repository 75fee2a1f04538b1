// The forms of `GET /models` that other clients than those of chat completions read (promise 12.12).
import type { ClientDeviationName } from "../core/configured/client-deviations.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { invalidRequest } from "../core/refusals.ts";

/** What a request says of the form that it reads. */
export interface ListingRequest {
  readonly headers: Headers;
  /** The value of a parameter of the query. */
  readonly query: (name: string) => string | undefined;
  /** Whether what is done for named clients is done for the caller. */
  readonly deviates: (name: ClientDeviationName) => boolean;
}

/** The header with which clients of the Messages API say its version. */
const MESSAGES_VERSION = "anthropic-version";

/** Sent by Codex, which reads a form of its own: https://github.com/openai/codex (codex-rs, models endpoint). */
const CODEX_VERSION = "client_version";

/** Returns the list in the form of who asks. */
export function listingFor(models: readonly JsonObject[], { headers, query, deviates }: ListingRequest): JsonObject {
  if (headers.has(MESSAGES_VERSION)) return pageOfModels(models.map(messagesModel), query);
  // an entry of that form holds the instructions of the agent for the model; without one the client uses its own
  if (query(CODEX_VERSION) !== undefined && deviates("client_version_listing")) return { models: [] };
  return { object: "list", data: models };
}

/** Returns one model in the form of who asks. */
export function modelFor(model: JsonObject, { headers }: Pick<ListingRequest, "headers">): JsonObject {
  return headers.has(MESSAGES_VERSION) ? messagesModel(model) : model;
}

/** https://platform.claude.com/docs/en/api/models-list */
function messagesModel({ id, name, created, context_length: context, top_provider: limits }: JsonObject): JsonObject {
  const bound = (limits as JsonObject | undefined)?.["max_completion_tokens"];
  return {
    type: "model",
    id,
    display_name: name ?? id,
    created_at: new Date(Number(created) * 1000).toISOString().replace(".000Z", "Z"),
    ...(context !== undefined && { max_input_tokens: context }),
    ...(bound !== undefined && { max_tokens: bound }),
  };
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 1000;

function pageOfModels(models: readonly JsonObject[], query: ListingRequest["query"]): JsonObject {
  const limit = pageLimit(query("limit"));
  const [after, before] = [placeOf(query("after_id"), models), placeOf(query("before_id"), models)];
  const from = after === null ? 0 : after + 1;
  const all = models.slice(from, before ?? models.length);
  // a page before a model is the one that ends there
  const data = before === null ? all.slice(0, limit) : all.slice(-limit);
  const idOf = (model: JsonObject | undefined): Json => model?.["id"] ?? null;
  return { data, has_more: data.length < all.length, first_id: idOf(data[0]), last_id: idOf(data.at(-1)) };
}

function pageLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PAGE;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE) return limit;
  throw invalidRequest("limit", `limit must be an integer from 1 to ${MAX_PAGE}.`);
}

function placeOf(id: string | undefined, models: readonly JsonObject[]): number | null {
  const place = id === undefined ? -1 : models.findIndex((model) => model["id"] === id);
  return place < 0 ? null : place;
}

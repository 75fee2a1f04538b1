// What the paths below /responses answer from what is kept. https://platform.openai.com/docs/api-reference/responses/get
import { GatewayError } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { invalid } from "../../core/params.ts";
import { findResponse, type KeptResponse, type KeptStores, removeResponse } from "./kept-responses.ts";

export interface KeptResponseRequest {
  readonly kept: KeptStores;
  readonly token: AccessToken;
  readonly id: string;
  readonly query: (name: string) => string | undefined;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** Throws `not_found`, and `invalid_request` for a stream: only responses that run in the background have one. */
export async function retrievedResponse(request: KeptResponseRequest): Promise<JsonObject> {
  const { response } = await foundIn(request);
  const { query } = request;
  for (const name of ["stream", "starting_after"])
    if (query(name) !== undefined && query(name) !== "false")
      throw new GatewayError(
        "invalid_request",
        `${name} needs a response that runs in the background, which is not served.`,
        {
          param: name,
        },
      );
  return response;
}

export async function deletedResponse(request: KeptResponseRequest): Promise<JsonObject> {
  await removeResponse(request.kept, await foundIn(request));
  return { id: request.id, object: "response", deleted: true };
}

export async function cancelledResponse(request: KeptResponseRequest): Promise<JsonObject> {
  await foundIn(request);
  throw new GatewayError(
    "invalid_request",
    "This response did not run in the background, so that it cannot be cancelled; close the connection of a call to end it.",
  );
}

/** The newest item is the first, unless the request says otherwise. */
export async function inputItems(request: KeptResponseRequest): Promise<JsonObject> {
  const { input } = await foundIn(request);
  const { query } = request;
  const order = query("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalid("order", '"asc" or "desc"', order);
  const limit = Number(query("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalid("limit", `an integer from 1 to ${MAX_LIMIT}`, query("limit"));
  const items = order === "asc" ? input : input.toReversed();
  const after = query("after");
  const first = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && first === 0) throw invalid("after", "the id of an item of this response", after);
  const data = items.slice(first, first + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: first + data.length < items.length,
  };
}

async function foundIn({ kept, token, id }: KeptResponseRequest): Promise<KeptResponse> {
  const found = await findResponse(kept, token, id);
  if (found !== null) return found;
  throw new GatewayError(
    "not_found",
    `No response with the id ${JSON.stringify(id.slice(0, 100))} is kept for this caller. Responses are kept for an hour at most, unless the project keeps them with its content.`,
  );
}

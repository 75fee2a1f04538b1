// Keeps the response of a call, where the caller, the scopes and the guards allow it, and says in the headers whether and
// until when it is kept (promise 12.8).
import type { KeptStore } from "../../chat/keeping/kept-store.ts";
import type { ReadyCall } from "../../chat/operation.ts";
import type { JsonObject } from "../../core/json.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { settingsOf, type Snapshot } from "../../core/snapshot.ts";
import { keepResponse } from "./kept-responses.ts";
import { memoOf } from "./request-memo.ts";

export interface ResponseKeeping {
  /** Called with a response that is complete, or that was cut at its bound. */
  readonly keep: (response: JsonObject) => void;
  /** Adds to the headers of the answer what became of it. */
  tell(headers: Headers): Promise<void>;
}

/** Each scope can say that nothing is kept. */
export function mayKeep(snapshot: Snapshot, tenantId: string, projectId: string | null): boolean {
  return settingsOf({ tenantId, projectId }, snapshot).every((scope) => scope?.keepsResponses !== false);
}

/** Returns `null` where the response of the call may not be kept. */
export function responseKeeping({ call, request, principal, explains }: ReadyCall): ResponseKeeping | null {
  const { kept } = call.context;
  const input = memoOf(request).kept;
  const { tenantId, projectId, tokenId, userId } = principal;
  if (kept === null || input === null || explains || !mayKeep(call.snapshot, tenantId, projectId)) return null;
  // a guard masks only what is sent on, and what is kept would repeat the rest
  if (call.policies?.guardsRequests === true) return null;
  const owner = { tenantId, projectId, tokenId, userId };
  const keeping = (response: JsonObject): MaybePromise<boolean> =>
    keepResponse(kept, { owner, response, input: input.items }, input.own);
  return request.params.stream === true ? ofStream(kept, keeping, call.lifetime) : ofBody(kept, keeping);
}

/** The head of a stream leaves before its response is kept. The last event waits for that. */
function ofStream(
  kept: KeptStore<unknown>,
  keeping: (response: JsonObject) => MaybePromise<boolean>,
  lifetime: ReadyCall["call"]["lifetime"],
): ResponseKeeping {
  const { isAway } = kept;
  return {
    keep(response) {
      if (isAway) return;
      const keeps = keeping(response);
      if (isPending(keeps)) lifetime.holdsUp(keeps.then(NOTHING, NOTHING));
    },
    async tell(headers) {
      tell(headers, !isAway, kept);
    },
  };
}

const NOTHING = (): void => {};

function ofBody(kept: KeptStore<unknown>, keeping: (response: JsonObject) => MaybePromise<boolean>): ResponseKeeping {
  let keeps: MaybePromise<boolean> = false;
  return {
    keep(response) {
      keeps = keeping(response);
      if (isPending(keeps)) keeps.catch(NOTHING);
    },
    async tell(headers) {
      tell(headers, isPending(keeps) ? await keeps.catch(() => false) : keeps, kept);
    },
  };
}

function tell(headers: Headers, isKept: boolean, { untilMs }: KeptStore<unknown>): void {
  if (isKept) return headers.set("x-gateway-response-kept-until", new Date(untilMs).toISOString());
  const told = headers.get("x-gateway-warnings");
  const warnings = ["response_not_kept"];
  if (told !== null) warnings.unshift(told);
  headers.set("x-gateway-warnings", warnings.join(","));
}

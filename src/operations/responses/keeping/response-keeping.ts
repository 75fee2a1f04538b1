// Keeps the response of a call, where the caller, the scopes and the guards allow it, and says in the headers whether and
// until when it is kept (promise 12.8).

// Decides (records and configuration): Is a response kept, where, and for how long? By: `placeOf`, `storeOf`. Also:
// `content-keeping.ts` (`contentKeeping`); `engine/keeping/kept-store.ts` (`KEEPING_BOUNDS`). Rule: For an hour, in memory or
// in Valkey; like the content of calls where `responses.store` is `on`; not where a guard may mask the request, or a scope
// says `off`.
import { KEEPING_BOUNDS, type KeptStore } from "../../../engine/keeping/kept-store.ts";
import type { ReadyCall } from "../../../engine/operation.ts";
import { createdOf } from "../../../core/identity.ts";
import { type JsonObject, leastJsonLength } from "../../../core/json.ts";
import { isPending, type MaybePromise } from "../../../core/maybe-promise.ts";
import { type ResponsesStore, settingsOf, type Snapshot } from "../../../core/snapshot.ts";
import { parseJson } from "../../../wire/json/json.ts";
import { contentKeeping } from "./content-keeping.ts";
import type { HiddenCarrier } from "./hidden-carriers.ts";
import { type Keeper, keepResponse, keptWith } from "./kept-responses.ts";
import type { KeptOwner } from "./opened-responses.ts";
import { type KeptInput, memoOf } from "../request-memo.ts";

/** `hidden` has the carriers of its output. */
export type KeepResponse = (response: JsonObject, hidden?: readonly HiddenCarrier[]) => void;

export interface ResponseKeeping {
  /** Whether the response is kept like content, so that it says `store: true`. */
  readonly isStored: boolean;
  /** Called with a response that is complete, or that was cut at its bound; `null` where it is not kept. */
  readonly keep: KeepResponse | null;
  /** Returns the answer with what became of it in its headers. */
  readonly told: (answer: Response) => Promise<Response>;
}

/** The narrowest scope decides, but each can turn it off. Only a project that keeps content keeps responses like it. */
export function storeOf(
  snapshot: Snapshot,
  place: { readonly tenantId: string; readonly projectId: string | null },
): ResponsesStore {
  const said = settingsOf(place, snapshot).map((scope) => scope?.responsesStore);
  if (said.includes("off")) return "off";
  const isKept = place.projectId !== null && snapshot.contentLogs.get(place.projectId)?.isStored === true;
  return isKept && said.find((one) => one !== undefined) === "on" ? "on" : "ephemeral";
}

/** Where the response of a call is kept, and what with it. */
export interface KeptPlace {
  readonly owner: KeptOwner;
  readonly input: KeptInput;
  readonly keeper: Keeper;
  /** What is kept of a call while it runs. */
  readonly kept: KeptStore<unknown>;
}

/** Returns `null` where the response of the call may not be kept. */
export function placeOf(ready: ReadyCall): KeptPlace | null {
  const { call, request, principal } = ready;
  const { kept, durable } = call.context;
  const input = memoOf(request).kept;
  const { tenantId, projectId, tokenId, userId } = principal;
  const store = storeOf(call.snapshot, principal);
  if (kept === null || input === null || store === "off") return null;
  // a guard masks only what is sent on, and what is kept would repeat the rest
  if (call.policies?.requests.mayMask === true) return null;
  const owner = { tenantId, projectId, tokenId, userId, created: createdOf(principal, call.snapshot) };
  const keeper = store === "on" && durable !== null ? contentKeeping(ready, durable) : keptForAWhile(kept);
  return { owner, input, keeper: input.isTooLarge === true ? keepingNothing(keeper) : keeper, kept };
}

/** Returns `null` where the response of the call may not be kept, and nobody expects it to be. */
export function responseKeeping(ready: ReadyCall): ResponseKeeping | null {
  const place = ready.explains ? null : placeOf(ready);
  if (place === null) return isExpected(ready) ? NOT_KEPT : null;
  const { keeper, owner, input } = place;
  const { call, request } = ready;
  const keeping = (response: JsonObject, hidden: readonly HiddenCarrier[]): MaybePromise<boolean> =>
    // no store writes the JSON of what it would not keep, which takes long
    leastJsonLength(response, KEEPING_BOUNDS.objectBytes) <= KEEPING_BOUNDS.objectBytes &&
    keeper.keep({ owner, response, hidden, ...keptWith(input) });
  return request.params.stream === true ? ofStream(keeper, keeping, call.lifetime) : ofBody(keeper, keeping);
}

/** Known before the answer, so that the head of a stream says it. */
function keepingNothing({ untilMs }: Keeper): Keeper {
  return { isStored: false, isAway: true, untilMs, keep: () => false };
}

function keptForAWhile(kept: KeptStore<unknown>): Keeper {
  return {
    isStored: false,
    isAway: kept.isAway,
    get untilMs() {
      return kept.untilMs;
    },
    keep: (value) => keepResponse(kept, value),
  };
}

/** Whether a response of this caller would be kept, if no guard could mask its request. */
function isExpected({ call, request, principal, explains }: ReadyCall): boolean {
  if (call.context.kept === null || explains || !memoOf(request).mayBeKept) return false;
  return storeOf(call.snapshot, principal) !== "off";
}

const NOT_KEPT: ResponseKeeping = {
  isStored: false,
  keep: null,
  async told(answer) {
    warnNotKept(answer.headers);
    return answer;
  },
};

type Keeping = (response: JsonObject, hidden: readonly HiddenCarrier[]) => MaybePromise<boolean>;

/** The head of a stream leaves before its response is kept. The last event waits for that. */
function ofStream(keeper: Keeper, keeping: Keeping, lifetime: ReadyCall["call"]["lifetime"]): ResponseKeeping {
  const { isAway, isStored } = keeper;
  return {
    isStored,
    keep(response, hidden = []) {
      const keeps = keeping(response, hidden);
      if (!isPending(keeps)) return;
      const over = keeps.then(NOTHING, NOTHING);
      // a store that was away is asked again, because nobody else may ask it, but no client waits for it
      if (!isAway) lifetime.holdsUp(over);
    },
    async told(answer) {
      tell(answer.headers, !isAway, keeper);
      return answer;
    },
  };
}

const NOTHING = (): void => {};

function ofBody(keeper: Keeper, keeping: Keeping): ResponseKeeping {
  let keeps: MaybePromise<boolean> = false;
  return {
    isStored: keeper.isStored,
    keep(response, hidden = []) {
      keeps = keeping(response, hidden);
      if (isPending(keeps)) keeps.catch(NOTHING);
    },
    async told(answer) {
      const isKept = isPending(keeps) ? await keeps.catch(() => false) : keeps;
      tell(answer.headers, isKept, keeper);
      return keeper.isStored && !isKept ? await withoutStore(answer) : answer;
    },
  };
}

/** The body was written before the response could not be kept. */
async function withoutStore(answer: Response): Promise<Response> {
  const body = parseJson(await answer.text()) as JsonObject;
  return new Response(JSON.stringify({ ...body, store: false }), answer);
}

function tell(headers: Headers, isKept: boolean, { untilMs }: Keeper): void {
  if (isKept) headers.set("x-gateway-response-kept-until", new Date(untilMs).toISOString());
  else warnNotKept(headers);
}

function warnNotKept(headers: Headers): void {
  const told = headers.get("x-gateway-warnings");
  const warnings = ["response_not_kept"];
  if (told !== null) warnings.unshift(told);
  headers.set("x-gateway-warnings", warnings.join(","));
}

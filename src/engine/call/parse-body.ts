// Turns the bytes of a body into a request, with what is kept of the earlier answers to which it refers. One that is long,
// alone or with those, is parsed in another thread (promise 5.8).
import type { ChatRequest } from "../../core/chat.ts";
import { type Json, leastJsonLength } from "../../core/json.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import type { FormCaller, Operation } from "../operation.ts";
import type { CallClock } from "./call-clock.ts";
import { bodyText } from "./read-body.ts";

/**
 * Returns the request that a body makes; one that another thread holds has to be released in the end. `isHere`: this thread
 * needs all of its values. Throws, or rejects with, GatewayError.
 */
export function parseBody(
  operation: Operation,
  caller: FormCaller,
  body: Uint8Array,
  { isHere, clock }: { readonly isHere: boolean; readonly clock: CallClock },
): MaybePromise<ChatRequest> {
  const { form, keeping, hasNoTarget } = operation;
  const { token, context, snapshot } = caller;
  const bounds = snapshot.limits.body;
  // the other thread runs no tools
  const longRequests = isHere || hasNoTarget === true ? null : context.longRequests;
  const names = keeping?.isFor(caller) === true ? form.keeping! : null;
  const find = (named: unknown): Promise<unknown> => clock.waiting(keeping!.find(caller, named));
  if (longRequests !== null && body.length >= LONG_BODY_BYTES)
    return longRequests.open(body, snapshot.limits, token.tenantId, operation, names === null ? null : find);
  const text = bodyText(body);
  if (names === null) return form.parse(text, bounds);
  const named = names.mayName(body) ? names.namedIn(text, bounds) : null;
  if (named === null) return names.formWith(null).parse(text, bounds);
  return find(named).then((found) =>
    longRequests !== null && leastJsonLength(found as Json, LONG_BODY_BYTES) >= LONG_BODY_BYTES
      ? longRequests.open(body, snapshot.limits, token.tenantId, operation, async () => found)
      : names.formWith(found).parse(text, bounds),
  );
}

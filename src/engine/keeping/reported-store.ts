// A store of kept objects that says when it cannot be reached, and when it works again. A caller gets an error of the
// gateway in the place of that of the store.
import { GatewayError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { type KeptStore, NoRoom } from "./kept-store.ts";

/** `onChange` is called with the error when the store begins to fail, and with `null` when it works again. */
export function reportedStore<Value>(store: KeptStore<Value>, onChange: (error: unknown) => void): KeptStore<Value> {
  let isAway = false;
  const reported = async <Result>(run: () => MaybePromise<Result>): Promise<Result> => {
    try {
      const result = await run();
      if (isAway) onChange(null);
      isAway = false;
      return result;
    } catch (error) {
      if (error instanceof NoRoom)
        throw new GatewayError(
          "kept_store_unavailable",
          "The store of responses that are kept has no room now, so that nothing more is kept.",
          { cause: error },
        );
      if (!isAway) onChange(error);
      isAway = true;
      throw new GatewayError(
        "kept_store_unavailable",
        "The store of responses that are kept cannot be reached now, so that nobody knows whether this one is kept.",
        { cause: error },
      );
    }
  };
  return {
    get untilMs() {
      return store.untilMs;
    },
    get isAway() {
      return isAway;
    },
    keep: (object) => reported(() => store.keep(object)),
    find: (tenantId, id) => reported(() => store.find(tenantId, id)),
    remove: (tenantId, id) => reported(() => store.remove(tenantId, id)),
    removeAll: (tenantId, projectId) => reported(() => store.removeAll(tenantId, projectId)),
    close: () => store.close(),
  };
}

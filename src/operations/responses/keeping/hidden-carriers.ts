// Carriers that are kept beside a response, so that a call which refers to it gives the provider what it needs back, and gives
// no other provider what this one has encrypted (promise 12.9); the client is not shown them.
import type { JsonObject } from "../../../core/json.ts";

export interface HiddenCarrier {
  /** The number of items of the output before it. */
  readonly at: number;
  /** The id of the item that it belongs to; `null` where the client is shown no such item. */
  readonly item: string | null;
  /** `null` for more than may be carried. */
  readonly carrier: string | null;
}

/** Returns the output of a response with its carriers, which take the place of what the client was shown. */
export function withHiddenCarriers(
  output: readonly JsonObject[],
  hidden: readonly HiddenCarrier[],
): readonly JsonObject[] {
  if (hidden.length === 0) return output;
  const alone = (at: number): readonly JsonObject[] =>
    hidden
      .filter((one) => one.item === null && one.at === at)
      .flatMap(({ carrier }) => carrier ?? [])
      .map((carrier) => ({ type: "reasoning", summary: [], encrypted_content: carrier }));
  const whole = output.flatMap((item, at) => {
    const own = hidden.find((one) => one.item !== null && one.item === item["id"]);
    return [...alone(at), own === undefined ? item : withCarrier(item, own.carrier)];
  });
  return [...whole, ...alone(output.length)];
}

function withCarrier(item: JsonObject, carrier: string | null): JsonObject {
  const { encrypted_content: _shown, ...others } = item;
  return carrier === null ? others : { ...others, encrypted_content: carrier };
}

/** Returns the items by their ids; items without an id stand with the one behind them, or at the end with the last. */
export function itemsById(items: readonly JsonObject[]): ReadonlyMap<string, readonly JsonObject[]> {
  const found = new Map<string, JsonObject[]>();
  let waiting: JsonObject[] = [];
  let last = waiting;
  for (const item of items) {
    waiting.push(item);
    if (typeof item["id"] !== "string") continue;
    found.set(item["id"], waiting);
    last = waiting;
    waiting = [];
  }
  if (last !== waiting) last.push(...waiting);
  return found;
}

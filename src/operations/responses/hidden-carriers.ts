// Carriers of reasoning that the client did not ask for. They are kept with the response, so that a call which refers to it
// gives the provider what it needs back (promise 12.9); the client is not shown them.
import type { JsonObject } from "../../core/json.ts";

export interface HiddenCarrier {
  /** The number of items of the output before it. */
  readonly at: number;
  /** The id of the reasoning item that it belongs to; `null` where the client is shown no such item. */
  readonly item: string | null;
  readonly carrier: string;
}

/** Returns the output of a response with its carriers, as if the client had asked for them. */
export function withHiddenCarriers(
  output: readonly JsonObject[],
  hidden: readonly HiddenCarrier[],
): readonly JsonObject[] {
  if (hidden.length === 0) return output;
  const alone = (at: number): readonly JsonObject[] =>
    hidden
      .filter((one) => one.item === null && one.at === at)
      .map(({ carrier }) => ({ type: "reasoning", summary: [], encrypted_content: carrier }));
  const whole = output.flatMap((item, at) => {
    const own = hidden.find((one) => one.item !== null && one.item === item["id"]);
    return [...alone(at), own === undefined ? item : { ...item, encrypted_content: own.carrier }];
  });
  return [...whole, ...alone(output.length)];
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

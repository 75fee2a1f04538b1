// The limits of the drill of replicas, and what the provider's books must never show (promises 4.1, 4.2). Each round of
// faults has routes of its own, whose limits are not used up yet. The model of a route has the route's name, by which
// the books identify it.
import { type BookkeepingUpstream, usageOf } from "../ledger/upstream.ts";

export const AT_ONCE = ["plain", "streams", "plain-killed", "streams-killed"] as const;
export const AT_ONCE_LIMIT = 10;
const SMALL = 10;
/** Large enough to be leased in parts. */
const LARGE = 300;
const TOKENS = 15_000;
const SLOTS = 6;
const MINUTE = 90;
const MINUTE_MS = 60_000;
/** The longest time between admission and the arrival at the provider; no gateway is frozen for longer. */
const LATE_MS = 4000;
/** The price of a token in nano-dollars. */
const NANO_USD_A_TOKEN = 1000;
const NANO_USD = 12_000_000;

const KINDS = ["small", "large", "tokens", "money"] as const;
const ALWAYS = ["free", "shared", "slots", "minute"] as const;
/** Routes that no limit refuses, even while the limit store is down. */
export const FREE: ReadonlySet<string> = new Set(["free", "shared"]);

/**
 * When Redis loses its data, the usage of gateways that were killed is forgotten (docs/design/shared-limits.md). After
 * that, routes with limits from before the loss are not used any more.
 */
export function routesOf(round: number, isForgotten: boolean): readonly string[] {
  return [...ALWAYS.filter((route) => !isForgotten || route !== "minute"), ...KINDS.map((kind) => `${kind}${round}`)];
}

export function drillConfig(upstream: string, rounds: number): string {
  const numbers = Array.from({ length: rounds }, (_, round) => round);
  const routes = [
    ...AT_ONCE,
    "changing",
    ...ALWAYS,
    ...numbers.flatMap((round) => KINDS.map((kind) => `${kind}${round}`)),
  ];
  const requests = (route: string, limit: number, window: string, more = ""): string =>
    `  ${route}: {metric: requests, window: ${window}, limit: ${limit}, scope: {route: ${route}}, on_store_failure: closed${more}}`;
  return `
providers:
  books: { type: custom, base_url: "${upstream}" }
prices:
  books: { model: "books:*", per: token, prompt: "0.000001", completion: "0.000001" }
routes:
${routes.map((route) => `  ${route}: {targets: ["books:${route}"]}`).join("\n")}
limits:
${[...AT_ONCE.map((route) => requests(route, AT_ONCE_LIMIT, "day")), ...numbers.flatMap((round) => [requests(`small${round}`, SMALL, "day"), requests(`large${round}`, LARGE, "day")])].join("\n")}
${requests("minute", MINUTE, "minute")}
  slots: {metric: concurrency, limit: ${SLOTS}, scope: {route: slots}, on_store_failure: closed}
  shared: {metric: requests, window: minute, limit: 1000000, scope: {route: shared}}
budgets:
${numbers.flatMap((round) => [`  tokens${round}: {tokens: ${TOKENS}, window: total, scope: {route: tokens${round}}, on_store_failure: closed}`, `  money${round}: {usd: "${NANO_USD / 1e9}", window: total, scope: {route: money${round}}, on_store_failure: closed}`]).join("\n")}
`;
}

/** Returns the limits that were exceeded by the provider's own books. */
export function overdrawn({ models }: BookkeepingUpstream): readonly string[] {
  const faults: string[] = [];
  const most = (what: string, found: number, limit: number): void => {
    if (found > limit) faults.push(`${what}: the provider's books have ${found}, and the limit is ${limit}`);
  };
  for (const [model, { arrivals, mostAtOnce }] of models) {
    const used = arrivals.reduce(
      (sum, { call }) => sum + usageOf(call).promptTokens + usageOf(call).completionTokens,
      0,
    );
    if ((AT_ONCE as readonly string[]).includes(model)) most(model, arrivals.length, AT_ONCE_LIMIT);
    if (model.startsWith("small")) most(model, arrivals.length, SMALL);
    if (model.startsWith("large")) most(model, arrivals.length, LARGE);
    if (model.startsWith("tokens")) most(model, used, TOKENS);
    if (model.startsWith("money")) most(model, used * NANO_USD_A_TOKEN, NANO_USD);
    if (model === "slots") most("slots at once", mostAtOnce, SLOTS);
    if (model === "minute") {
      let first = 0;
      for (const [index, { atMs }] of arrivals.entries()) {
        while (atMs - arrivals[first]!.atMs >= MINUTE_MS - LATE_MS) first += 1;
        if (index - first + 1 > MINUTE)
          return [
            ...faults,
            `minute: ${index - first + 1} calls within ${(atMs - arrivals[first]!.atMs) / 1000} s, and the limit is ${MINUTE} in a minute`,
          ];
      }
    }
  }
  return faults;
}

/** Returns how many calls of a route were served, for the output of the drill. */
export function servedOf({ models }: BookkeepingUpstream, route: string): number {
  return models.get(route)?.arrivals.length ?? 0;
}

// The copies of calls in flight (promise 16.1): bounded for each mirror and for the process, and cut at the end of the
// process, which does not wait for their answers.
import { GatewayError } from "../../core/errors.ts";
import type { RouteMirror } from "../../core/configured/route.ts";
import type { Copies, InFlightCall, Routing } from "../call/context.ts";
import { HeldBytes } from "../call/held-bytes.ts";

/** In one process. Each holds its request, which is bounded as well. */
export const MOST_COPIES = 256;

export class OpenCopies implements Copies {
  readonly routing: Routing;
  readonly held = new HeldBytes();
  /** By the key of the route. */
  readonly #ofRoute = new Map<string, number>();
  readonly #calls = new Set<InFlightCall>();
  #count = 0;
  #isEnding = false;
  #emptied: (() => void) | null = null;

  constructor(routing: Routing) {
    this.routing = routing;
  }

  begin(routeKey: string, { maxInFlight }: Pick<RouteMirror, "maxInFlight">): (() => void) | null {
    const own = this.#ofRoute.get(routeKey) ?? 0;
    if (this.#isEnding || own >= maxInFlight || this.#count >= MOST_COPIES) return null;
    this.#ofRoute.set(routeKey, own + 1);
    this.#count += 1;
    return () => this.#ended(routeKey);
  }

  #ended(routeKey: string): void {
    const left = this.#ofRoute.get(routeKey)! - 1;
    if (left > 0) this.#ofRoute.set(routeKey, left);
    else this.#ofRoute.delete(routeKey);
    this.#count -= 1;
    if (this.#count === 0) this.#emptied?.();
  }

  enter(call: InFlightCall): void {
    if (this.#isEnding) throw cutError();
    this.#calls.add(call);
  }

  leave(call: InFlightCall): void {
    this.#calls.delete(call);
  }

  /** Cuts all copies. Resolves when their records are written. */
  async close(): Promise<void> {
    this.#isEnding = true;
    for (const call of this.#calls) call.abandon?.(cutError());
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => (this.#emptied = resolve));
  }
}

function cutError(): GatewayError {
  return new GatewayError("shutting_down", "The gateway is shutting down, which does not wait for copies of calls.");
}

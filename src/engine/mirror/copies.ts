// The copies of calls in flight (promise 16.1): bounded for each mirror and for the process, and cut at the end of the
// process, which does not wait for their answers.
import { OpenCount } from "../../core/concurrency/open-count.ts";
import { GatewayError } from "../../core/errors.ts";
import type { RouteMirror } from "../../core/configured/route.ts";
import type { Copies, InFlightCall, Routing } from "../call/context.ts";
import { HeldBytes } from "../call/held-bytes.ts";

/** In one process, half of them of one tenant. Each holds its request, which is bounded as well. */
const MOST_COPIES = 512;

export class OpenCopies implements Copies {
  readonly routing: Routing;
  readonly held = new HeldBytes(
    (most) =>
      `The answers to copies would hold more than ${most} bytes, or those of this tenant more than half of that.`,
  );
  readonly #open = new OpenCount(MOST_COPIES);
  readonly #calls = new Set<InFlightCall>();
  #isEnding = false;
  #emptied: (() => void) | null = null;

  constructor(routing: Routing) {
    this.routing = routing;
  }

  begin(tenantId: string, routeKey: string, { maxInFlight }: Pick<RouteMirror, "maxInFlight">): (() => void) | null {
    const ended = this.#isEnding ? null : this.#open.begin(tenantId, routeKey, maxInFlight);
    if (ended === null) return null;
    return () => {
      ended();
      if (this.#open.all === 0) this.#emptied?.();
    };
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
    if (this.#open.all === 0) return;
    await new Promise<void>((resolve) => (this.#emptied = resolve));
  }
}

function cutError(): GatewayError {
  return new GatewayError("shutting_down", "The gateway is shutting down, which does not wait for copies of calls.");
}

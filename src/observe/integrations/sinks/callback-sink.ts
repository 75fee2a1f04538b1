// Calls the functions of an operator's module one after the other, in a thread that does nothing else. The thread that
// serves calls monitors this one.
import { pathToFileURL } from "node:url";
import { systemClock } from "../../../core/clock.ts";
import { untilOver, withTimeout } from "../../../core/concurrency/timeout.ts";
import { messageOf } from "../../../core/thrown.ts";
import { isPending } from "../../../core/maybe-promise.ts";
import type { Callbacks, CallStart, StreamChunk } from "../callback.ts";
import type { CallbackSettings } from "./callback-settings.ts";
import { type RecordedCall, type Sink, SinkFault } from "../sink.ts";

export type CallbackItem =
  | { readonly kind: "end"; readonly call: RecordedCall }
  | { readonly kind: "start"; readonly event: CallStart }
  | { readonly kind: "chunk"; readonly event: StreamChunk };

/**
 * Functions that return at once would follow each other without a pause, and no heartbeat could be sent between them.
 */
const TURN_MS = 50;

const NAMES = ["onCallStart", "onCallEnd", "onStreamChunk"] as const;

export async function openCallbackSink({
  module,
  content,
  delivery,
}: Pick<CallbackSettings, "module" | "content" | "delivery">): Promise<Sink<CallbackItem>> {
  const callbacks = callbacksOf(await import(pathToFileURL(module).href));
  const late = (): Error => new Error(`it did not finish within ${delivery.timeoutMs} ms`);
  const call = (item: CallbackItem): unknown => {
    if (item.kind === "start") return callbacks.onCallStart?.(item.event);
    if (item.kind === "chunk") return callbacks.onStreamChunk?.(item.event);
    return callbacks.onCallEnd?.(item.call.record, content ? item.call.content : null);
  };
  return {
    async deliver(items, signal) {
      let rejected = 0;
      let why = "";
      let sinceMs = systemClock.monotonic();
      for (const item of items) {
        if (systemClock.monotonic() - sinceMs >= TURN_MS) {
          await Bun.sleep(0);
          sinceMs = systemClock.monotonic();
        }
        try {
          // The signal is aborted only at the end of the process.
          if (signal.aborted) throw signal.reason;
          const doing = call(item);
          if (isPending(doing)) await withTimeout(untilOver(doing, signal), delivery.timeoutMs, late);
        } catch (thrown) {
          rejected += 1;
          why = messageOf(thrown);
        }
      }
      return { rejected, why };
    },
    close: () => Promise.resolve(),
  };
}

function callbacksOf(module: unknown): Callbacks {
  const exported = module as Record<string, unknown>;
  const found = NAMES.filter((name) => typeof exported[name] === "function");
  if (found.length === 0) throw new SinkFault(`the module exports none of ${NAMES.join(", ")}`, { isRetryable: false });
  return Object.fromEntries(found.map((name) => [name, exported[name]])) as Callbacks;
}

// The stage that follows when a request is longer than the context window of a target: one model with a longer one, which
// the request or its route names.
import { directRoute, type RouteTarget } from "../../core/configured/route.ts";
import { contextWindowFallback, splitModel } from "../../routing/resolve-route.ts";
import { type Entry, requestForEntry } from "../fit/entry-request.ts";
import type { RouteStage, Serving } from "./candidate.ts";
import { type Preparing, stageOf, withOnlyTarget } from "./stage.ts";

export function contextWindowStage(preparing: Preparing, serving: Serving, target: RouteTarget): RouteStage | null {
  const { route, request, origin } = serving;
  const requested = contextWindowFallback(preparing.sent.options.contextWindowFallbacks, target);
  const model = requested ?? contextWindowFallback(route.contextWindowFallbacks, target);
  if (model === null) return null;
  const [longer] = directRoute(splitModel(model, preparing.call.snapshot, "context_window_fallback_dict")).targets;
  return stageOf(preparing, serving, {
    request: requestForEntry(request, entryOf(model)),
    // the caller's own map names models just as a request does
    origin: requested === null ? origin : { ...origin, covered: false, via: null },
    route: withOnlyTarget(route, longer!),
    targets: [longer!],
    label: longer!.name,
    group: {},
  });
}

function entryOf(model: string): Entry {
  return { model, route: null, params: {} };
}

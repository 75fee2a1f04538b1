// One call with its details, and what is around it where the page shows that.
import { useClock } from "../../clock.ts";
import { useRead } from "../../api/use-api.tsx";
import type { CallDetail } from "../../api/types.ts";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { mayRun } from "./running.ts";

const AGAIN_MS = 1500;

export function useCall(id: string, { withAround }: { readonly withAround: boolean }) {
  const clock = useClock();
  return useRead<CallDetail>(detailPath(useScope(), id, withAround), {
    keepsPrevious: false,
    // a call that still runs is recorded when it has ended
    untilFound: mayRun(id, clock()) ? AGAIN_MS : null,
  });
}

export function detailPath(scope: Scope, id: string, withAround: boolean): string {
  return adminPath(scope, `/calls/${encodeURIComponent(id)}${withAround ? "" : "?around=false"}`);
}

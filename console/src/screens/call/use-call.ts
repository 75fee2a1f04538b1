// One call with its details, and what is around it where the page shows that.
import { useRead } from "../../api/use-api.tsx";
import type { CallDetail } from "../../api/types.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";

export function useCall(id: string, { withAround }: { readonly withAround: boolean }) {
  const path = `/calls/${encodeURIComponent(id)}${withAround ? "" : "?around=false"}`;
  return useRead<CallDetail>(adminPath(useScope(), path), { keepsPrevious: false });
}

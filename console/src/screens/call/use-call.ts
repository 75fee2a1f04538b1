// One call with its details.
import { useRead } from "../../api/use-api.tsx";
import type { LoggedCallDetail } from "../../api/types.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";

export function useCall(id: string) {
  return useRead<LoggedCallDetail>(adminPath(useScope(), `/logs/${encodeURIComponent(id)}`), { keepsPrevious: false });
}

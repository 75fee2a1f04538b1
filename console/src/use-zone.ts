// The time zone in which a page shows times: the browser's, UTC, or that of the reports of the tenant in scope.
import { ownZone, UTC, type Zone } from "./format/time.ts";
import { usePreferences } from "./preferences-context.tsx";
import { useScope } from "./scope/scope-context.tsx";
import { tenantZone } from "./session/me.ts";
import { useMe } from "./session/session.tsx";

export function useZone(): Zone {
  const { zone } = usePreferences().preferences;
  const me = useMe();
  const scope = useScope();
  if (zone === "tenant") return tenantZone(me, scope);
  return zone === "utc" ? UTC : ownZone();
}

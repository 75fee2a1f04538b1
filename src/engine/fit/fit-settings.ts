// The settings that decide how a request is fitted: those of route, project, tenant and gateway, and for `drop_params` the
// request's own before them (promise 6.4).
import { type ClientDeviationName, deviates } from "../../core/configured/client-deviations.ts";
import type { CallOptions } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import type { Route } from "../../core/configured/route.ts";
import { type ScopeSettings, settingsOf, type Snapshot } from "../../core/snapshot.ts";
import type { FitSettings } from "./fit.ts";

type Switch = "dropParams" | "disableStopSequenceLimit";
type Scopes = readonly (Pick<ScopeSettings, Switch> | undefined)[];
const SCOPE_NAMES = ["route", "project", "tenant", "global"] as const;

export function settingsFor(
  options: CallOptions,
  principal: Principal,
  snapshot: Snapshot,
  route: Route,
): Omit<FitSettings, "drop"> {
  const scopes = scopesOf(route, principal, snapshot);
  return {
    dropParams: options.dropParams ?? decided(scopes, "dropParams"),
    disableStopSequenceLimit: decided(scopes, "disableStopSequenceLimit"),
    deviates: (name: ClientDeviationName) => deviates(name, settingsOf(principal, snapshot)),
  };
}

export type SettingOrigin = "request" | (typeof SCOPE_NAMES)[number] | "default";

/** Returns which scope decided each setting, for an explanation. */
export function settingOrigins(
  options: CallOptions,
  principal: Principal,
  snapshot: Snapshot,
  route: Route,
): Readonly<Record<Switch, SettingOrigin>> {
  const scopes = scopesOf(route, principal, snapshot);
  const origin = (setting: Switch): SettingOrigin => SCOPE_NAMES[deciding(scopes, setting)] ?? "default";
  return {
    dropParams: options.dropParams === null ? origin("dropParams") : "request",
    disableStopSequenceLimit: origin("disableStopSequenceLimit"),
  };
}

/** Returns the scopes in the order of `SCOPE_NAMES`. */
function scopesOf(route: Route, principal: Principal, { projectSettings, tenantSettings, settings }: Snapshot): Scopes {
  return [route, projectSettings.get(principal.projectId), tenantSettings.get(principal.tenantId), settings];
}

function decided(scopes: Scopes, setting: Switch): boolean {
  return scopes[deciding(scopes, setting)]?.[setting] ?? false;
}

/** Returns the index of the nearest scope that sets it, or -1 when none does. */
function deciding(scopes: Scopes, setting: Switch): number {
  for (let index = 0; index < scopes.length; index++) if ((scopes[index]?.[setting] ?? null) !== null) return index;
  return -1;
}

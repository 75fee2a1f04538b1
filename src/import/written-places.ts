// Whether a place of which the report of an import speaks is in the configuration that was made. A place is a path, such
// as `routes.chat.retries`; a model, `<provider>:<model>`; or a setting of a target, `params.top_k of <provider>:<model>`.
// Behind the last two, ` in routes.<name>` names the route of which the model has to be a target; without it, a model is
// in effect as soon as it can be called directly.
import type { IsWritten } from "./report.ts";

type Sections = Readonly<Record<string, unknown>>;

const IN_ROUTE = /^(?<what>.*) in routes\.(?<route>.*)$/s;
const OF_TARGET = /^(?<setting>\w+(?:\..*)?) of (?<model>[^:]+:.*)$/s;
/** Without these settings, targets have their defaults. */
const DEFAULTED: ReadonlySet<string> = new Set(["weight", "order", "place"]);

export function writtenPlaces(configuration: Sections): IsWritten {
  const routes = (configuration["routes"] ?? {}) as Readonly<Record<string, { readonly targets?: readonly unknown[] }>>;
  const providers = (configuration["providers"] ?? {}) as Sections;
  const targetsOf = (route: string | undefined): readonly Target[] =>
    (route === undefined ? Object.values(routes) : [routes[route] ?? {}]).flatMap(({ targets = [] }) =>
      targets.map((target) => (typeof target === "string" ? { model: target } : (target as Target))),
    );
  return (place) => {
    if (has(configuration, place)) return true;
    const { what = place, route } = IN_ROUTE.exec(place)?.groups ?? {};
    const { setting, model = what } = OF_TARGET.exec(what)?.groups ?? {};
    const found = targetsOf(route).find((target) => target.model === model);
    if (setting === undefined)
      return found !== undefined || (route === undefined && Object.hasOwn(providers, model.split(":", 1)[0]!));
    const key = setting.split(".", 1)[0]!;
    return found !== undefined && (DEFAULTED.has(key) || has(found, setting));
  };
}

interface Target {
  readonly model: string;
  readonly [key: string]: unknown;
}

/** Names of routes and other entries may have dots in them. */
function has(value: unknown, path: string): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).some(
    ([key, member]) => path === key || (path.startsWith(`${key}.`) && has(member, path.slice(key.length + 1))),
  );
}

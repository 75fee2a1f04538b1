// Finds problems of routes beyond the shape of their entries: unknown models and routes, parameters that no route can
// set, conditions and shares (entry-condition-problems.ts), and loops.
import { didYouMean } from "../config/suggestion.ts";
import { GatewayError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { memoizePerObject } from "../core/memoization.ts";
import { FIELDS } from "../core/params.ts";
import { normalizedName } from "../core/target.ts";
import { MODEL_ID } from "../providers/settings.ts";
import { shareProblems, whenProblems } from "./entry-condition-problems.ts";
import {
  compileFallback,
  fallbacksSeen,
  leadsOn,
  routeNamesSeen,
  type RouteScope,
  splitName,
} from "./compile-routes.ts";
import type { FallbackEntry, MirrorEntry, RouteDefaults, RouteEntry } from "./settings.ts";
import type { Finding, Path } from "../config/problem.ts";

export interface RouteConfiguration {
  readonly global: RouteScope;
  readonly tenants: ReadonlyMap<string, RouteScope>;
  readonly projects: ReadonlyMap<string, RouteScope>;
}

/**
 * The problems are in no particular order. `providers` has the ids that may precede the name of a model, and `headers`
 * the names of the headers that conditions may read; `null` when these are not checked. With `only`, the routes of other
 * names are read for what they are to this one, and not judged themselves.
 */
export function routeProblems(
  { global, tenants, projects }: RouteConfiguration,
  providers: ReadonlySet<string>,
  headers: ReadonlySet<string> | null,
  only: string | null = null,
): readonly Finding[] {
  const named: Named = { providers, headers, only };
  // only the database knows which tenant a project belongs to
  const ofTenants = [...tenants.values()].flatMap(({ routes }) => Object.keys(routes));
  return [
    ...(providers.has("route")
      ? [{ path: ["providers", "route"], message: "this id is reserved: `route:` is the prefix of route names" }]
      : []),
    ...scopeProblems([], [global], [], named),
    ...[...tenants].flatMap(([id, scope]) => scopeProblems(["tenants", id], [scope, global], [], named)),
    ...[...projects].flatMap(([id, scope]) => scopeProblems(["projects", id], [scope, global], ofTenants, named)),
  ];
}

/**
 * Returns the problems of one scope; `wider` has the scopes whose routes and defaults it inherits, the nearest first.
 * Paths begin with `routes` or `route_defaults`. A header that is not listed any more is no problem of the route: its
 * condition cannot be evaluated, and the entry is passed over.
 */
export function scopeRouteProblems(
  own: RouteScope,
  wider: readonly RouteScope[],
  providers: ReadonlySet<string>,
): readonly Finding[] {
  return scopeProblems([], [own, ...wider], [], { providers, headers: null, only: null });
}

/** What routes may name. */
interface Names {
  readonly providers: ReadonlySet<string>;
  /** `null` when the names of headers are not checked. */
  readonly headers: ReadonlySet<string> | null;
}

interface Named extends Names {
  /** The name of the only route that is judged; `null` for all. */
  readonly only: string | null;
}

interface Known extends Named {
  readonly routes: ReadonlySet<string>;
}

const UNCHECKED: ReadonlySet<string> = new Set();
/**
 * What is wrong with the targets of an entry, whatever routes there are beside it, below the entry's own path. An entry
 * stays the same object until it changes, and so do the names that it is judged with.
 */
const nameProblems = memoizePerObject((providers: ReadonlySet<string>) =>
  memoizePerObject((listed: ReadonlySet<string>) => {
    const known: Names = { providers, headers: listed === UNCHECKED ? null : listed };
    return memoizePerObject((entry: RouteEntry): readonly Finding[] => [
      ...targetProblems(entry, [], known),
      ...mirrorProblems(entry, [], known),
    ]);
  }),
);

/** Returns the problems of the first of `scopes`, which inherits from the others. */
function scopeProblems(
  base: Path,
  scopes: readonly RouteScope[],
  further: readonly string[],
  named: Named,
): readonly Finding[] {
  const [own] = scopes as readonly [RouteScope];
  const known: Known = {
    ...named,
    routes: further.length === 0 ? routeNamesSeen(scopes) : routeNamesSeen(scopes).union(new Set(further)),
  };
  const entries = Object.entries(own.routes);
  const judged = named.only === null ? entries : entries.filter(([name]) => name === named.only);
  return [
    ...settingProblems(own.defaults, [...base, "route_defaults"], known),
    ...judged.flatMap(([name, entry]) => {
      const at = [...base, "routes", name];
      return [
        ...nameProblems(known.providers)(known.headers ?? UNCHECKED)(entry).map(({ path, message }) => ({
          path: [...at, ...path],
          message,
        })),
        ...settingProblems(entry, at, known),
      ];
    }),
    ...aliasProblems(entries, [...base, "routes"], known),
    ...(named.only === null ? [] : nameTakenProblems(entries, [...base, "routes"], named.only)),
    ...loopProblems(base, judged, scopes),
  ];
}

/** An alias may have the form `<provider>/<model>`, which it then precedes; with a colon, a model is always a model. */
function aliasProblems(
  entries: readonly (readonly [string, RouteEntry])[],
  base: Path,
  { routes, providers, only }: Known,
): readonly Finding[] {
  // what one route alone is judged for is an alias that any of the others has
  const seen = new Set(entries.flatMap(([name, { aliases = [] }]) => (only === null || name === only ? [] : aliases)));
  const judged = only === null ? entries : entries.filter(([name]) => name === only);
  return judged.flatMap(([name, { aliases = [] }]) =>
    aliases.flatMap((alias, index): readonly Finding[] => {
      const path = [...base, name, "aliases", index];
      const isTaken = seen.has(alias);
      seen.add(alias);
      if (routes.has(alias)) return [{ path, message: "a route has this name, which precedes an alias" }];
      if (isTaken) return [{ path, message: "this alias is in the configuration twice" }];
      const prefix = /^([^:/]+):/.exec(alias)?.[1];
      return prefix === undefined || !(providers.has(prefix) || prefix === "route")
        ? []
        : [
            {
              path,
              message:
                "this means a model or a route already; an alias can be written with a slash in place of the colon",
            },
          ];
    }),
  );
}

/** A route whose name is the alias of another would take its calls. */
function nameTakenProblems(
  entries: readonly (readonly [string, RouteEntry])[],
  base: Path,
  only: string,
): readonly Finding[] {
  const holder = entries.find(([name, { aliases = [] }]) => name !== only && aliases.includes(only));
  return holder === undefined
    ? []
    : [
        {
          path: [...base, only, "name"],
          message: `the route ${holder[0]} has this name as an alias; take it from there first`,
        },
      ];
}

function targetProblems({ targets }: RouteEntry, base: Path, known: Names): readonly Finding[] {
  const seen = new Set<string>();
  const ofEach = targets.flatMap((entry, index): readonly Finding[] => {
    const at = [...base, "targets", index];
    const [name, place] = typeof entry === "string" ? [entry, at] : [entry.model, [...at, "model"]];
    const split = splitName(name);
    const key = split === null ? name : `${split.providerId}:${split.model}`;
    const twice: readonly Finding[] = seen.has(key)
      ? [{ path: at, message: "this target is in the list twice; give it a weight instead" }]
      : [];
    seen.add(key);
    return [
      ...modelProblems(name, place, known),
      ...twice,
      ...(typeof entry === "string"
        ? []
        : [
            ...paramProblems(entry.params ?? {}, [...at, "params"]),
            ...dropProblems(entry, [...at, "drop"]),
            ...whenProblems(entry, at, known.headers),
          ]),
    ];
  });
  return [...ofEach, ...shareProblems(targets, [...base, "targets"], true)];
}

function mirrorProblems({ mirror }: RouteEntry, base: Path, known: Names): readonly Finding[] {
  if (mirror === undefined) return [];
  const at = [...base, "mirror"];
  return [
    ...modelProblems(mirror.target, [...at, "target"], known),
    ...paramProblems(mirror.params ?? {}, [...at, "params"]),
    ...dropProblems(mirror, [...at, "drop"]),
    ...whenProblems(mirror, at, known.headers),
  ];
}

/** A parameter that the target both drops and sets would be dropped. */
function dropProblems({ params = {}, drop = [] }: Pick<MirrorEntry, "params" | "drop">, at: Path): readonly Finding[] {
  return drop.flatMap((name, index): readonly Finding[] =>
    params[name] === undefined
      ? []
      : [{ path: [...at, index], message: "the target's `params` set this parameter, but `drop` would remove it" }],
  );
}

function settingProblems(entry: RouteDefaults, base: Path, known: Known): readonly Finding[] {
  const list = (key: "fallbacks" | "content_policy_fallbacks"): readonly Finding[] => [
    ...(entry[key] ?? []).flatMap((one, index) => fallbackProblems(one, [...base, key, index], known)),
    ...shareProblems(entry[key] ?? [], [...base, key], false),
  ];
  const twice = entry.sticky !== undefined && typeof entry.strategy === "object" && entry.strategy.sticky !== undefined;
  return [
    ...list("fallbacks"),
    ...list("content_policy_fallbacks"),
    ...Object.entries(entry.context_window_fallbacks ?? {}).flatMap(([from, to]) => [
      ...modelProblems(to, [...base, "context_window_fallbacks", from], known),
      ...(sameModel(from, to)
        ? [{ path: [...base, "context_window_fallbacks", from], message: "this is a fallback to itself" }]
        : []),
    ]),
    ...(twice ? [{ path: [...base, "sticky"], message: "this is set twice: here and in strategy.sticky" }] : []),
  ];
}

function sameModel(from: string, to: string): boolean {
  return from === splitName(to)?.model || normalizedName(from) === normalizedName(to);
}

function fallbackProblems(entry: FallbackEntry, at: Path, known: Known): readonly Finding[] {
  const { model, route, params } = compileFallback(entry);
  if (typeof entry !== "string" && model !== null && route !== null)
    return [{ path: at, message: "expected a model or a route, got both" }];
  const place = (key: string): Path => (typeof entry === "string" ? at : [...at, key]);
  const ofMembers =
    typeof entry === "string" ? [] : [...paramProblems(params, at), ...whenProblems(entry, at, known.headers)];
  if (route !== null) return [...routeNameProblems(route, place("route"), known), ...ofMembers];
  if (model === null) return [{ path: at, message: "expected a model or a route" }];
  if (known.routes.has(model))
    return [{ path: place("model"), message: `expected <provider>:<model_name>; a route is written "route:${model}"` }];
  return [...modelProblems(model, place("model"), known, ", or route:<name>"), ...ofMembers];
}

/** The most names to compare with a wrong one for a suggestion. */
const MAX_COMPARED = 500;

function routeNameProblems(name: string, at: Path, { routes }: Known): readonly Finding[] {
  return routes.has(name)
    ? []
    : [
        {
          path: at,
          message: `there is no route with this name${routes.size > MAX_COMPARED ? "" : didYouMean(name, routes)}`,
        },
      ];
}

function modelProblems(name: string, at: Path, { providers }: Names, otherForm = ""): readonly Finding[] {
  const split = splitName(name);
  if (split === null) return [{ path: at, message: `expected <provider>:<model_name>${otherForm}` }];
  if (!providers.has(split.providerId))
    return [
      {
        path: at,
        message: `there is no provider with the id before the colon${didYouMean(split.providerId, providers) || "; `dragoman providers` lists the known providers"}`,
      },
    ];
  return MODEL_ID.test(split.model)
    ? []
    : [
        {
          path: at,
          message:
            "expected a model's name after the provider: printable characters without spaces, `..`, `?`, `#` and a `.` between slashes",
        },
      ];
}

/** The caller decides the form of the answer. */
const OF_THE_CALLER = new Set(["stream", "stream_options"]);

function paramProblems(params: Readonly<Record<string, unknown>>, base: Path): readonly Finding[] {
  return Object.entries(params).flatMap(([name, value]): readonly Finding[] => {
    if (value === undefined) return [];
    const path = [...base, name];
    const field = FIELDS.get(name);
    if (field?.class === "gateway" || OF_THE_CALLER.has(name))
      return [{ path, message: "a route cannot set this field: only parameters of a model are allowed here" }];
    if (!isFiniteThroughout(value)) return [{ path, message: "expected a finite number" }];
    const expected = field === undefined ? null : expectation(() => field.check(value as Json, name));
    return expected === null ? [] : [{ path, message: expected }];
  });
}

function isFiniteThroughout(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isFiniteThroughout);
}

/** Returns what a check of a request expects, without the value, which may be a secret here. */
function expectation(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const [, expected] = /must be (.*?); got /s.exec(thrown.message) ?? [];
    return expected === undefined ? "this value is not allowed here" : `expected ${expected}`;
  }
}

/**
 * Reports each loop once, at a route of this scope. Each kind of list has its own loops: a path that switches to
 * another list ends there.
 */
function loopProblems(
  base: Path,
  entries: readonly (readonly [string, RouteEntry])[],
  scopes: readonly RouteScope[],
): readonly Finding[] {
  return (["fallbacks", "content_policy_fallbacks"] as const).flatMap((key) => {
    if (!leadsOn(entries, scopes, key)) return [];
    const seen = fallbacksSeen(scopes, key);
    const reported = new Set<string>();
    const endless = withoutEnd(seen);
    return entries.flatMap(([name, entry]): readonly Finding[] => {
      if (reported.has(name) || !endless.has(name)) return [];
      for (const [index, { route: next }] of seen.get(name)!.entries()) {
        const loop = next === null ? null : wayTo(name, next, seen);
        if (loop === null) continue;
        for (const one of loop) reported.add(one);
        const message =
          loop.length === 1
            ? "this is a fallback to the route itself"
            : `this leads back to the route: ${[name, ...loop].join(" -> ")}`;
        return [{ path: [...base, "routes", name, ...(entry[key] === undefined ? [] : [key, index])], message }];
      }
      return [];
    });
  });
}

/** What each route falls back to. */
type Fallbacks = ReturnType<typeof fallbacksSeen>;

/** Returns the routes from which some path leads to a loop. Takes time linear in the number of fallbacks. */
function withoutEnd(seen: Fallbacks): ReadonlySet<string> {
  const open = new Map<string, number>();
  const leadingTo = new Map<string, string[]>();
  for (const [name, fallbacks] of seen) {
    const next = new Set(fallbacks.flatMap(({ route: to }) => (to !== null && seen.has(to) ? [to] : [])));
    open.set(name, next.size);
    for (const to of next) leadingTo.getOrInsertComputed(to, () => []).push(name);
  }
  const ending = [...open].flatMap(([name, count]) => (count === 0 ? [name] : []));
  for (let name = ending.pop(); name !== undefined; name = ending.pop()) {
    open.delete(name);
    for (const from of leadingTo.get(name) ?? []) {
      const left = open.get(from)! - 1;
      open.set(from, left);
      if (left === 0) ending.push(from);
    }
  }
  return new Set(open.keys());
}

/** Returns the routes on the path from `from` to `goal`, both included; `null` when there is no such path. */
function wayTo(goal: string, from: string, seen: Fallbacks): readonly string[] | null {
  const cameFrom = new Map<string, string | null>([[from, null]]);
  for (const name of cameFrom.keys()) {
    if (name === goal) {
      const way: string[] = [];
      for (let at: string | null = name; at !== null; at = cameFrom.get(at) ?? null) way.unshift(at);
      return way;
    }
    for (const { route: next } of seen.get(name) ?? [])
      if (next !== null && !cameFrom.has(next)) cameFrom.set(next, name);
  }
  return null;
}

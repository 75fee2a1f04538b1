// What the query of a request asks for, as filters of the store name it: by core/text/property-name.ts, where `from`, `to` and
// what ends so (`ended_from`) are times. It is the opposite of shown.ts.
import { scopeOf, type TenantOrProject } from "../../auth/grants.ts";
import { type PropertyName, propertyName } from "../../core/text/property-name.ts";

type Time = "from" | "to" | `${string}_from` | `${string}_to`;
const TIME = /(^|_)(from|to)$/;

/** What is left out is not a member. */
export type Asked<Query> = {
  readonly [Name in keyof Query & string as PropertyName<Name, Name extends Time ? true : false>]?: Exclude<
    Query[Name],
    undefined
  >;
};

/** The members of the query that are in the shape. */
export function askedBy<Query extends object, Shape extends Readonly<Record<string, unknown>>>(
  shape: Shape,
  query: Query,
): Asked<Pick<Query, keyof Query & keyof Shape>> {
  const asked = Object.entries(query).flatMap(([name, value]) => {
    if (!Object.hasOwn(shape, name) || value === undefined) return [];
    return [[propertyName(name, TIME.test(name)), value] as const];
  });
  return Object.fromEntries(asked) as Asked<Pick<Query, keyof Query & keyof Shape>>;
}

/** The place of the path, which takes precedence over the query. It is null for the operator, who sees all tenants. */
export const placeAsked = (place: TenantOrProject | null): Partial<ReturnType<typeof scopeOf>> =>
  place === null ? {} : scopeOf(place);

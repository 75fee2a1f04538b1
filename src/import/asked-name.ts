// What the report says of a name that clients ask for at the other gateway.
import type { ForeignNode } from "./foreign-file.ts";
import type { Claims } from "./report.ts";

/** `route` is what `routeFor` of the draft made of `asked`. */
export function claimAsked(node: ForeignNode | undefined, asked: string, route: string, claims: Claims): void {
  if (asked === route) claims.taken(node, `routes.${route}`);
  else
    claims.changed(
      node,
      () => [`routes.${route}.aliases`],
      `the route is called ${route}, and the name that clients ask for is its alias`,
    );
}

// A restricted token cannot grant more than it may do itself (promise 2.11).
import { type GatewayError } from "../../core/errors.ts";
import { insufficientRole } from "../../core/refusals.ts";
import type { AccessToken } from "../../core/identity.ts";
import { compileGlob } from "../../core/text/glob.ts";
import { normalizedPattern } from "../../core/target.ts";

type Restrictions = Pick<AccessToken, "models" | "routes" | "tools" | "ipRanges">;

/** Throws `insufficient_role`. A given glob counts as narrower only when one of the caller's globs matches its text. */
export function requireRestrictionsWithin(own: Restrictions, given: Restrictions): void {
  // Models and routes add to each other: a token with both may call what either of them permits.
  const calls = own.models.length > 0 || own.routes.length > 0;
  const models = own.models.map(normalizedPattern);
  if (calls && given.models.length === 0 && given.routes.length === 0) throw widerRestriction("models");
  if (calls && given.models.some((pattern) => !isPermittedBy(models, normalizedPattern(pattern))))
    throw widerRestriction("models");
  // A token that is restricted to models alone may name every route.
  if (own.routes.length > 0 && given.routes.length === 0) throw widerRestriction("routes");
  if (calls && given.routes.some((pattern) => !isPermittedBy(own.routes, pattern))) throw widerRestriction("routes");
  if (own.tools.length > 0 && (given.tools.length === 0 || given.tools.some((glob) => !isPermittedBy(own.tools, glob))))
    throw widerRestriction("tools");
  if (
    own.ipRanges.length > 0 &&
    (given.ipRanges.length === 0 || given.ipRanges.some((range) => !own.ipRanges.includes(range)))
  )
    throw widerRestriction("ip");
}

/** Configuration applies to more than this token. Throws `insufficient_role`. */
export function requireConfigures({ models, routes, tools }: Restrictions): void {
  if (models.length > 0 || routes.length > 0 || tools.length > 0)
    throw insufficientRole(
      "The access token is restricted to some models, routes or tools, so it cannot change configuration that affects others. Use a token without such restrictions.",
    );
}

/** What users may do is restricted by their roles alone. Throws `insufficient_role`. */
export function requireGivesRoles({ models, routes, tools, ipRanges }: Restrictions, param: string): void {
  if ([models, routes, tools, ipRanges].some((restriction) => restriction.length > 0))
    throw insufficientRole(
      "The access token is restricted, so it cannot give a role or a login to a user, who would be restricted in nothing. Use a token without restrictions.",
      param,
    );
}

function isPermittedBy(own: readonly string[], pattern: string): boolean {
  return own.some((glob) => glob === pattern || compileGlob(glob)(pattern));
}

function widerRestriction(param: string): GatewayError {
  return insufficientRole(
    `The access token of this request is restricted by ${param}, so tokens that it creates or changes must be restricted at least as much.`,
    param,
  );
}

// What a token is narrowed to, compiled once for each token (decisions 2.4, 3.4). A token that is narrowed by models may call those that match. One that is
// narrowed by routes may name those that match, and what the configuration names in them is permitted with the route. Both: what either of them permits.
import { compileGlob, type Glob } from "../core/glob.ts";
import type { AccessToken, Narrowing } from "../core/identity.ts";

const compiled = new WeakMap<AccessToken, Narrowing>();

/** Null: the token is narrowed neither by models nor by routes. */
export function narrowingOf(token: AccessToken): Narrowing | null {
  if (token.models.length === 0 && token.routes.length === 0) return null;
  const known = compiled.get(token);
  if (known !== undefined) return known;
  const fresh = compile(token);
  compiled.set(token, fresh);
  return fresh;
}

function compile({ models, routes }: Pick<AccessToken, "models" | "routes">): Narrowing {
  const ofModels = models.map((pattern) => compileGlob(withColon(pattern)));
  const ofRoutes = routes.map(compileGlob);
  return {
    permitsRoute: (name) => ofRoutes.length === 0 || matches(ofRoutes, name),
    coversRoute: (name) => matches(ofRoutes, name),
    permitsModel: (name) => matches(ofModels, name),
  };
}

function matches(globs: readonly Glob[], text: string): boolean {
  for (const glob of globs) if (glob(text)) return true;
  return false;
}

/** `openai/gpt-*` is written for `openai:gpt-*`, as in requests (decisions 1.3). */
function withColon(pattern: string): string {
  return pattern.replace(/^([^*:/]+)\//, "$1:");
}

// Expressions in CEL that are not rules of this gateway, such as those in another gateway's file: their parts, and the
// value of an expression whose variables are all known.
import { lazy } from "../core/memoization.ts";
import type * as Cel from "@marcbachmann/cel-js";
import type { ASTNode } from "@marcbachmann/cel-js";
import { isPart, RuleError } from "./policy-rule.ts";

export type { ASTNode as ExpressionPart } from "@marcbachmann/cel-js";

const library = lazy(() => require("@marcbachmann/cel-js") as typeof Cel);

/** Throws RuleError for a text that is no expression. */
export function partsOf(text: string): ASTNode {
  try {
    return library().parse(text).ast;
  } catch (thrown) {
    throw new RuleError((thrown as Error).message.split("\n")[0]);
  }
}

/** The text of a part, in which `replaced` has put others in the place of some of its parts. */
export function writtenPart(part: ASTNode, replaced: (part: ASTNode) => PlainPart | null): string {
  const copied = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(copied);
    if (!isPart(one)) return one;
    return replaced(one) ?? (one.op === "value" ? one : { op: one.op, args: copied(one.args) });
  };
  return library().serialize(copied(part) as ASTNode);
}

/** A part that stands in no text yet. */
export type PlainPart = { readonly op: string; readonly args: unknown };

/** `null` when it cannot be evaluated. */
export function valueOfExpression(text: string, variables: Readonly<Record<string, unknown>>): unknown {
  try {
    return library().evaluate(text, variables);
  } catch {
    return null;
  }
}

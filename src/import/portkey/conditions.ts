// Conditions of a Portkey config on metadata and parameters of the request, as conditions of targets in CEL.
// https://portkey.ai/docs/product/ai-gateway/conditional-routing
import { COMMON_PARAMETERS } from "../../core/params.ts";
import { textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import { conditionProblem } from "../usable-condition.ts";

/** Names that CEL takes as members. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const EQUATED: Readonly<Record<string, string>> = { $eq: "==", $ne: "!=" };
/** These compare numbers, which may stand in a text. */
const ORDERED: Readonly<Record<string, string>> = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" };
const NUMBER = /^-?[0-9]+([.][0-9]+)?$/;

/** Returns what a query asks, in CEL; `null` where it asks for something that conditions do not see. */
export function conditionOf(query: ForeignNode | undefined): string | null {
  if (query === undefined || query.members.size === 0) return null;
  return joined(
    [...query.members].map(([name, asked]) => {
      if (name === "$and" || name === "$or") return joined(asked.items.map(conditionOf), name === "$and" ? "&&" : "||");
      const value = valueAt(name);
      if (value === null || asked.members.size === 0) return null;
      const parts = [...asked.members].map(([operator, operand]) => comparison(operator, value, operand));
      const compared = joined(parts, "&&");
      // what a call does not have is equal to nothing
      const isNegative = [...asked.members.keys()].every((operator) => operator === "$ne" || operator === "$nin");
      return compared === null
        ? null
        : isNegative
          ? `(!has(${value}) || ${compared})`
          : `(has(${value}) && ${compared})`;
    }),
    "&&",
  );
}

function joined(parts: readonly (string | null)[], by: "&&" | "||"): string | null {
  if (parts.length === 0 || parts.includes(null)) return null;
  return parts.length === 1 ? parts[0]! : `(${parts.join(` ${by} `)})`;
}

/** `params.model` is what the client asks for, which decides the route. */
function valueAt(name: string): string | null {
  const [, of, member = ""] = /^(metadata|params)\.(.+)$/.exec(name) ?? [];
  if (!NAME.test(member)) return null;
  if (of === "metadata") return `request.metadata.${member}`;
  return (COMMON_PARAMETERS as readonly string[]).includes(member) ? `request.parameters.${member}` : null;
}

function comparison(operator: string, value: string, operand: ForeignNode): string | null {
  if (operator === "$in" || operator === "$nin") {
    const items = operand.items.map(literalOf);
    if (operand.kind !== "list" || items.includes(null)) return null;
    return ofAnyType(value, (of) => `${operator === "$nin" ? "!" : ""}(${of} in [${items.join(", ")}])`);
  }
  if (operator === "$regex") {
    const pattern = `type(${value}) == string && ${value}.matches(${JSON.stringify(textOf(operand) ?? "")})`;
    return textOf(operand) !== null && isUsable(pattern) ? pattern : null;
  }
  const literal = literalOf(operand);
  const sign = EQUATED[operator];
  if (sign !== undefined) return literal === null ? null : ofAnyType(value, (of) => `${of} ${sign} ${literal}`);
  return orderOf(operator, value, operand);
}

/** A parameter has a type, with which a literal of another type cannot be compared as it is written. */
function ofAnyType(value: string, write: (value: string) => string): string {
  const plain = write(value);
  return isUsable(plain) ? plain : write(`dyn(${value})`);
}

/** Metadata are texts, and what is no number is neither greater nor less than one. */
function orderOf(operator: string, value: string, operand: ForeignNode): string | null {
  const sign = ORDERED[operator];
  const bound = wordOf(operand) ?? "";
  if (sign === undefined || !NUMBER.test(bound)) return null;
  const plain = `${value} ${sign} ${bound}`;
  if (!value.startsWith("request.metadata.") && isUsable(plain)) return plain;
  const text = `string(${value})`;
  const literal = bound.includes(".") ? bound : `${bound}.0`;
  return `type(${value}) in [string, int, double] && ${text}.matches(${JSON.stringify(NUMBER.source)}) && double(${text}) ${sign} ${literal}`;
}

/** Patterns are those of RE2, which has no lookaround and no back references. */
function isUsable(condition: string): boolean {
  return conditionProblem(condition) === null;
}

function literalOf({ kind, value }: ForeignNode): string | null {
  return kind === "scalar" && value !== null ? JSON.stringify(value) : null;
}

/** The first of several conditions that holds counts: none of those before it does. `null` is what no condition holds for. */
export function exclusive(conditions: readonly string[], index: number | null): string {
  const before = conditions.slice(0, index ?? undefined).map((one) => `!(${one})`);
  return [...before, ...(index === null ? [] : [conditions[index]!])].join(" && ");
}

// Expressions of Bifrost's routing rules as conditions of targets. What is known of a call by its name, the provider and
// the model, is computed here; headers and the kind of the request are left for the condition. An expression that
// cannot be evaluated is false there, so each part that reads a header asks whether it was sent.
// https://docs.getbifrost.ai/providers/routing-rules
import { SECRET_HEADER_OF_CLIENT } from "../../core/text/secret-names.ts";
import type { OperationName } from "../../core/operation.ts";
import {
  type ExpressionPart,
  partsOf,
  type PlainPart,
  valueOfExpression,
  writtenPart,
} from "../../policies/expression-parts.ts";
import { compileCondition, innerParts, RuleError } from "../../policies/policy-rule.ts";
import { conditionProblem } from "../usable-condition.ts";

/** What a call asks for. */
export interface AskedModel {
  readonly provider: string;
  readonly model: string;
}

/** Why an expression has no counterpart. */
export class NotExpressible extends Error {}

/** A condition, or whether it is true of all calls or of none. */
export type Condition = string | boolean;

/** The condition under which the expression is true of calls that ask for the model. Throws NotExpressible. */
export function conditionOf(expression: string, asked: AskedModel): Condition {
  if (expression.trim() === "") return true;
  const parts = parsed(expression);
  const condition = truthOf(parts, true, asked);
  if (typeof condition === "string") requireUsable(condition);
  return condition;
}

/** Throws NotExpressible for a condition that this gateway does not take. */
export function requireUsable(condition: string): void {
  const problem = conditionProblem(condition);
  if (problem !== null) throw new NotExpressible(`the condition cannot be used here: ${problem}`);
}

export function allOf(...conditions: readonly Condition[]): Condition {
  return joined(conditions, " && ", false);
}

export function anyOf(...conditions: readonly Condition[]): Condition {
  return joined(conditions, " || ", true);
}

export function not(condition: Condition): Condition {
  return typeof condition === "boolean" ? !condition : `!(${condition})`;
}

/** `decisive` is the value that decides whatever the others are. */
function joined(conditions: readonly Condition[], sign: string, decisive: boolean): Condition {
  if (conditions.includes(decisive)) return decisive;
  const texts = [...new Set(conditions.filter((one) => typeof one === "string"))];
  if (texts.length === 0) return !decisive;
  if (texts.some((text) => texts.includes(`!(${text})`))) return decisive;
  return texts.length === 1 ? texts[0]! : texts.map(grouped).join(sign);
}

/** In brackets where it is made of several. */
function grouped(condition: string): string {
  return / (&&|\|\||\?) /.test(condition) ? `(${condition})` : condition;
}

/** The headers that a condition reads. */
export function headersOf(condition: string): ReadonlySet<string> {
  return compileCondition(condition).headers;
}

function parsed(expression: string): ExpressionPart {
  try {
    return partsOf(expression);
  } catch (thrown) {
    if (thrown instanceof RuleError) throw new NotExpressible("it is no expression in CEL");
    throw thrown;
  }
}

/** The texts with which an expression compares the variable. */
export function textsComparedWith(expression: string, variable: string): readonly string[] {
  const walk = (part: ExpressionPart): readonly string[] => {
    const inner = innerParts(part);
    const isCompared =
      (part.op === "==" || part.op === "in") && inner.some((one) => one.op === "id" && one.args === variable);
    return isCompared ? inner.flatMap(literalsOf) : inner.flatMap(walk);
  };
  try {
    return expression.trim() === "" ? [] : walk(partsOf(expression));
  } catch {
    return [];
  }
}

function literalsOf(part: ExpressionPart): readonly string[] {
  if (part.op === "list") return part.args.flatMap(literalsOf);
  return part.op === "value" && typeof part.args === "string" ? [part.args] : [];
}

/** When the expression is true, or with `wanted` false when it is false. It is neither where it cannot be evaluated. */
function truthOf(part: ExpressionPart, wanted: boolean, asked: AskedModel): Condition {
  const both = (operands: readonly ExpressionPart[], join: typeof allOf): Condition =>
    join(...operands.map((one) => truthOf(one, wanted, asked)));
  switch (part.op) {
    case "!_":
      return truthOf(part.args, !wanted, asked);
    case "&&":
      return both(part.args, wanted ? allOf : anyOf);
    case "||":
      return both(part.args, wanted ? anyOf : allOf);
    case "?:": {
      const [when, yes, no] = part.args;
      return anyOf(
        allOf(truthOf(when, true, asked), truthOf(yes, wanted, asked)),
        allOf(truthOf(when, false, asked), truthOf(no, wanted, asked)),
      );
    }
    default:
      return truthOfLeaf(part, wanted, asked);
  }
}

function truthOfLeaf(part: ExpressionPart, wanted: boolean, asked: AskedModel): Condition {
  const sent = headerAskedFor(part);
  if (sent !== null) return `headers[${JSON.stringify(sent)}] ${wanted ? "!=" : "=="} ""`;
  const { headers, names } = readIn(part);
  const text = writtenPart(part, (one) => knownPart(one, asked));
  if (names.size === 0 && headers.size === 0) return valueOfExpression(text, {}) === wanted;
  if (headers.size === 0 && names.size === 1 && names.has(KIND)) return kindCondition(text, wanted);
  const [foreign] = [...names];
  if (foreign !== undefined) throw new NotExpressible(WHY[foreign] ?? `conditions do not know ${foreign}`);
  const written = wanted ? text : `!(${text})`;
  const guards = [...headers].map((name) => `headers[${JSON.stringify(name)}] != ""`);
  const [only] = headers;
  const isFalseWithout = headers.size === 1 && valueOfExpression(text, { headers: new Map([[only!, ""]]) }) === !wanted;
  return isFalseWithout ? written : allOf(...guards, written);
}

/** The name of a header of which an expression asks whether it was sent: `"x-tier" in headers`, `has(headers.x)`. */
function headerAskedFor(part: ExpressionPart): string | null {
  const [first, second] = innerParts(part);
  if (part.op === "in" && second?.op === "id" && second.args === "headers" && first?.op === "value")
    return headerName(first.args);
  if (part.op === "call" && part.args[0] === "has" && first !== undefined) return headerRead(first);
  return null;
}

/** The name of the header that is read: `headers["x-tier"]`, `headers.tier`. */
function headerRead(part: ExpressionPart): string | null {
  if (part.op !== "[]" && part.op !== ".") return null;
  const [map, key] = part.args;
  if (map.op !== "id" || map.args !== "headers") return null;
  return headerName(typeof key === "string" ? key : key.op === "value" ? key.args : null);
}

const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

function headerName(key: unknown): string | null {
  if (typeof key !== "string") return null;
  const name = key.toLowerCase();
  if (SECRET_HEADER_OF_CLIENT.test(name))
    throw new NotExpressible("conditions cannot read this header, which may hold a secret");
  if (!HEADER.test(name)) throw new NotExpressible("this cannot be the name of a header");
  return name;
}

interface Read {
  readonly headers: Set<string>;
  /** Variables other than headers and those that are known. */
  readonly names: Set<string>;
}

function readIn(part: ExpressionPart): Read {
  const read: Read = { headers: new Set(), names: new Set() };
  const walk = (one: ExpressionPart): void => {
    const header = headerRead(one);
    if (header !== null) read.headers.add(header);
    else if (one.op !== "id") for (const inner of innerParts(one)) walk(inner);
    else if (one.args !== "model" && one.args !== "provider") read.names.add(one.args);
  };
  walk(part);
  return read;
}

/** What is known of the call in place of its variable, and names of headers as conditions write them. */
function knownPart(part: ExpressionPart, asked: AskedModel): PlainPart | null {
  if (part.op === "id" && (part.args === "model" || part.args === "provider"))
    return { op: "value", args: asked[part.args] };
  const header = headerRead(part);
  if (header === null) return null;
  return {
    op: "[]",
    args: [
      { op: "id", args: "headers" },
      { op: "value", args: header },
    ],
  };
}

/** What Bifrost calls the kind of a request, by operation here. Its Anthropic form makes requests of the Responses API. */
const KIND = "request_type";
const KINDS: Readonly<Record<Exclude<OperationName, "tools.call">, string>> = {
  "chat.completions": "chat_completion",
  completions: "text_completion",
  responses: "responses",
  messages: "responses",
  "responses.input_tokens": "count_tokens",
  "messages.count_tokens": "count_tokens",
  embeddings: "embedding",
  rerank: "rerank",
  moderations: "moderation",
};

function kindCondition(text: string, wanted: boolean): Condition {
  const all = Object.entries(KINDS);
  const matching = all.filter(([, kind]) => valueOfExpression(text, { [KIND]: kind }) === wanted).map(([name]) => name);
  if (matching.length === 0 || matching.length === all.length) return matching.length > 0;
  return matching.length === 1
    ? `request.operation == ${JSON.stringify(matching[0])}`
    : `request.operation in ${JSON.stringify(matching)}`;
}

const OF_KEYS =
  "keys, teams and customers are not taken over; conditions see token.id and project.id of those that are made here";
const OF_BUDGETS =
  "conditions do not see what is left of a budget or a limit; a budget can itself lead calls elsewhere: docs/limits.md";
const WHY: Readonly<Record<string, string>> = {
  headers: "conditions read single headers by name",
  params: "conditions do not see the query of the address",
  virtual_key_id: OF_KEYS,
  virtual_key_name: OF_KEYS,
  team_id: OF_KEYS,
  team_name: OF_KEYS,
  customer_id: OF_KEYS,
  customer_name: OF_KEYS,
  budget_used: OF_BUDGETS,
  tokens_used: OF_BUDGETS,
  request: OF_BUDGETS,
  complexity_tier: "requests are not classified by what they are about; conditions see their length and their tools",
  [KIND]: "it compares the kind of the request with something else than a text",
};

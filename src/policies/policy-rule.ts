// Rules of policies and conditions of routes in CEL: parsed, checked and bounded once when they are loaded, and evaluated
// on calls. This file and expression-parts.ts alone use the library. What could make a rule slow is refused here: macros
// inside macros, functions that make long values, and regular expressions that backtrack (promise 3.1). The work of all
// rules and conditions of one call is metered, and bounded together.
// https://github.com/google/cel-spec/blob/master/doc/langdef.md
import { lazy, memoizeBounded } from "../core/memoization.ts";
import { isZoneOrOffset } from "../core/configured/time-zone.ts";
import type * as Cel from "@marcbachmann/cel-js";
import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import {
  type ConditionFacts,
  type ConditionVariable,
  type Metered,
  type PolicyRule,
  type RuleMeter,
  type RuleVariable,
  CONDITION_VARIABLES,
  RULE_VARIABLES,
} from "../core/configured/policy.ts";
import { instructionsOf, linearPattern, MAX_PATTERN } from "../guards/pattern-program.ts";
import { CALENDAR_FIELDS, type CalendarField, zonedField } from "./zoned-time.ts";
import {
  ClientFacts,
  FactError,
  MAX_ITEMS,
  MessageFacts,
  PARAMETER_TYPES,
  ParameterFacts,
  RequestFacts,
  ScopeFacts,
  TargetFacts,
  TokenFacts,
} from "./policy-facts.ts";

export interface CompiledRule extends PolicyRule {
  readonly mentions: ReadonlySet<RuleVariable | ConditionVariable>;
}

/** A condition of a target or fallback of a route. */
export interface CompiledCondition {
  readonly mentions: ReadonlySet<RuleVariable | ConditionVariable>;
  /** Names of headers that it reads, as far as they are text literals. */
  readonly headers: ReadonlySet<string>;
  /** Throws when the condition cannot be evaluated on these facts. */
  holds(facts: ConditionFacts): boolean;
}

/** A rule that cannot be used; the message shows the position with a caret. */
export class RuleError extends Error {}

export const MAX_RULE = 8192;
const MAX_NODES = 300;
const MAX_DEPTH = 32;
/** Nodes in the body of a macro, which runs up to `MAX_ITEMS` times. */
const MAX_BODY = 64;
/** The most characters that the patterns of a rule search in one evaluation. */
const MAX_MATCHED = 1_000_000;
/**
 * The most steps that all rules and conditions of one call may take: some 50 ms at the worst. A step is one instruction of
 * a pattern's program for one character, which the library's machine takes in a third of the time of the one of guards.
 */
const MAX_STEPS = 15_000_000;
/** Steps of an evaluation, of a part in the body of a macro, and of comparing a value or a member with another. */
const EVALUATION_STEPS = 1000;
const PART_STEPS = 10;
const VALUE_STEPS = 2;
const MEMBER_STEPS = 20;
/** Steps that functions of texts take for each character. */
const CHARACTER_STEPS = 2;
/** Characters of a text that are compared with others in one step. */
const COMPARED_AT_ONCE = 64;
/** The library reads longer durations with a regular expression that backtracks. */
const MAX_DURATION = 100;

const MACROS: ReadonlySet<string> = new Set(["exists", "all", "exists_one", "map", "filter"]);
const METHODS: ReadonlySet<string> = new Set([
  ...MACROS,
  ...CALENDAR_FIELDS,
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "lowerAscii",
  "upperAscii",
  "trim",
  "size",
  "indexOf",
  "substring",
]);
const FUNCTIONS: ReadonlySet<string> = new Set([
  "has",
  "size",
  "int",
  "uint",
  "double",
  "string",
  "bool",
  "dyn",
  "type",
  "timestamp",
  "duration",
]);
/** Adding values of these types gives nothing longer. */
const FIXED_SIZE = /^(int|uint|double|google\.protobuf\.(Timestamp|Duration))$/;

const MAX_KNOWN = 10_000;

/** Throws RuleError. After a change of the configuration most rules are the same as before. */
export const compileRule = memoizeBounded(MAX_KNOWN, (text: string): CompiledRule => {
  const { mentions, isTrue } = compiled(text, rules());
  return { mentions, denies: isTrue };
});

/** Throws RuleError. */
export const compileCondition = memoizeBounded(MAX_KNOWN, (text: string): CompiledCondition => {
  const { mentions, headers, isTrue } = compiled(text, conditions());
  return { mentions, headers, holds: isTrue };
});

interface Compiled extends Pick<Walk, "mentions" | "headers"> {
  readonly isTrue: (facts: Metered) => boolean;
}

function compiled(text: string, environment: RuleEnvironment): Compiled {
  if (text.length > MAX_RULE) throw new RuleError(`a rule has at most ${MAX_RULE} characters`);
  const { ast, type, program } = checked(text, environment);
  if (type !== "bool")
    throw refusal(
      text,
      0,
      `a rule must give true or false, but this gives ${type === "dyn" ? "the value that was sent; compare it with something" : type}`,
    );
  const walk: Walk = { text, nodes: 0, mentions: new Set(), headers: new Set() };
  judge(ast, walk, null);
  meterParts(ast, environment.evaluation);
  return {
    mentions: walk.mentions,
    headers: walk.headers,
    isTrue(facts) {
      environment.evaluation.begin(facts.meter);
      const outcome: unknown = program(facts);
      environment.evaluation.end();
      if (typeof outcome !== "boolean") throw new FactError("the rule gave neither true nor false");
      return outcome;
    },
  };
}

interface RuleEnvironment {
  readonly language: Environment;
  readonly evaluation: Evaluation;
}

/** The library is loaded with the first rule; a gateway without rules saves a dozen megabytes. */
const rules = lazy(() => openEnvironment(RULE_VARIABLES));
const conditions = lazy(() => openEnvironment(CONDITION_VARIABLES));

function openEnvironment(variables: readonly (RuleVariable | ConditionVariable)[]): RuleEnvironment {
  const cel = require("@marcbachmann/cel-js") as typeof Cel;
  const made = new cel.Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: 2 * MAX_NODES,
      maxDepth: MAX_DEPTH,
      maxListElements: MAX_NODES,
      maxMapEntries: MAX_NODES,
      maxCallArguments: 3,
    },
  });
  const declare = (
    name: string,
    ctor: new (...args: never[]) => object,
    fields: Readonly<Record<string, string>>,
  ): void => void made.registerType(name, { ctor, fields } as never);
  declare("Parameters", ParameterFacts, PARAMETER_TYPES);
  declare("Messages", MessageFacts, {
    count: "int",
    characters: "int",
    prompt_tokens: "int",
    roles: "map<string, int>",
    parts: "map<string, int>",
  });
  declare("Request", RequestFacts, {
    operation: "string",
    route: "string",
    model: "string",
    stream: "bool",
    parameters: "Parameters",
    extra: "map<string, dyn>",
    messages: "Messages",
    metadata: "map<string, dyn>",
    tools: "list<string>",
    tool_names: "list<string>",
  });
  declare("Target", TargetFacts, { provider: "string", model: "string", name: "string", route: "string" });
  declare("Token", TokenFacts, {
    id: "string",
    kind: "string",
    role: "string",
    user: "string",
    permissions: "list<string>",
  });
  declare("Scope", ScopeFacts, { id: "string" });
  declare("Client", ClientFacts, { ip: "string" });
  const types: Readonly<Record<RuleVariable | ConditionVariable, string>> = {
    request: "Request",
    target: "Target",
    headers: "map<string, string>",
    token: "Token",
    tenant: "Scope",
    project: "Scope",
    client: "Client",
    now: "google.protobuf.Timestamp",
  };
  for (const name of variables) made.registerVariable(name, types[name]);
  return { language: made, evaluation: new Evaluation() };
}

/**
 * Returns how many items a macro runs over. Throws FactError for what is neither a list nor a mapping: the library takes
 * any other object for a mapping without keys, in which it finds nothing that a rule denies.
 */
function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  if (typeof value === "object" && value !== null) {
    const made: unknown = Object.getPrototypeOf(value);
    if (made === Object.prototype || made === null) return Object.keys(value).length;
  }
  throw new FactError("a macro runs over a list or a mapping");
}

function isCalendarField(name: string): name is CalendarField {
  return (CALENDAR_FIELDS as readonly string[]).includes(name);
}

/** Only patterns of loaded rules get here. */
const patternOf = memoizeBounded(MAX_KNOWN, (pattern: string) => ({
  matcher: linearPattern(pattern),
  size: instructionsOf(pattern),
}));

/** Meters all rules and conditions of one call. */
export function openRuleMeter(): RuleMeter {
  let left = MAX_STEPS;
  return {
    spend(steps, why = "the rules of one call together take too much work") {
      left -= steps;
      if (left < 0) throw new FactError(why);
    },
  };
}

/** Bounds the work of one evaluation of a rule. An evaluation is never interrupted by another one. */
class Evaluation {
  #meter = openRuleMeter();
  #characters = 0;

  /** Without a meter, the rule is the only one of its call. */
  begin(meter: RuleMeter = openRuleMeter()): void {
    this.#meter = meter;
    this.#characters = 0;
    this.spend(EVALUATION_STEPS);
  }

  /** Throws FactError when the evaluation exceeded the bound, because `||` and macros pass over what failed in them. */
  end(): void {
    this.spend(0);
  }

  /** Throws FactError when the steps exceed what is left for the call. */
  spend(steps: number): void {
    this.#meter.spend(steps);
  }

  /** Takes time linear in the text. Throws FactError when the evaluation exceeds its bounds. */
  matches(text: string, pattern: string): boolean {
    this.#characters += text.length;
    if (this.#characters > MAX_MATCHED)
      throw new FactError(`patterns can match against at most ${MAX_MATCHED} characters in one evaluation`);
    const { matcher, size } = patternOf(pattern);
    this.#meter.spend(text.length * size, "its patterns are too expensive for texts of this length");
    return matcher.test(text);
  }

  /** Spends what it takes to compare a value with another one, list by list. */
  walk(value: unknown): void {
    if (typeof value === "string") this.spend(value.length / COMPARED_AT_ONCE);
    if (typeof value !== "object" || value === null) return;
    const isList = Array.isArray(value);
    const inner: Iterable<unknown> = isList ? value : value instanceof Map ? value.values() : Object.values(value);
    const each = isList ? VALUE_STEPS : MEMBER_STEPS;
    let steps = each;
    for (const one of inner) {
      steps += each;
      if (typeof one === "string") steps += one.length / COMPARED_AT_ONCE;
      else if (typeof one === "object") this.walk(one);
    }
    this.spend(steps);
  }
}

/** A part that was checked. `handle` is what the library does with the values of its operands. */
interface CheckedPart {
  handle?: (...given: readonly unknown[]) => unknown;
  /** Where the part is a macro: what the library has made of it. */
  readonly meta: { readonly alternate?: CheckedPart };
}

/**
 * Makes each part whose work depends on the values that it is given spend steps for them, and puts the gateway's own
 * functions in place of those of the library that could be slow.
 */
function meterParts(part: ASTNode, evaluation: Evaluation): void {
  const inner = innerParts(part);
  for (const one of inner) meterParts(one, evaluation);
  const own = isMacro(part) ? macro(inner) : ownFunction(part);
  if (own === null) return;
  const written = part as unknown as CheckedPart;
  const evaluated = written.meta.alternate ?? written;
  const { handle } = evaluated;
  if (handle === undefined)
    throw new Error(
      `The library of CEL keeps no function for the part ${part.op}, so that its work cannot be bounded.`,
    );
  evaluated.handle = (...given) => own(evaluation, given as unknown as Given) ?? handle(...given);
}

/** What the library calls a function with. The first is a list for a function and a method, and the items of a macro. */
type Given = readonly [unknown, ...(readonly unknown[])];

/** Returns the value of a part, or undefined, with which the library has to find it. */
type OwnFunction = (evaluation: Evaluation, given: Given) => unknown;

function isMacro({ op, args }: ASTNode): boolean {
  return op === "rcall" && MACROS.has(args[0]);
}

function macro([, ...body]: readonly ASTNode[]): OwnFunction {
  const steps = PART_STEPS * body.reduce((sum, one) => sum + partsIn(one), 0);
  return (evaluation, [items]) => {
    const count = itemsOf(items);
    if (count > MAX_ITEMS) throw new FactError(`a macro can run over at most ${MAX_ITEMS} items`);
    evaluation.spend(count * steps);
  };
}

function partsIn(part: ASTNode): number {
  return innerParts(part).reduce((sum, one) => sum + partsIn(one), 1);
}

function ownFunction(part: ASTNode): OwnFunction | null {
  switch (part.op) {
    case "call":
    case "rcall": {
      const [name] = part.args;
      // what it looks at is not evaluated
      if (name === "has") return null;
      return (evaluation, [values]) => called(name, values as readonly unknown[], evaluation);
    }
    case "==":
    case "!=":
    case "in":
    case "+":
      return (evaluation, [left, right]) => compared(part.op, left, right, evaluation);
    default:
      return null;
  }
}

/** The receiver of a method is the first of the values. */
function called(name: string, [receiver, given]: readonly unknown[], evaluation: Evaluation): unknown {
  if (isCalendarField(name) && receiver instanceof Date && typeof given === "string")
    return zonedField(name, receiver, given);
  if (typeof receiver !== "string") return undefined;
  if (name === "duration" && receiver.length > MAX_DURATION)
    throw new FactError(`a duration has at most ${MAX_DURATION} characters`);
  evaluation.spend(receiver.length * CHARACTER_STEPS);
  return name === "matches" ? evaluation.matches(receiver, given as string) : undefined;
}

/** Looking for a key of a mapping, and comparing values of different kinds, takes no time worth counting. */
function compared(op: string, left: unknown, right: unknown, evaluation: Evaluation): void {
  const isWalked = op === "in" ? Array.isArray(right) : typeof left === typeof right;
  if (isWalked) evaluation.walk(right);
}

/** Parts of which a part is made. */
export function innerParts({ op, args }: ASTNode): readonly ASTNode[] {
  return op === "value" ? [] : ([args].flat(3) as readonly unknown[]).filter(isPart);
}

export function isPart(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value;
}

interface Checked {
  readonly ast: ASTNode;
  readonly type: string;
  readonly program: (facts: object) => unknown;
}

function checked(text: string, { language }: RuleEnvironment): Checked {
  try {
    const program = language.parse(text);
    const result = program.check();
    if (!result.valid) throw result.error!;
    return { ast: program.ast, type: result.type ?? "dyn", program };
  } catch (thrown) {
    const { summary, message, range } = thrown as {
      readonly summary?: string;
      readonly message: string;
      readonly range?: { readonly start: number };
    };
    throw refusal(text, range?.start ?? 0, summary ?? message.split("\n")[0]!);
  }
}

/** `line 2, column 7: <what>`, the line, and a caret below the position. */
function refusal(text: string, at: number, what: string): RuleError {
  const before = text.slice(0, at).split("\n");
  const column = before.at(-1)!.length;
  const line = text.split("\n")[before.length - 1] ?? "";
  return new RuleError(`line ${before.length}, column ${column + 1}: ${what}\n    ${line}\n    ${" ".repeat(column)}^`);
}

const VARIABLES: ReadonlySet<string> = new Set([...RULE_VARIABLES, ...CONDITION_VARIABLES]);

interface Walk {
  readonly text: string;
  nodes: number;
  readonly mentions: Set<RuleVariable | ConditionVariable>;
  readonly headers: Set<string>;
}

/** The body of the macro that contains a node; `null` when the node is outside macros. */
interface Body {
  nodes: number;
}

/** Throws RuleError for what could make the rule slow. */
function judge(node: ASTNode, walk: Walk, body: Body | null): void {
  walk.nodes += 1;
  if (walk.nodes > MAX_NODES) throw refusal(walk.text, node.start, `a rule has at most ${MAX_NODES} parts`);
  if (body !== null && ++body.nodes > MAX_BODY)
    throw refusal(walk.text, node.start, `the body of a macro has at most ${MAX_BODY} parts`);
  switch (node.op) {
    case "value":
      return;
    case "id":
      if (VARIABLES.has(node.args)) walk.mentions.add(node.args as RuleVariable | ConditionVariable);
      return;
    case ".":
    case ".?":
      noteHeader(node.args[0], node.args[1], walk);
      return judge(node.args[0], walk, body);
    case "list":
      return node.args.forEach((item) => judge(item, walk, body));
    case "map":
      return node.args.forEach((entry) => entry.forEach((item) => judge(item, walk, body)));
    case "!_":
    case "-_":
      return judge(node.args, walk, body);
    case "call":
      return judgeCall(node, walk, body);
    case "rcall":
      return judgeMethod(node, walk, body);
    default:
      judgeOperator(node, walk, body);
  }
}

/** `name` is the key by which the value of `map` is read, or looked for. */
function noteHeader(map: ASTNode, name: unknown, { headers }: Walk): void {
  if (map.op === "id" && map.args === "headers" && typeof name === "string") headers.add(name);
}

/** `headers["x-tier"]` and `"x-tier" in headers`. */
function noteHeaderOf({ op, args }: ASTNode, walk: Walk): void {
  if (op === "[]" || op === "[?]") noteHeader(args[0], literalOf(args[1]), walk);
  else if (op === "in") noteHeader(args[1], literalOf(args[0]), walk);
}

function literalOf(node: ASTNode): unknown {
  return node.op === "value" ? node.args : null;
}

function judgeCall(
  { args: [name, given], start }: Extract<ASTNode, { op: "call" }>,
  walk: Walk,
  body: Body | null,
): void {
  if (!FUNCTIONS.has(name)) throw refusal(walk.text, start, `${name}() is not available in rules`);
  for (const one of given) judge(one, walk, body);
}

function judgeMethod(
  { args: [name, receiver, given], start }: Extract<ASTNode, { op: "rcall" }>,
  walk: Walk,
  body: Body | null,
): void {
  if (!METHODS.has(name)) throw refusal(walk.text, start, `${name}() is not available in rules`);
  judge(receiver, walk, body);
  if (MACROS.has(name)) {
    if (body !== null) throw refusal(walk.text, start, `${name}() is inside another macro; macros cannot be nested`);
    const own: Body = { nodes: 0 };
    for (const one of given) judge(one, walk, own);
    return;
  }
  if (name === "matches") judgeMatches(receiver, given, walk);
  else if (isCalendarField(name) && given.length > 0) judgeZone(name, given[0]!, walk, body);
  for (const one of given) judge(one, walk, body);
}

function judgeMatches(receiver: ASTNode, given: readonly ASTNode[], walk: Walk): void {
  const [pattern] = given;
  if (pattern?.op !== "value" || typeof pattern.args !== "string")
    throw refusal(walk.text, pattern?.start ?? receiver.end, "the pattern of matches() must be a text literal");
  try {
    if (pattern.args.length > MAX_PATTERN) throw new Error(`it has more than ${MAX_PATTERN} characters`);
    patternOf(pattern.args);
  } catch (thrown) {
    throw refusal(walk.text, pattern.start, `not a valid pattern: ${(thrown as Error).message}`);
  }
}

function judgeZone(name: string, zone: ASTNode, walk: Walk, body: Body | null): void {
  if (body !== null) throw refusal(walk.text, zone.start, `${name}() with a time zone cannot be used inside a macro`);
  if (zone.op !== "value" || typeof zone.args !== "string" || !isZoneOrOffset(zone.args))
    throw refusal(
      walk.text,
      zone.start,
      `${name}() needs the name of a time zone as a text literal, such as "Europe/Berlin"`,
    );
}

function judgeOperator(node: Extract<ASTNode, { args: readonly ASTNode[] }>, walk: Walk, body: Body | null): void {
  const operands = node.args as readonly ASTNode[];
  noteHeaderOf(node, walk);
  if (body !== null && node.op === "+" && !operands.every((one) => FIXED_SIZE.test(typeOf(one))))
    throw refusal(walk.text, node.start, "texts and lists cannot be joined inside a macro");
  if (body !== null && node.op === "in" && operands[1]!.op !== "list" && !typeOf(operands[1]!).startsWith("map"))
    throw refusal(walk.text, operands[1]!.start, "inside a macro, the list after `in` must be a literal");
  for (const one of operands) judge(one, walk, body);
}

function typeOf(node: ASTNode): string {
  return (node as unknown as { readonly checkedType?: { readonly name: string } }).checkedType?.name ?? "dyn";
}

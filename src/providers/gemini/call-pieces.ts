// Joins a function call whose arguments come in pieces: the first part names the function, further parts add values by
// a path, and the first part without `willContinue` is the last.
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (streaming function call
// arguments)
import { isObject, type Json, type JsonObject, leastJsonLength } from "../../core/json.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";

/** A tool call in progress. */
export interface OpenCall {
  readonly part: JsonObject;
  readonly called: JsonObject;
  readonly args: Container;
  size: number;
}
/** An object or a list of the arguments. A path reads and writes their own members only, and reaches no prototype. */
type Container = Record<string, unknown> | unknown[];

/** The bound for one tool call, in characters and steps of paths. */
const MAX_SIZE = 4 * 1024 * 1024;
const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]/gy;

/**
 * Returns the parts with each tool call complete, at the place where it ended. `state` holds the tool call that has not
 * ended yet.
 */
export function joinCalls(parts: readonly Json[], state: { open: OpenCall | null }): readonly Json[] {
  if (state.open === null && !parts.some(isPiece)) return parts;
  return parts.flatMap((part) => joinPart(part, state));
}

/** The last tool call when the answer ends before the call does. */
export function closeCall(state: { open: OpenCall | null }): readonly Json[] {
  const { open } = state;
  state.open = null;
  return open === null ? [] : [{ ...open.part, functionCall: { ...open.called, args: open.args as JsonObject } }];
}

function isPiece(part: Json): boolean {
  const call = isObject(part) ? part["functionCall"] : undefined;
  return isObject(call) && (call["willContinue"] === true || call["partialArgs"] !== undefined);
}

function joinPart(part: Json, state: { open: OpenCall | null }): readonly Json[] {
  const call = isObject(part) ? part["functionCall"] : undefined;
  if (!isObject(part) || !isObject(call)) return [part];
  const isNew = typeof call["name"] === "string" && call["name"] !== "";
  const ended = isNew ? closeCall(state) : [];
  if (isNew && !isPiece(part)) return [...ended, part];
  if (isNew) {
    const { willContinue: _more, partialArgs: _pieces, args, ...called } = call;
    state.open = { part, called, args: isObject(args) ? { ...args } : {}, size: 0 };
  }
  if (state.open === null) return [...ended, part];
  addPieces(state.open, call["partialArgs"]);
  return call["willContinue"] === true ? ended : [...ended, ...closeCall(state)];
}

function addPieces(open: OpenCall, pieces: Json | undefined): void {
  if (!Array.isArray(pieces)) return;
  for (const piece of (pieces as readonly Json[]).filter(isObject)) {
    const steps = stepsOf(piece["jsonPath"]);
    if (steps !== null) put(open, steps, piece);
  }
}

/** Parses a path such as `$.a.b[0]['c']`. `null` when it is not such a path. */
function stepsOf(path: Json | undefined): readonly (string | number)[] | null {
  if (typeof path !== "string" || !path.startsWith("$") || path.length > 4096) return null;
  const steps: (string | number)[] = [];
  let at = 1;
  for (STEP.lastIndex = 1; at < path.length; at = STEP.lastIndex) {
    const found = STEP.exec(path);
    if (found === null) return null;
    steps.push(found[2] === undefined ? (found[1] ?? found[3] ?? found[4] ?? "") : Number(found[2]));
  }
  return steps.length === 0 ? null : steps;
}

function put(open: OpenCall, steps: readonly (string | number)[], piece: JsonObject): void {
  const text = typeof piece["stringValue"] === "string" ? piece["stringValue"] : null;
  const value = piece["numberValue"] ?? piece["boolValue"] ?? null;
  open.size += steps.length + (text?.length ?? leastJsonLength(value, MAX_SIZE));
  if (open.size > MAX_SIZE)
    throw new MalformedAnswer(`The provider's stream holds a call with more than ${MAX_SIZE} characters of arguments.`);
  let holder = open.args;
  for (let index = 0; index < steps.length - 1; index++) {
    const next = read(holder, steps[index]!);
    holder = isContainer(next)
      ? next
      : (write(holder, steps[index]!, typeof steps[index + 1] === "number" ? [] : {}) as Container);
  }
  const last = steps.at(-1)!;
  const there = read(holder, last);
  write(holder, last, text === null ? value : typeof there === "string" ? there + text : text);
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isObject(value);
}

function read(holder: Container, step: string | number): unknown {
  if (Array.isArray(holder)) return typeof step === "number" ? holder[step] : undefined;
  return Object.hasOwn(holder, step) ? holder[step] : undefined;
}

/** Lists grow by one element at a time. A position beyond the end would create a list of empty elements. */
function write(holder: Container, step: string | number, value: unknown): unknown {
  if (Array.isArray(holder) && (typeof step !== "number" || step > holder.length))
    throw new MalformedAnswer(
      "The provider's stream holds a piece of a call for a place that its arguments do not have.",
    );
  // an assignment to `__proto__` would set the prototype
  Object.defineProperty(holder, step, { value, writable: true, enumerable: true, configurable: true });
  return value;
}

// Reads the configuration of another gateway, YAML or JSON, as a tree that knows the line of each value. Unlike the
// gateway's own files it may use anchors, aliases, merge keys and duplicate keys, because other gateways accept them. It
// is bounded in size, in depth and in the number of its values.
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
} from "yaml";
import {
  ConfigurationError,
  type ConfigurationProblem,
  MAX_PROBLEMS,
  problemIn,
  type Path,
} from "../config/problem.ts";
import { YAML_MISTAKES, parsedYaml } from "../config/yaml-document.ts";
import { shownPath } from "./secret-shape.ts";
import { jsonIn } from "../core/json.ts";

const MAX_DEPTH = 64;
/** Aliases can make a short file hold any number of values. */
const MAX_VALUES = 50_000;
/** Each is looked up in the whole file. */
const MAX_ALIASES = 2000;

export type Scalar = string | number | boolean | null;

/** A value of the file with its place. */
export interface ForeignNode {
  readonly kind: "scalar" | "list" | "mapping";
  readonly path: Path;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `null` for lists and mappings too. */
  readonly value: Scalar;
  /** Empty for scalars and mappings. */
  readonly items: readonly ForeignNode[];
  /** Empty for scalars and lists. */
  readonly members: ReadonlyMap<string, ForeignNode>;
}

export interface ForeignFile {
  readonly file: string;
  readonly root: ForeignNode;
  /** Values without effect, because their key stands again further down. */
  readonly replaced: readonly ForeignNode[];
}

export interface ForeignText {
  /** As shown in problems. */
  readonly file: string;
  readonly text: string;
  /** The version of YAML that the other gateway's parser follows. In 1.1, `yes` and `on` are booleans. */
  readonly yaml: "1.1" | "1.2";
}

/** Throws ConfigurationError. */
export function parseForeignFile({ file, text: original, yaml }: ForeignText): ForeignFile {
  const text = isJson(original) ? original.replaceAll("\t", " ") : original;
  const lines = new LineCounter();
  const problemFrom = (offset: number, path: Path, message: string): ConfigurationProblem => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), path: shownPath(path), message };
  };
  const document = parsedYaml(text, lines, yaml);
  if (document === null) throw new ConfigurationError([problemIn(file, YAML_MISTAKES.RESOURCE_EXHAUSTION)]);
  if (document.errors.length > 0)
    throw new ConfigurationError(
      document.errors.slice(0, MAX_PROBLEMS).map(({ code, pos }) => problemFrom(pos[0], [], YAML_MISTAKES[code])),
    );
  if (document.contents === null) throw new ConfigurationError([problemFrom(0, [], "the file is empty")]);
  const reading: Reading = { document, lines, problemFrom, replaced: [], resolved: new Map(), values: 0 };
  const root = read(document.contents, [], reading);
  return { file, root, replaced: reading.replaced };
}

/** The error of a file with something else at `node` than another gateway has there. */
export function refusalAt(file: string, node: ForeignNode, message: string): ConfigurationError {
  return new ConfigurationError([problemAt(file, node, message)]);
}

export function problemAt(file: string, { line, column, path }: ForeignNode, message: string): ConfigurationProblem {
  return { file, line, column, path: shownPath(path), message };
}

/** YAML does not allow the tabs of JSON everywhere. Within texts of JSON there are none. */
function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text) && jsonIn(text) !== undefined;
}

interface Reading {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
  readonly problemFrom: (offset: number, path: Path, message: string) => ConfigurationProblem;
  readonly replaced: ForeignNode[];
  readonly resolved: Map<Alias, ParsedNode | undefined>;
  values: number;
}

/**
 * `merges` counts the merge keys around a value, each of which is a level of its own. `keyOffset` is the place of a value
 * that is not written: a key with nothing behind it.
 */
function read(given: Node | null, path: Path, reading: Reading, merges = 0, keyOffset = 0): ForeignNode {
  const offset = (given as ParsedNode | null)?.range?.[0] ?? keyOffset;
  const refuse = (message: string): never => {
    throw new ConfigurationError([reading.problemFrom(offset, path, message)]);
  };
  const node = isAlias(given) ? anchored(given, reading) : (given as ParsedNode | null);
  if (node === undefined) refuse("this alias has no anchor before it");
  if (reading.resolved.size > MAX_ALIASES) refuse(`the file holds more than ${MAX_ALIASES} aliases`);
  if (path.length + merges > MAX_DEPTH) refuse(`is nested more than ${MAX_DEPTH} levels deep`);
  reading.values += 1;
  if (reading.values > MAX_VALUES) refuse(`the file holds more than ${MAX_VALUES} values`);
  const { line, col } = reading.lines.linePos(offset);
  const place = { path, line: Math.max(line, 1), column: Math.max(col, 1) };
  if (isMap(node)) return { ...place, ...NOTHING, kind: "mapping", members: membersOf(node, path, reading, merges) };
  if (isSeq(node))
    return {
      ...place,
      ...NOTHING,
      kind: "list",
      items: node.items.map((item, index) => read(item as Node | null, [...path, index], reading, merges)),
    };
  return { ...place, ...NOTHING, kind: "scalar", value: isScalar(node) ? scalarOf(node.value, node.source) : null };
}

export const NO_MEMBERS: ReadonlyMap<string, ForeignNode> = new Map();
/** What nodes of the other kinds have. */
export const NOTHING = { value: null, items: [], members: NO_MEMBERS } as const;

function anchored(alias: Alias, { document, resolved }: Reading): ParsedNode | undefined {
  if (!resolved.has(alias)) resolved.set(alias, alias.resolve(document) as ParsedNode | undefined);
  return resolved.get(alias);
}

/** A boolean in YAML 1.1, but not for the parsers of other gateways. https://pyyaml.org/wiki/PyYAMLDocumentation */
const ONE_LETTER = /^[yn]$/i;

/** Dates, bytes and numbers without end have no counterpart in JSON: their text stands for them. */
function scalarOf(value: unknown, source: string | undefined): Scalar {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "boolean") return ONE_LETTER.test(source ?? "") ? source! : value;
  return typeof value === "number" && Number.isFinite(value) ? value : (source ?? "");
}

const MERGE = "<<";

function membersOf(
  map: { readonly items: readonly unknown[] },
  path: Path,
  reading: Reading,
  merges: number,
): ReadonlyMap<string, ForeignNode> {
  const members = new Map<string, ForeignNode>();
  const merged: (Node | null)[] = [];
  for (const { key, value } of map.items as readonly {
    readonly key: ParsedNode | null;
    readonly value: Node | null | undefined;
  }[]) {
    const name = isScalar(key) ? String(key.value) : "";
    if (name === MERGE) {
      merged.push(...(isSeq(value) ? (value.items as (Node | null)[]) : [value ?? null]));
      continue;
    }
    const node = read(value ?? null, [...path, name], reading, merges, key?.range[0] ?? 0);
    const earlier = members.get(name);
    if (earlier !== undefined) reading.replaced.push(earlier);
    members.set(name, node);
  }
  for (const each of merged)
    for (const [name, node] of read(each, path, reading, merges + 1).members)
      if (!members.has(name)) members.set(name, node);
  return members;
}

/** The values at the ends of the tree: scalars, and lists and mappings that are empty. */
export function* leavesOf(node: ForeignNode): Generator<ForeignNode> {
  const below = [...node.items, ...node.members.values()];
  if (below.length === 0) yield node;
  for (const each of below) yield* leavesOf(each);
}

/** The same value without places. */
export function plainOf({ kind, value, items, members }: ForeignNode): unknown {
  if (kind === "list") return items.map(plainOf);
  return kind === "mapping" ? Object.fromEntries(Array.from(members, ([name, node]) => [name, plainOf(node)])) : value;
}

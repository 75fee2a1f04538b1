// Parses YAML 1.2 (core schema) into a plain value that knows the position of each part, with the environment and
// secret files expanded. It rejects the parts of YAML that make a file mean something other than it shows: anchors,
// aliases, tags, directives, duplicate keys, keys that are not text.

// Decides (records and configuration): When are `${NAME}` and `${file:…}` read? By: `parseYaml`. Also:
// `expansion.ts`, `secret-file.ts`; followed by `file-follower.ts`. Rule: Whenever the configuration file is parsed: at the
// start, when its text changes, and on SIGHUP. The environment is that of the start.
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type ErrorCode,
  type ParsedNode,
} from "yaml";
import { expand, type ReadSecretFile, type Variables } from "./expansion.ts";
import { readSecretFile } from "./secret-file.ts";
import { formatPath, MAX_PROBLEMS, problemIn, type ConfigurationProblem, type Path } from "./problem.ts";

export type YamlDocument = ReturnType<typeof parseYaml>;

const MAX_DEPTH = 32;

// The parser's own messages quote the source, which may be a secret.
export const YAML_MISTAKES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: "an alias cannot have an anchor or a tag",
  BAD_ALIAS: "this alias is not valid",
  BAD_COLLECTION_TYPE: "this tag does not fit the collection",
  BAD_DIRECTIVE: "directives are not allowed",
  BAD_DQ_ESCAPE: "this escape is not valid in a double-quoted text; use single quotes or write \\\\",
  BAD_INDENT: "the indentation is wrong, or a bracket or brace before it is not closed",
  BAD_PROP_ORDER: "an anchor or tag is in the wrong place",
  BAD_SCALAR_START: "a plain text cannot begin with this character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a mapping cannot begin on the line of its key; put a text that contains `: ` in quotes",
  BLOCK_IN_FLOW: "a block cannot be inside brackets",
  DUPLICATE_KEY: "duplicate key",
  IMPOSSIBLE: "the file is not valid YAML here",
  KEY_OVER_1024_CHARS: "a key is longer than 1,024 characters",
  MISSING_CHAR: "a character is missing: a quote, a bracket, a comma, or the space after a colon",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line; is a colon with a space missing?",
  MULTIPLE_ANCHORS: "anchors are not allowed",
  MULTIPLE_DOCS: "a file must contain only one document; remove the `---`",
  MULTIPLE_TAGS: "tags are not allowed",
  NON_STRING_KEY: "a key must be a text",
  RESOURCE_EXHAUSTION: "the file is nested too deeply",
  TAB_AS_INDENT: "tabs cannot be used for indentation; use spaces",
  TAG_RESOLVE_FAILED: "tags are not allowed",
  UNEXPECTED_TOKEN: "unexpected text",
};

type Root = Document.Parsed;
type Node = ParsedNode | null | undefined;

/** Does not throw, whatever the text contains. */
export function parseYaml(
  file: string,
  text: string,
  variables: Variables,
  readSecret: ReadSecretFile = readSecretFile,
) {
  const lines = new LineCounter();
  const problems: ConfigurationProblem[] = [];
  const problemAtOffset = (offset: number, path: Path, message: string): ConfigurationProblem => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), path: formatPath(path), message };
  };

  const root = parsedYaml(text, lines);
  if (root === null) problems.push(problemIn(file, YAML_MISTAKES.RESOURCE_EXHAUSTION));
  for (const { code, pos } of root?.errors ?? []) problems.push(problemAtOffset(pos[0], [], YAML_MISTAKES[code]));
  // An unknown tag is only a warning of the parser, and is reported with its key below.
  for (const { code, pos } of root?.warnings ?? [])
    if (code !== "TAG_RESOLVE_FAILED") problems.push(problemAtOffset(pos[0], [], YAML_MISTAKES[code]));
  // The parser knows %YAML and %TAG directives and therefore does not warn about them.
  if (root?.directives.yaml.explicit === true || Object.keys(root?.directives.tags ?? {}).length > 1)
    problems.push(problemAtOffset(Math.max(text.search(/^%/m), 0), [], YAML_MISTAKES.BAD_DIRECTIVE));

  const expanded = new Map<string, string>();
  const report = (node: ParsedNode, path: Path, message: string, at = offsetOf(root, path) ?? node.range[0]): void => {
    if (problems.length < MAX_PROBLEMS) problems.push(problemAtOffset(at, path, message));
  };
  const readable = root !== null && root.errors.length === 0;
  const value = readable ? read(root.contents, [], { variables, readSecret, expanded, report }) : null;
  return {
    /** Null when the file contains null or nothing; null members of a mapping become undefined, which means "not set". */
    value,
    problems,
    /** Texts that result from an expansion, by `JSON.stringify(path)`: they may represent a number or a boolean. */
    expanded,
    /** A problem at the key of `path`, or at its nearest parent that is in the file. */
    problemAt: (path: Path, message: string) => problemAtOffset(offsetOf(root, path) ?? 0, path, message),
  };
}

/** Returns `null` for a text whose levels exhaust the stack. */
export function parsedYaml(text: string, lineCounter: LineCounter, version: "1.1" | "1.2" = "1.2"): Root | null {
  try {
    return parseDocument(text, { version, lineCounter, prettyErrors: false, uniqueKeys: false, stringKeys: true });
  } catch (thrown) {
    // The parser is recursive: a file of a hundred thousand brackets exhausts the stack.
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

interface Reading {
  readonly variables: Variables;
  readonly readSecret: ReadSecretFile;
  readonly expanded: Map<string, string>;
  /** Reports a problem at the key of `path`, or at an offset. */
  readonly report: (node: ParsedNode, path: Path, message: string, at?: number) => void;
}

function read(node: Node, path: Path, reading: Reading): unknown {
  if (node === null || node === undefined) return null;
  if (path.length > MAX_DEPTH) return reading.report(node, path.slice(0, MAX_DEPTH), YAML_MISTAKES.RESOURCE_EXHAUSTION);
  if ("anchor" in node && node.anchor !== undefined) reading.report(node, path, "anchors are not allowed");
  if (node.tag !== undefined) reading.report(node, path, YAML_MISTAKES.TAG_RESOLVE_FAILED);
  if (isMap(node)) {
    // The parser's own check compares every key with every other, which takes 17 s for 50,000 keys.
    const seen = new Set<string>();
    const members = (node.items as readonly { readonly key: ParsedNode; readonly value: ParsedNode | null }[]).map(
      ({ key, value }): [string, unknown] => {
        const name = isScalar(key) ? String(key.value) : "";
        // Schemas silently ignore this key.
        if (name === "__proto__") reading.report(key, [...path, name], "unknown key");
        if (seen.has(name)) reading.report(key, [...path, name], YAML_MISTAKES.DUPLICATE_KEY, key.range[0]);
        seen.add(name);
        return [name, read(value, [...path, name], reading) ?? undefined];
      },
    );
    // An assignment would not work here, because the key may be `__proto__`.
    return Object.fromEntries(members);
  }
  if (isSeq(node))
    return (node.items as readonly ParsedNode[]).map((item, index) => read(item, [...path, index], reading));
  if (!isScalar(node)) return reading.report(node, path, "aliases are not allowed");
  return typeof node.value === "string" ? readText(node, node.value, path, reading) : node.value;
}

function readText(node: ParsedNode, text: string, path: Path, reading: Reading): string | undefined {
  const result = expand(text, reading.variables, reading.readSecret);
  for (const problem of result.problems) reading.report(node, path, problem);
  if (result.problems.length > 0) return undefined;
  if (result.expanded) reading.expanded.set(JSON.stringify(path), result.text);
  return result.text;
}

/** Where the key (or list item) of `path` begins, or its nearest parent when it is not in the file. */
function offsetOf(root: Root | null, path: Path): number | null {
  let node: Node = root?.contents;
  let offset: number | null = null;
  for (const step of path) {
    if (isMap(node)) {
      const pair: { key: ParsedNode; value: ParsedNode | null } | undefined = (
        node.items as { key: ParsedNode; value: ParsedNode | null }[]
      ).find(({ key }) => isScalar(key) && String(key.value) === step);
      if (pair === undefined) break;
      offset = pair.key.range[0];
      node = pair.value;
    } else if (isSeq(node) && typeof step === "number") {
      node = node.items[step] as Node;
      if (node === null || node === undefined) break;
      offset = node.range[0];
    } else break;
  }
  return offset;
}

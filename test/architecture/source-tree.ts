// The project's files as parsed trees, for the checks of the architecture. oxc-parser sees type imports too, which a
// transpiler drops.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { Glob } from "bun";
import { parseSync } from "oxc-parser";

/** A node of the ESTree with TypeScript's additions: https://oxc.rs/docs/guide/usage/parser */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Import {
  /** As written; null when it is computed at run time. */
  readonly specifier: string | null;
  /** For a relative specifier: the path from the project's root. */
  readonly target: string | null;
  readonly line: number;
}

export interface SourceFile {
  /** From the project's root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly body: readonly SyntaxNode[];
  /** Every node, parents first. */
  readonly nodes: readonly SyntaxNode[];
  readonly comments: readonly {
    readonly type: "Line" | "Block";
    readonly value: string;
    readonly start: number;
    readonly end: number;
  }[];
  readonly imports: readonly Import[];
  readonly parseErrors: readonly string[];
  lineAt(offset: number): number;
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

export function parseFile(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const body = parsed.program.body as unknown as readonly SyntaxNode[];
  const nodes: SyntaxNode[] = [];
  for (const node of body) collect(node, nodes);
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length;
  return {
    path,
    text,
    lines: text.trimEnd().split("\n").length,
    body,
    nodes,
    comments: parsed.comments,
    imports: nodes.filter(isImport).map((node) => readImport(node, path, lineAt)),
    parseErrors: parsed.errors.map((error) => error.message),
    lineAt,
  };
}

/** The TypeScript and JavaScript files that the patterns match under `root`, in the order of their paths. */
export function readTree(root: string, patterns: readonly string[]): readonly SourceFile[] {
  const paths = patterns
    .flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })])
    .map((path) => path.replaceAll("\\", "/"));
  return paths.toSorted().map((path) => parseFile(path, readFileSync(join(root, path), "utf8")));
}

export function violation(file: SourceFile, node: { readonly start: number }, what: string): Violation {
  return { path: file.path, line: file.lineAt(node.start), what };
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** `a.b` for the name or member expression of that text, else null. */
export function dottedName(value: unknown): string | null {
  if (!isNode(value)) return null;
  if (value.type === "Identifier") return String(value["name"]);
  if (value.type === "MetaProperty") return "import.meta";
  if (value.type !== "MemberExpression") return null;
  const object = dottedName(value["object"]);
  const property = value["computed"] === true ? literalText(value["property"]) : dottedName(value["property"]);
  return object === null || property === null ? null : `${object}.${property}`;
}

/** The text of a string literal or of a template without substitutions. */
export function literalText(value: unknown): string | null {
  if (!isNode(value)) return null;
  if (value.type === "Literal" && typeof value["value"] === "string") return value["value"];
  if (value.type !== "TemplateLiteral") return null;
  const quasis = value["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  return quasis.length === 1 ? quasis[0]!.value.cooked : null;
}

function collect(node: SyntaxNode, into: SyntaxNode[]): void {
  into.push(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      if (isNode(child)) collect(child, into);
  }
}

function isImport(node: SyntaxNode): boolean {
  if (
    node.type === "ImportDeclaration" ||
    node.type === "ExportAllDeclaration" ||
    node.type === "ImportExpression" ||
    node.type === "TSImportType"
  )
    return true;
  if (node.type === "ExportNamedDeclaration") return node["source"] !== null;
  return (
    node.type === "CallExpression" &&
    ["require", "require.resolve", "import.meta.require"].includes(dottedName(node["callee"]) ?? "")
  );
}

function readImport(node: SyntaxNode, path: string, lineAt: SourceFile["lineAt"]): Import {
  const specifier = literalText(node["source"] ?? (node["arguments"] as readonly unknown[])[0]);
  const target = specifier?.startsWith(".") === true ? join(dirname(path), specifier) : null;
  return { specifier, target, line: lineAt(node.start) };
}

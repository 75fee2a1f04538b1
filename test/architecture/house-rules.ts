// The house rules that a parser can check. Each is a function from the files to the violations.
import { basename } from "node:path/posix";
import { dottedName, isNode, violation, type SourceFile, type SyntaxNode, type Violation } from "./source-tree.ts";

const FORBIDDEN_NOUNS = new Set(["utils", "util", "helpers", "helper", "common", "manager", "service", "services"]);
const HEAD_LINES = 5;
const FUNCTION_TYPES = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

type Judge = (file: SourceFile, node: SyntaxNode) => string | null;

function judgeNodes(files: readonly SourceFile[], judge: Judge): readonly Violation[] {
  return files.flatMap((file) =>
    file.nodes.flatMap((node) => {
      const what = judge(file, node);
      return what === null ? [] : [violation(file, node, what)];
    }),
  );
}

/** A use of one of these dotted names, or of anything below one; `allowed` says in which files it may stand. */
export function useViolations(
  files: readonly SourceFile[],
  names: readonly string[],
  allowed: (path: string) => boolean,
): readonly Violation[] {
  const banned = new Set(names);
  return judgeNodes(
    files.filter(({ path }) => !allowed(path)),
    (_, node) => {
      const name = node.type === "MemberExpression" ? dottedName(node) : null;
      if (name !== null && (banned.has(name) || banned.has(`${name.split(".")[0]}.*`))) return `uses ${name}`;
      // const { env } = process
      if (node.type !== "VariableDeclarator" || !isNode(node["id"]) || node["id"].type !== "ObjectPattern") return null;
      const object = dottedName(node["init"]);
      const taken = (node["id"]["properties"] as readonly SyntaxNode[]).map(
        (property) => `${object}.${dottedName(property["key"]) ?? ""}`,
      );
      return taken.some((each) => banned.has(each) || banned.has(`${object}.*`)) ? `takes ${taken.join(", ")}` : null;
    },
  );
}

/** Calls of global functions by name, such as `fetch(...)`. */
export function callViolations(files: readonly SourceFile[], names: ReadonlySet<string>): readonly Violation[] {
  return judgeNodes(files, (_, node) => {
    const name = node.type === "CallExpression" || node.type === "NewExpression" ? dottedName(node["callee"]) : null;
    return name !== null && names.has(name) ? `calls ${name}` : null;
  });
}

/** `new Date()` and `Date()` read the clock; `new Date(ms)` does not. */
export function bareDateViolations(files: readonly SourceFile[]): readonly Violation[] {
  return judgeNodes(files, (_, node) => {
    const reads =
      (node.type === "NewExpression" || node.type === "CallExpression") &&
      dottedName(node["callee"]) === "Date" &&
      (node["arguments"] as readonly unknown[]).length === 0;
    return reads ? "reads the clock with Date()" : null;
  });
}

export function moduleFormViolations(files: readonly SourceFile[]): readonly Violation[] {
  const defaults = judgeNodes(files, (_, node) => {
    if (node.type === "ExportDefaultDeclaration") return "has a default export";
    const exported = node.type === "ExportSpecifier" ? dottedName(node["exported"]) : null;
    return exported === "default" ? "has a default export" : null;
  });
  return [
    ...defaults,
    ...files
      .filter(isBarrel)
      .map((file) => ({ path: file.path, line: 1, what: "only hands on what other files export" })),
  ];
}

function isBarrel(file: SourceFile): boolean {
  const handsOn = (node: SyntaxNode): boolean =>
    node.type === "ExportAllDeclaration" || (node.type === "ExportNamedDeclaration" && node["declaration"] === null);
  return file.body.some(handsOn) && file.body.every((node) => handsOn(node) || node.type === "ImportDeclaration");
}

export function languageViolations(files: readonly SourceFile[]): readonly Violation[] {
  return judgeNodes(files, (_, node) => {
    if (node.type === "TSEnumDeclaration") return "declares an enum";
    if (node.type === "TSModuleDeclaration" && node["kind"] === "namespace") return "declares a namespace";
    if (node.type === "Decorator") return "uses a decorator";
    const base = node.type === "ClassDeclaration" || node.type === "ClassExpression" ? node["superClass"] : null;
    if (base !== null && base !== undefined && dottedName(base) !== "Error")
      return `extends ${dottedName(base) ?? "an expression"}; only Error may be extended`;
    return null;
  });
}

/** The pathname of an address has other characters than the path of the file: a space stands in it as %20. */
export function filePathViolations(files: readonly SourceFile[]): readonly Violation[] {
  return judgeNodes(files, (file, node) => {
    const { object, property } = node as { readonly object?: unknown; readonly property?: unknown };
    return node.type === "MemberExpression" &&
      isNode(object) &&
      isNode(property) &&
      property["name"] === "pathname" &&
      file.text.slice(object.start, object.end).includes("import.meta.url")
      ? "takes the pathname of an address for a path; use import.meta.dir, fileURLToPath or the address itself"
      : null;
  });
}

/** A value that may have to be awaited has one type and one helper (`core/maybe-promise.ts`). */
export function maybePromiseViolations(files: readonly SourceFile[]): readonly Violation[] {
  const isPromise = (type: unknown): boolean => isNode(type) && dottedName(type["typeName"]) === "Promise";
  const isNothing = (type: unknown): boolean =>
    isNode(type) && (type.type === "TSNullKeyword" || type.type === "TSUndefinedKeyword");
  return judgeNodes(files, (_, node) => {
    if (
      node.type === "BinaryExpression" &&
      node["operator"] === "instanceof" &&
      dottedName(node["right"]) === "Promise"
    )
      return "asks for a Promise; use isPending or whenReady of core/maybe-promise.ts";
    const types = node.type === "TSUnionType" ? (node["types"] as readonly unknown[]) : [];
    return types.some(isPromise) && types.some((type) => !isPromise(type) && !isNothing(type))
      ? "is a value or its promise; make it a promise, or a MaybePromise where every call passes"
      : null;
  });
}

export function fileNameViolations(paths: readonly string[]): readonly Violation[] {
  return paths.flatMap((path) => {
    const name = basename(path);
    if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|suite|d))?\.(ts|tsx|mjs|mts)$/.test(name))
      return [{ path, line: 1, what: "has a name that is not kebab-case" }];
    const noun = name.split(/[-.]/).find((word) => FORBIDDEN_NOUNS.has(word));
    return noun === undefined
      ? []
      : [{ path, line: 1, what: `is called ${noun}, which says nothing about its concept` }];
  });
}

/** Each file begins with one to five lines that say what it does; a `#!` line may stand before. */
export function headCommentViolations(files: readonly SourceFile[]): readonly Violation[] {
  return files.flatMap((file) => {
    const start = file.text.startsWith("#!") ? file.text.indexOf("\n") + 1 : 0;
    const first = file.comments.find((comment) => comment.start >= start);
    if (first === undefined || file.text.slice(start, first.start).trim() !== "")
      return [{ path: file.path, line: 1, what: "has no head comment" }];
    const length =
      first.type === "Block"
        ? first.value.split("\n").length
        : /^(\/\/.*\n?)+/.exec(file.text.slice(start))![0].trimEnd().split("\n").length;
    return length > HEAD_LINES
      ? [{ path: file.path, line: 1, what: `has a head comment of ${length} lines; ${HEAD_LINES} are enough` }]
      : [];
  });
}

export function longFiles(files: readonly SourceFile[], maxLines: number): readonly Violation[] {
  return files
    .filter(({ lines }) => lines > maxLines)
    .map((file) => ({ path: file.path, line: 1, what: `has ${file.lines} lines` }));
}

export function longFunctions(files: readonly SourceFile[], maxLines: number): readonly Violation[] {
  return judgeNodes(files, (file, node) => {
    if (!FUNCTION_TYPES.has(node.type)) return null;
    const lines = file.lineAt(node.end) - file.lineAt(node.start) + 1;
    return lines > maxLines ? `has a function of ${lines} lines` : null;
  });
}

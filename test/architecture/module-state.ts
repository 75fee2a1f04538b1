// Checks that modules hold no state: what changes belongs to an object that is opened and closed. The syntax tree shows
// variables that are not constant, constants that are changed in their file, and new objects that can change.
import { dottedName, isNode, violation, type SourceFile, type SyntaxNode, type Violation } from "./source-tree.ts";

/** A module that may hold state, by its variable, and why. */
export interface StateAllowance {
  readonly path: string;
  readonly name: string;
  readonly reason: string;
}

/** Classes whose objects are as constant as what they are made of, as long as no call below changes them. */
const CONSTANT_CLASSES: ReadonlySet<string> = new Set([
  "Error",
  "Intl.DateTimeFormat",
  "Intl.NumberFormat",
  "Intl.RelativeTimeFormat",
  "Map",
  "RegExp",
  "Set",
  "TextDecoder",
  "TextEncoder",
  "Uint8Array",
  "URL",
]);
const CHANGING_METHODS: ReadonlySet<string> = new Set([
  "add",
  "clear",
  "copyWithin",
  "delete",
  "fill",
  "pop",
  "push",
  "reverse",
  "set",
  "shift",
  "sort",
  "splice",
  "unshift",
]);

export function moduleStateViolations(
  files: readonly SourceFile[],
  allowed: readonly StateAllowance[],
): readonly Violation[] {
  return files.flatMap((file) => {
    const changed = changedNames(file);
    const mayStand = (name: string): boolean =>
      allowed.some((allowance) => allowance.path === file.path && allowance.name === name);
    const variables = file.body.flatMap((statement) => {
      const { declaration } = statement as { declaration?: unknown };
      const node = isNode(declaration) ? declaration : statement;
      if (node.type !== "VariableDeclaration" || node["declare"] === true) return [];
      return (node["declarations"] as readonly SyntaxNode[]).flatMap((declarator) => {
        const name = dottedName(declarator["id"]);
        if (name === null || mayStand(name)) return [];
        const what = node["kind"] === "const" ? stateOf(declarator["init"], changed.has(name)) : "is not constant";
        return what === null ? [] : [violation(file, declarator, `${name} ${what}`)];
      });
    });
    return [...variables, ...staticFields(file)];
  });
}

function stateOf(init: unknown, isChanged: boolean): string | null {
  if (isChanged) return "is changed after it was made";
  const made = isNode(init) && init.type === "NewExpression" ? dottedName(init["callee"]) : null;
  return made === null || CONSTANT_CLASSES.has(made) ? null : `is a ${made}, which can change`;
}

/**
 * The names on which a function of the file calls a changing method, or to whose members it assigns. Statements outside
 * functions run once, before the module is used, and may fill a table.
 */
function changedNames(file: SourceFile): ReadonlySet<string> {
  const functions = file.nodes.filter(({ type }) => /Function|^MethodDefinition$/.test(type));
  const names = new Set<string>();
  for (const node of file.nodes) {
    const name = dottedName(changedExpression(node));
    if (name !== null && functions.some(({ start, end }) => start <= node.start && node.end <= end)) names.add(name);
  }
  return names;
}

function changedExpression(node: SyntaxNode): unknown {
  if (node.type === "CallExpression") {
    const { callee } = node as { callee?: unknown };
    const method = isNode(callee) && callee.type === "MemberExpression" ? dottedName(callee["property"]) : null;
    return method !== null && CHANGING_METHODS.has(method) ? (callee as SyntaxNode)["object"] : null;
  }
  const { left, argument } = node as { left?: unknown; argument?: unknown };
  const target =
    node.type === "AssignmentExpression"
      ? left
      : node.type === "UpdateExpression" || (node.type === "UnaryExpression" && node["operator"] === "delete")
        ? argument
        : null;
  if (!isNode(target) || target.type !== "MemberExpression") return null;
  // Where a search with a regular expression begins is set before each search.
  return dottedName(target["property"]) === "lastIndex" ? null : target["object"];
}

function staticFields(file: SourceFile): readonly Violation[] {
  return file.nodes
    .filter((node) => node.type === "PropertyDefinition" && node["static"] === true && node["readonly"] !== true)
    .map((node) => violation(file, node, "a static field that is not readonly"));
}

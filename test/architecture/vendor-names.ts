// No provider's name is in code outside src/providers/ and src/import/: a vendor's quirk that leaks into shared code would bring its
// name along. Names are read from the providers themselves. Comments and documentation may name vendors.
import { PROVIDERS_SHARE } from "./import-law.ts";
import { isNode, literalText, violation, type SourceFile, type SyntaxNode, type Violation } from "./source-tree.ts";

const PROVIDERS = "src/providers/";
/** Says what other gateways call the providers and their own settings, which is all that this folder is about. */
const IMPORT = "src/import/";

/** Ids that are ordinary words of English or of this code: only a literal that is the id and nothing else counts. */
export const ORDINARY_WORDS: ReadonlySet<string> = new Set([
  "custom",
  "sandbox",
  "together",
  "fireworks",
  "replicate",
  "perplexity",
  "local",
  "openai-compatible",
  "prompt-template",
  "tgi",
  "nova",
  "writer",
  "morph",
  "inception",
  "v0",
]);

/** Names of a wire shape and of the libraries that callers speak it with: a common language, no vendor's quirk. */
const SHAPES = /\bopenai[- ](compatible|shaped|style|sdks?)\b/gi;

/** Code that uses these libraries, as it is shown to callers. */
const LIBRARIES = /\bfrom openai import OpenAI\b|\bimport OpenAI from "openai"|(?:= |new )OpenAI\(/g;

/** Fields of a request that the specification names: the caller's own words, whichever provider serves the call. */
const FIELDS = /\bvertex_(?:project|location|credentials|access_token)\b/g;

/** Client programs, whose names begin as a vendor's do. */
const CLIENTS = /\bClaude Code\b/g;

/** Folders that several providers share and that no vendor is called. */
const SHARED_FOLDERS: ReadonlySet<string> = new Set([...PROVIDERS_SHARE, "content-blocks", "responses"]);

export interface Allowance {
  readonly path: string;
  readonly text: string;
  readonly reason: string;
}

export interface VendorNames {
  /** Lower case. */
  readonly ids: ReadonlySet<string>;
  /** As the vendor writes itself. */
  readonly labels: ReadonlySet<string>;
}

/** From every object literal under src/providers/ that has both an `id` and a `label`, and from the folders there. */
export function vendorNames(files: readonly SourceFile[]): VendorNames {
  const ids = new Set<string>();
  const labels = new Set<string>();
  for (const file of files.filter(({ path }) => path.startsWith(PROVIDERS))) {
    const below = file.path.slice(PROVIDERS.length).split("/");
    if (below.length > 1 && !SHARED_FOLDERS.has(below[0]!)) ids.add(below[0]!);
    for (const node of file.nodes) {
      if (node.type !== "ObjectExpression") continue;
      const id = textProperty(node, "id");
      const label = textProperty(node, "label");
      if (id === null || label === null) continue;
      ids.add(id.toLowerCase());
      labels.add(label);
    }
  }
  return { ids, labels };
}

export function vendorNameViolations(
  files: readonly SourceFile[],
  names: VendorNames,
  allowed: readonly Allowance[],
): readonly Violation[] {
  const notifications = [...names.ids].filter((id) => !ORDINARY_WORDS.has(id));
  const words = new RegExp(`(?<![a-z0-9])(${notifications.map((id) => RegExp.escape(id)).join("|")})(?![a-z0-9])`, "i");
  const judgeText = (text: string): string | null => {
    const plain = text.replaceAll(SHAPES, "").replaceAll(LIBRARIES, "").replaceAll(FIELDS, "").replaceAll(CLIENTS, "");
    if (names.ids.has(text)) return text;
    const word = notifications.length === 0 ? undefined : words.exec(plain)?.[0];
    return (
      word ??
      [...names.labels].find((label) => !ORDINARY_WORDS.has(label.toLowerCase()) && containsWord(plain, label)) ??
      null
    );
  };
  return files
    .filter(({ path }) => !path.startsWith(PROVIDERS) && !path.startsWith(IMPORT))
    .flatMap((file) =>
      file.nodes.flatMap((node) => {
        const text = textOf(node);
        const found = text === null ? judgeIdentifier(node, notifications) : judgeText(text);
        const shown = text ?? String(node["name"]);
        if (found === null || allowed.some((each) => each.path === file.path && each.text === shown)) return [];
        return [violation(file, node, `names the provider ${found} in ${JSON.stringify(shown.slice(0, 80))}`)];
      }),
    );
}

function textProperty(object: SyntaxNode, name: string): string | null {
  const property = (object["properties"] as readonly SyntaxNode[]).find(
    (each) => isNode(each["key"]) && each["key"]["name"] === name,
  );
  return property === undefined ? null : literalText(property["value"]);
}

/** What a reader sees of a literal: a string, a part of a template, the pattern of a regular expression. */
function textOf(node: SyntaxNode): string | null {
  if (node.type === "TemplateElement") return (node["value"] as { readonly raw: string }).raw;
  if (node.type === "JSXText") return String(node["value"]);
  if (node.type !== "Literal") return null;
  const regex = node["regex"] as { readonly pattern: string } | undefined;
  return regex?.pattern ?? (typeof node["value"] === "string" ? node["value"] : null);
}

/** `isOpenAiTarget`, `geminiUrl`: a long id anywhere in the name, a short one only as a word of it. */
function judgeIdentifier(node: SyntaxNode, notifications: readonly string[]): string | null {
  if (node.type !== "Identifier" && node.type !== "PrivateIdentifier") return null;
  const name = String(node["name"]).replaceAll(FIELDS, "").replaceAll(CLIENTS, "");
  const squashed = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const words = `-${name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll(/[_$]/g, "-")
    .toLowerCase()}-`;
  return (
    notifications.find((id) =>
      id.length >= 6 ? squashed.includes(id.replaceAll(/[^a-z0-9]/g, "")) : words.includes(`-${id}-`),
    ) ?? null
  );
}

function containsWord(text: string, word: string): boolean {
  return new RegExp(`(?<![A-Za-z0-9])${RegExp.escape(word)}(?![A-Za-z0-9])`).test(text);
}

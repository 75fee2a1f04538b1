// A document as YAML text, which the form and the text field change alike: comments, order and everything that the form does not know stay.
import { Document, isCollection, isMap, LineCounter, parseDocument, type ParsedNode } from "yaml";
import type { TextProblem } from "../components/text-problem.ts";
import type { Fields } from "./merge-patch.ts";

export type Path = readonly (string | number)[];

/** Stands in the text for a secret that was typed into a form. */
const TYPED_SECRET = "•••";

export interface YamlText {
  readonly text: string;
  /** What was typed into fields for secrets, by the path as JSON. It is sent, and shown nowhere. */
  readonly secrets?: Readonly<Record<string, string>>;
}

const WRITTEN = { lineWidth: 0 } as const;

export function writtenYaml(fields: unknown): YamlText {
  const document = new Document(fields);
  return { text: Object.keys(fields as object).length === 0 ? "" : document.toString(WRITTEN) };
}

export type ReadYaml =
  | { readonly fields: Fields; readonly problems: readonly [] }
  | { readonly fields: null; readonly problems: readonly TextProblem[] };

/** The fields with the secrets that were typed. */
export function readYaml({ text, secrets = {} }: YamlText): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    return {
      fields: null,
      problems: document.errors.map(({ message, pos: [at] }) => ({ line: lines.linePos(at).line, message })),
    };
  if (document.contents === null) return { fields: {}, problems: [] };
  if (!isMap(document.contents))
    return { fields: null, problems: [{ line: 1, message: "The document has to be a mapping of fields." }] };
  try {
    for (const [path, secret] of Object.entries(secrets)) {
      const at = JSON.parse(path) as Path;
      if (document.getIn(at) === TYPED_SECRET) document.setIn(at, secret);
    }
    return { fields: document.toJS({ maxAliasCount: 100 }) as Fields, problems: [] };
  } catch (error) {
    return { fields: null, problems: [{ line: 1, message: (error as Error).message }] };
  }
}

/** What stands at the path in a document that was read. */
export function valueAt(fields: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined,
    fields,
  );
}

/** Undefined removes what stands at the path. A text that cannot be read, or has another value on the way, stays as it is. */
export function withValue(yaml: YamlText, path: Path, value: unknown): YamlText {
  const document = parseDocument(yaml.text);
  if (document.errors.length > 0) return yaml;
  if (document.contents === null) return value === undefined ? yaml : { ...yaml, ...writtenYaml(nested(path, value)) };
  // Nothing is below a key that is absent or has nothing behind it. A text or an alias there was written by hand, and stays.
  const end = path.findIndex((_, depth) => depth > 0 && !isCollection(document.getIn(path.slice(0, depth), true)));
  const at = end < 0 ? path : path.slice(0, end);
  if (end >= 0 && (value === undefined || (document.getIn(at) ?? null) !== null)) return yaml;
  if (value === undefined) document.deleteIn(at);
  else document.setIn(at, document.createNode(end < 0 ? value : nested(path.slice(end), value)));
  return { ...yaml, text: document.toString(WRITTEN) };
}

/** As `withValue`, for what must not be shown: the text gets a mask, which is read as the secret. */
export function withSecret(yaml: YamlText, path: Path, secret: string | undefined): YamlText {
  const { text } = withValue(yaml, path, secret === undefined ? undefined : TYPED_SECRET);
  const key = JSON.stringify(path);
  const { [key]: _, ...others } = yaml.secrets ?? {};
  return { text, secrets: secret === undefined ? others : { ...others, [key]: secret } };
}

/** Moves an entry of the list at the path, with its comments. */
export function withMoved(yaml: YamlText, path: Path, from: number, to: number): YamlText {
  const document = parseDocument(yaml.text);
  const list = document.getIn(path, true) as { readonly items?: unknown[] } | undefined;
  if (list?.items === undefined || to < 0 || to >= list.items.length) return yaml;
  const [moved] = list.items.splice(from, 1);
  list.items.splice(to, 0, moved);
  return { ...yaml, text: document.toString(WRITTEN) };
}

export const nested = (path: Path, value: unknown): unknown =>
  path.reduceRight<unknown>((inner, part) => (typeof part === "number" ? [inner] : { [part]: inner }), value);

/** The line of a path of the admin API, such as `targets[1].weight`; of the nearest part that is there. */
export function lineOf({ text }: YamlText, param: string | null): number {
  if (param === null) return 1;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const path = [...param.matchAll(/[^.[\]]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part));
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as ParsedNode | undefined;
    const at = node?.range?.[0];
    if (at !== undefined) return lines.linePos(at).line;
  }
  return 1;
}

/** Returns a document as it stands in the configuration file: below the keys of its place, with its comments. */
export function fileText(place: readonly string[], text: string): string {
  const keys = place.map((key, depth) => `${"  ".repeat(depth)}${written(key)}:`);
  const indent = "  ".repeat(place.length);
  const lines = text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line === "" ? "" : indent + line));
  return `${[...keys, ...lines].join("\n")}\n`;
}

const written = (key: string): string => (/^[A-Za-z_][\w-]*$/.test(key) ? key : JSON.stringify(key));

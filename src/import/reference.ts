// Values of the configuration that an import makes. A text of the other gateway's file stands in it literally, whatever
// it contains; what refers to the environment or to a file is a reference, and is the only text that is expanded.
import { literalText } from "../config/expansion.ts";

const TEXT = Symbol("text of a reference");

export interface Reference {
  readonly [TEXT]: string;
}

export type Value =
  | string
  | number
  | boolean
  | Reference
  | readonly Value[]
  | { readonly [key: string]: Value | undefined };
export type Mapping = Readonly<Record<string, Value | undefined>>;

/** `${NAME:-fallback}`: an environment variable, which need not be set when the configuration is checked. */
export function variable(name: string, fallback = ""): Reference {
  return { [TEXT]: `\${${name}:-${fallback}}` };
}

/** `${file:/path}`: the content of a file. */
export function contentOf(path: string): Reference {
  return { [TEXT]: `\${file:${path}}` };
}

/** One text made of several parts. */
export function joined(...parts: readonly (string | Reference)[]): Reference {
  return { [TEXT]: parts.map((part) => (typeof part === "string" ? literalText(part) : part[TEXT])).join("") };
}

export function isReference(value: unknown): value is Reference {
  return typeof value === "object" && value !== null && TEXT in value;
}

/** As it is written into the file: members without a value are left out, texts are escaped. */
export function written(value: Value): unknown {
  if (typeof value === "string") return literalText(value);
  if (typeof value !== "object") return value;
  if (isReference(value)) return value[TEXT];
  if (Array.isArray(value)) return (value as readonly Value[]).map(written);
  return Object.fromEntries(
    Object.entries(value as Mapping).flatMap(([key, member]) => (member === undefined ? [] : [[key, written(member)]])),
  );
}

/** A value of the other gateway's file, without `null`, which means "not set" here. */
export function valueOf(plain: unknown): Value | undefined {
  if (typeof plain === "string" || typeof plain === "number" || typeof plain === "boolean") return plain;
  if (Array.isArray(plain)) return plain.flatMap((each) => valueOf(each) ?? []);
  if (typeof plain !== "object" || plain === null) return undefined;
  return Object.fromEntries(Object.entries(plain).map(([key, member]) => [key, valueOf(member)]));
}

// Attributes of spans, points and resources, and their protobuf form.
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/common/v1/common.proto
import type { Json, JsonObject } from "../../../core/json.ts";
import { memoizeBounded } from "../../../core/memoization.ts";
import { ProtobufWriter } from "../../../wire/protobuf.ts";

/** A number that is encoded as a double even when it is an integer. */
export interface Double {
  readonly double: number;
}

export type AttributeValue = string | boolean | number | readonly string[] | Double;
/** Undefined values are left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Texts that callers and providers choose are cut to this length, as in the log. Characters. */
const MAX_TEXT_CHARACTERS = 1024;

export function cut(text: string): string;
export function cut(text: string | null | undefined): string | undefined;
export function cut(text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined;
  return text.length <= MAX_TEXT_CHARACTERS ? text : text.slice(0, MAX_TEXT_CHARACTERS);
}

/** A JSON value of the client: unchanged if an attribute can hold it, else as JSON text. */
export function attributeOf(value: Json): AttributeValue | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : JSON.stringify(value);
}

/** The fields of a client's object, each with the prefix. */
export function prefixed(prefix: string, object: JsonObject | null): Attributes {
  const attributes: Record<string, AttributeValue | undefined> = {};
  for (const name in object) attributes[prefix + name] = attributeOf(object[name]!);
  return attributes;
}

/** Later attributes replace earlier ones of the same name. */
export function merged(parts: readonly Attributes[]): Attributes {
  return Object.assign({}, ...parts) as Attributes;
}

export function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    const start = writer.begin(field);
    writer.raw(keyField(key));
    const any = writer.begin(2);
    writeValue(writer, value);
    writer.end(any);
    writer.end(start);
  }
}

/**
 * The keys are few and occur in every span, so each is encoded once. Clients' keys may be many; the number that is kept
 * is bounded.
 */
const MAX_KEYS = 512;
const KEY_BYTES = 256;

const keyField = memoizeBounded(MAX_KEYS, (key: string): Uint8Array => {
  const writer = new ProtobufWriter(KEY_BYTES);
  writer.text(1, key);
  return writer.bytes();
});

function writeValue(writer: ProtobufWriter, value: AttributeValue): void {
  if (typeof value === "string") writer.text(1, value);
  else if (typeof value === "number") writeNumber(writer, value);
  else if (typeof value === "boolean") writer.boolean(2, value);
  else if ("double" in value) writer.double(4, value.double);
  else writeTexts(writer, value);
}

function writeNumber(writer: ProtobufWriter, value: number): void {
  if (Number.isSafeInteger(value)) writer.integer(3, value);
  else writer.double(4, value);
}

function writeTexts(writer: ProtobufWriter, texts: readonly string[]): void {
  const array = writer.begin(5);
  for (const text of texts) {
    const any = writer.begin(1);
    writer.text(1, text);
    writer.end(any);
  }
  writer.end(array);
}

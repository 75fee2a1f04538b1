// What an answer shows of a thing, by the schema of the answer alone. A member of an answer is the property of the thing that
// core/text/property-name.ts names.
import { z } from "zod";
import { usd } from "../../accounting/price.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { type PropertyName, propertyName, unitOf } from "../../core/text/property-name.ts";
import { iso } from "./schemas.ts";

type Shape = Readonly<Record<string, z.ZodType>>;
type StrictObject = z.ZodObject<Shape, z.core.$strict>;

type Inner<Schema> = Schema extends z.ZodNullable<infer One> | z.ZodUnion<readonly [infer One, z.ZodNull]>
  ? One
  : Schema;
type IsTime<Schema> = Inner<Schema> extends z.ZodISODateTime ? true : false;

/** What a value is made of that the schema describes. Amounts in dollars are made of numbers by their name. */
type SourceOf<Schema, Name extends string = ""> =
  Schema extends z.ZodObject<infer Members, infer Config>
    ? string extends keyof Config["out"]
      ? z.input<Schema>
      : ThingOf<Members>
    : Schema extends z.ZodArray<infer Element>
      ? readonly SourceOf<Element>[]
      : Inner<Schema> extends Schema
        ? Schema extends z.ZodISODateTime
          ? number
          : Name extends `${string}_usd`
            ? number | bigint
            : Schema extends z.ZodType
              ? z.input<Schema>
              : never
        : SourceOf<Inner<Schema>, Name> | null;

/** A thing that has everything that an answer of this shape shows. */
export type ThingOf<Members> = {
  readonly [Name in keyof Members & string as PropertyName<Name, IsTime<Members[Name]>>]: SourceOf<Members[Name], Name>;
};

/** The members of the schema in its order, and nothing else of the thing. */
export function shownAs<Members extends Shape>(
  schema: z.ZodObject<Members, z.core.$strict>,
  thing: ThingOf<Members>,
): JsonObject {
  return shownMembers(schema, thing);
}

function shownMembers({ shape }: StrictObject, thing: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    membersOf(shape).map(({ name, property, schema, unit }) => {
      const value = thing[property];
      if (unit === null || value === null) return [name, shownValue(schema, value)];
      return [name, unit === "seconds" ? (value as number) / 1000 : usd(value as number | bigint)];
    }),
  );
}

const membersOf = memoizePerObject((shape: Shape) =>
  Object.entries(shape).map(([name, schema]) => ({
    name,
    schema,
    unit: unitOf(name),
    property: propertyName(name, innerOf(schema) instanceof z.ZodISODateTime),
  })),
);

/** The schema of what may be null, as `nullable` and `orNull` make it; any other schema as it is. */
function innerOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodNullable) return schema.unwrap() as z.ZodType;
  if (!(schema instanceof z.ZodUnion)) return schema;
  const [inner, other] = schema.options as readonly z.ZodType[];
  return other instanceof z.ZodNull ? inner! : schema;
}

function shownValue(schema: z.ZodType, value: unknown): Json {
  const inner = innerOf(schema);
  if (value === null) return null;
  if (inner instanceof z.ZodISODateTime) return iso(value as number);
  if (inner instanceof z.ZodArray)
    return (value as readonly unknown[]).map((one) => shownValue(inner.element as z.ZodType, one));
  return isStrictObject(inner) ? shownMembers(inner, value as Readonly<Record<string, unknown>>) : (value as Json);
}

/** Of an object with members of any name, all are shown as they are. */
function isStrictObject(schema: z.ZodType): schema is StrictObject {
  return schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;
}

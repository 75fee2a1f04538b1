// The settings that a section of the file gives, by the shape of the section alone: `max_bytes` is `maxBytes`, and a time in
// seconds (`drain_s`) is one in milliseconds (`drainMs`). What may be left out is `null` where it is.
import type { z } from "zod";
import { memoizePerObject } from "../core/memoization.ts";
import { type CamelCase, camelCase } from "../core/text/camel-case.ts";

type Shape = Readonly<Record<string, z.ZodType>>;
type Setting<Value> = Value extends undefined ? null : Value extends readonly (infer One)[] ? readonly One[] : Value;

export type SectionSettings<Of extends Shape> = {
  readonly [
    Name in keyof Of & string as Name extends `${infer Head}_s` ? `${CamelCase<Head>}Ms` : CamelCase<Name>
  ]: Setting<z.output<Of[Name]>>;
};

/** The section may have further members, which are left out. */
export function sectionSettings<Of extends Shape>(
  shape: Of,
  section: { readonly [Name in keyof Of]?: z.output<Of[Name]> },
): SectionSettings<Of> {
  const settings = membersOf(shape).map(({ name, setting, isSeconds }) => {
    const value = section[name] ?? null;
    return [setting, isSeconds && value !== null ? toMs(value as number) : value];
  });
  return Object.fromEntries(settings) as SectionSettings<Of>;
}

const membersOf = memoizePerObject((shape: Shape) =>
  Object.keys(shape).map((name) => {
    const isSeconds = name.endsWith("_s");
    return { name, isSeconds, setting: isSeconds ? `${camelCase(name.slice(0, -"_s".length))}Ms` : camelCase(name) };
  }),
);

/** Whole milliseconds, and at least one where it is not 0. */
const toMs = (seconds: number): number => (seconds === 0 ? 0 : Math.max(1, Math.round(seconds * 1000)));

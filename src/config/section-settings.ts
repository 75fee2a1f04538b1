// The settings that a section of the file gives, by the shape of the section alone. They have the names of
// core/text/property-name.ts: `max_bytes` is `maxBytes`, and `drain_s` is `drainMs`. What may be left out is `null` where it is.
import { z } from "zod";
import { memoizePerObject } from "../core/memoization.ts";
import { type PropertyName, propertyName, unitOf } from "../core/text/property-name.ts";

/** No section has an amount of money. */
type Shape = Readonly<Record<string, z.ZodType>> & { readonly [Amount in `${string}_usd`]?: never };
type Setting<Value> = Value extends undefined ? null : Value extends readonly (infer One)[] ? readonly One[] : Value;

export type SectionSettings<Of extends Shape> = {
  readonly [Name in keyof Of & string as PropertyName<Name>]: Setting<z.output<Of[Name]>>;
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

/** A section of the file that is its shape and nothing else, and that may be left out. */
export const sectionOf = <Of extends Shape>(
  shape: Of,
  meta: { readonly title: string; readonly description: string },
) =>
  z
    .strictObject(shape)
    .transform((file) => sectionSettings(shape, file as { readonly [Name in keyof Of]?: z.output<Of[Name]> }))
    .prefault({} as never)
    .meta(meta);

const membersOf = memoizePerObject((shape: Shape) =>
  Object.keys(shape).map((name) => ({ name, isSeconds: unitOf(name) === "seconds", setting: propertyName(name) })),
);

/** Whole milliseconds, and at least one where it is not 0. */
const toMs = (seconds: number): number => (seconds === 0 ? 0 : Math.max(1, Math.round(seconds * 1000)));

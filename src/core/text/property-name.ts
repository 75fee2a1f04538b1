// What members of documents (of the configuration, of queries and of answers) are called in this source: their name in camel case,
// with the unit that they have here behind it. Points in time are milliseconds: `created_at` is `createdAtMs`. So are seconds:
// `drain_s` is `drainMs`. Dollars are nano-dollars: `cost_usd` is `costNanoUsd`.
import { type CamelCase, camelCase } from "./camel-case.ts";

/** Whether a member is a point in time does not follow from its name. */
export type PropertyName<Name extends string, IsTime extends boolean = false> = IsTime extends true
  ? `${CamelCase<Name>}Ms`
  : Name extends `${infer Head}_s`
    ? `${CamelCase<Head>}Ms`
    : Name extends `${infer Head}_usd`
      ? `${CamelCase<Head>}NanoUsd`
      : CamelCase<Name>;

/** In which unit a member is by its name; `null` for one that is the same here. */
export function unitOf(name: string): "seconds" | "dollars" | null {
  if (name.endsWith("_s")) return "seconds";
  return name.endsWith("_usd") ? "dollars" : null;
}

export function propertyName(name: string, isTime = false): string {
  if (isTime) return `${camelCase(name)}Ms`;
  const unit = unitOf(name);
  if (unit === null) return camelCase(name);
  return camelCase(name.slice(0, name.lastIndexOf("_"))) + (unit === "seconds" ? "Ms" : "NanoUsd");
}

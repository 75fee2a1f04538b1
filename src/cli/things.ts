// Prints the things of a gateway as tables: a row for each thing, a column for each field.
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { printTable } from "./output.ts";

export function printThings(columns: Readonly<Record<string, string>>, things: readonly JsonObject[]): void {
  printTable(
    Object.keys(columns),
    things.map((thing) => Object.values(columns).map((field) => cell(thing, field))),
  );
}

/** The things of a list in an answer. */
export const rowsOf = (list: Json | undefined): readonly JsonObject[] =>
  Array.isArray(list) ? (list as readonly JsonObject[]) : [];

/** A field as text: lists with commas, objects by their members, an absent value as a dash. */
export function cell(thing: Json, field: string): string {
  let value: Json | undefined = thing;
  for (const name of field.split(".")) value = isObject(value) ? value[name] : undefined;
  if (field === "actor") return actorOf(value);
  if (field === "cost_usd" && isObject(thing)) return costOf(thing, value);
  return cellOf(value);
}

export function cellOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "-";
  if (Array.isArray(value))
    return (
      value
        .map((one: Json) => (isObject(one) && typeof one["model"] === "string" ? one["model"] : cellOf(one)))
        .join(", ") || "-"
    );
  if (isObject(value))
    return (
      Object.entries(value)
        .map(([name, one]) => `${name}=${cellOf(one)}`)
        .join(" ") || "-"
    );
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const NO_PRICE = "no price";

/** Calls without a known price are in no sum, which 0 alone would not say. */
function costOf({ unpriced, calls, answered }: JsonObject, cost: Json | undefined): string {
  if (typeof unpriced !== "number" || unpriced === 0) return cellOf(cost);
  return unpriced === (answered ?? calls) ? NO_PRICE : `${cellOf(cost)} (${unpriced} without a price)`;
}

function actorOf(value: Json | undefined): string {
  return isObject(value) ? cellOf(value["user_id"] ?? value["token_id"] ?? "command line") : "-";
}

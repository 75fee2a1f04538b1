// The figures of a price as its list shows them.
import type { ConfiguredObject } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";

export const textOf = (value: unknown): string => (typeof value === "string" ? visibleText(value) : "–");

/** The price of one kind of token. */
export function rateText(price: ConfiguredObject, kind: string): string {
  if (price[kind] === undefined) return "–";
  return `${textOf(price[kind])} ${price["per"] === "token" ? "for a token" : "for a million"}`;
}

/** What is not counted in tokens. */
export function eachText({ request, search_unit: unit }: ConfiguredObject): string {
  const each = [
    ...(request === undefined ? [] : [`${textOf(request)} for a request`]),
    ...(unit === undefined ? [] : [`${textOf(unit)} for a search unit`]),
  ];
  return each.join(", ") || "–";
}

// The tables of what vendors bill by use and whose price the gateway knows: of the tools that they run, for
// docs/native-operations.md, and of search units, for docs/prices.md, which also has the tiers of service.
import { providers } from "../../src/providers/registry.ts";
import { code, codeList, table } from "./markdown.ts";

const NANO = 1_000_000_000;

export function hostedTools(): string {
  return table(
    ["provider", "types", "counted as", "price of one use", "source"],
    [...providers.values()].flatMap(({ id, hostedTools: priced = [] }) =>
      priced.map(({ kind, types, nanoUsd, source }) => [
        code(id),
        codeList(types),
        code(kind),
        `${nanoUsd / NANO} USD`,
        `<${source}>`,
      ]),
    ),
  );
}

export function priceFactors(): string {
  return table(
    ["provider", "the answer says", "models", "the price of", "times", "source"],
    [...providers.values()].flatMap(({ id, priceFactors: factors = [] }) =>
      factors.map(({ told, values, models, times: [numerator, denominator], of = "tokens", source }) => [
        code(id),
        codeList(values.map((value) => `${told}: ${value}`)),
        models === undefined ? "all" : code(models.source),
        of === "tokens_not_read" ? "tokens that are not read from the cache" : of,
        `${numerator}/${denominator}`,
        `<${source}>`,
      ]),
    ),
  );
}

export function searchUnitPrices(): string {
  return table(
    ["provider", "models", "price of one unit", "source", "read"],
    [...providers.values()].flatMap(({ id, searchUnits = [] }) =>
      searchUnits.map(({ models, nanoUsd, source, read }) => [
        code(id),
        codeList(models),
        `${nanoUsd / NANO} USD`,
        `<${source}>`,
        read,
      ]),
    ),
  );
}

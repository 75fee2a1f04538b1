// The table of tools that vendors run and whose price the gateway knows, for docs/native-operations.md.
import { providers } from "../src/providers/registry.ts";
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

// Parameters that changed their name or form, as explain shows them (promise 9.4): these encoders report each one that
// their table maps or emulates.
import { expect, test } from "bun:test";
import { COMMON_PARAMETERS } from "../../src/core/params.ts";
import { providers } from "../../src/providers/registry.ts";
import { encoded } from "../contract/providers/provider-requests.ts";
import { allows, cellOf, isDoneHere, modelNames, SAMPLES } from "../spec/requests/parameter-samples.ts";

test.each([
  "anthropic",
  "gemini",
  "openai",
  "deepseek",
  "xai",
  "together",
  "perplexity",
  "lmstudio",
  "llamacpp",
  "cerebras",
  "groq",
])("[d9.4] %s names the place of each parameter that it maps to another form", (id) => {
  const provider = providers.get(id)!;
  const faults: string[] = [];
  for (const model of modelNames(provider))
    for (const name of COMMON_PARAMETERS) {
      const cell = cellOf(provider, name, model);
      if ((cell.support !== "mapped" && cell.support !== "emulated") || isDoneHere(name, cell)) continue;
      const values = SAMPLES[name].values.filter((value) => allows(cell, value));
      const told = values.flatMap(
        (value) => encoded(provider, { ...SAMPLES[name].beside, [name]: value } as never, { model }).mapped ?? [],
      );
      if (values.length > 0 && !told.some((words) => words.startsWith(`${name} -> `)))
        faults.push(`${model} ${name}: ${JSON.stringify(told)}`);
    }
  expect(faults).toEqual([]);
});

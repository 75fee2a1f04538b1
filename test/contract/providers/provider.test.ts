// All providers through their common suite, and all code that they run through the random one.
import { describe, expect, test } from "bun:test";
import { providers } from "../../../src/providers/registry.ts";
import { modelNames } from "../../spec/requests/parameter-samples.ts";
import { providerFuzzSuite } from "./provider-fuzz.suite.ts";
import { providerSuite } from "./provider.suite.ts";

const all = [...providers.values()];

describe("the registry", () => {
  test("ids and names are unique, in any case of their letters", () => {
    expect(new Set(all.map(({ id }) => id.toLowerCase())).size).toBe(all.length);
    expect(new Set(all.map(({ label }) => label.toLowerCase())).size).toBe(all.length);
    for (const [id, provider] of providers) expect(provider.id).toBe(id);
  });
  test("no variable is the key of two providers, except of two operations of one provider", () => {
    // one key of one vendor for two of its services
    const shared = new Set(["AWS_BEARER_TOKEN_BEDROCK"]);
    const apart = all.filter(
      ({ id }) => !(id.endsWith("-generate") && providers.has(id.slice(0, -"-generate".length))),
    );
    const variables = apart.flatMap(({ keyVariables }) => keyVariables).filter((name) => !shared.has(name));
    expect(variables.filter((name, index) => variables.indexOf(name) !== index)).toEqual([]);
  });
  test("[d6.2] the suite covers every exception of every table", () => {
    const unreached = all.flatMap((provider) =>
      provider.capabilities.exceptions
        .filter(({ models }) => !modelNames(provider).some((name) => models.test(name)))
        .map(({ models }) => `${provider.id} ${String(models)}`),
    );
    expect(unreached).toEqual([]);
  });
});

for (const provider of all) providerSuite(provider);
providerFuzzSuite();

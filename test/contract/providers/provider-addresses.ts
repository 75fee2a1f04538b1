// Whether the requests of a provider stay on the address of their target, and names of models that could lead away from
// it.
import { expect } from "bun:test";
import fc from "fast-check";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { fitted, targetOf } from "./provider-requests.ts";

/** What stands behind the host of an address; nothing for the provider's own address. */
export const TAILS = ["", "/deep/path", ":8443/v1"] as const;

export const MODEL_PATHS: readonly string[] = [
  "a/b",
  "//evil.example/x",
  "@evil.example",
  "%2e%2e%2F",
  "./models/",
  "\\evil.example",
  ":80",
  '{model}$&"',
];

const PIECES = `/ // . ./ %2e%2e %2F \\ @ @evil.example : :80 models/ tunedModels/ ; & = a {model} $& "`.split(" ");
const printable = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 60,
});
const spiteful = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
/** Any name that the gateway takes for a model. */
export const anyModel: fc.Arbitrary<string> = fc
  .oneof(printable, spiteful)
  .filter((model) => !model.includes("..") && !/[?#]/.test(model));

export function staysOnAddress(provider: Provider, model: string, tail: (typeof TAILS)[number]): void {
  const baseUrl = tail === "" ? targetOf(provider).baseUrl : `https://host.example${tail}`;
  const requestOf = (name: string) =>
    provider.encodeRequest(fitted(provider, {}, { model: name }), { ...targetOf(provider, name), baseUrl }).request;
  const request = requestOf(model);
  const [base, url] = [new URL(baseUrl), new URL(request.url)];
  expect([model, url.protocol, url.host, url.username, url.password, url.hash]).toEqual([
    model,
    base.protocol,
    base.host,
    "",
    "",
    "",
  ]);
  expect(url.pathname.startsWith(base.pathname.replace(/\/$/, ""))).toBe(true);
  // nothing but what the address ends in for every model
  expect(url.search).toBe(new URL(requestOf("plain").url).search);
  JSON.parse(request.body);
}

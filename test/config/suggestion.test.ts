// "Did you mean": which known word is near a mistyped one.
import { expect, test } from "bun:test";
import { didYouMean, nearestWord } from "../../src/config/suggestion.ts";

const KEYS = ["server", "providers", "projects", "settings", "api_key", "base_url", "cors", "ops"];

test.each([
  ["provider", "providers"],
  ["porviders", "providers"],
  ["prjects", "projects"],
  ["api-key", "api_key"],
  ["apikey", "api_key"],
  ["baseurl", "base_url"],
  ["cros", "cors"],
  ["op", "ops"],
])("%p is near %p", (word, nearest) => {
  expect(nearestWord(word, KEYS)).toBe(nearest);
});

test.each(["tenants", "x", "", "timeout", "o".repeat(1000)])("%p is near nothing", (word) => {
  expect(nearestWord(word, KEYS)).toBeNull();
});

test("a suggestion has one form", () => {
  expect(didYouMean("servre", KEYS)).toBe('; did you mean "server"?');
  expect(didYouMean("tenants", KEYS)).toBe("");
});

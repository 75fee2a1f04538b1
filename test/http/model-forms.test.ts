// Listings of models in the form of who asks (promise 12.12).
import { expect, test } from "bun:test";
import type { GatewayError } from "../../src/core/errors.ts";
import { listingFor, modelFor } from "../../src/http/model-forms.ts";

const MODELS = ["a", "b", "c"].map((id) => ({
  id,
  object: "model",
  created: 1_767_225_600,
  owned_by: "one",
  name: id.toUpperCase(),
  ...(id === "a" && { context_length: 1000, top_provider: { max_completion_tokens: 100 } }),
}));
const asked = (version: string | null, query: Readonly<Record<string, string>> = {}) => ({
  headers: new Headers(version === null ? {} : { "anthropic-version": version }),
  query: (name: string) => query[name],
  deviates: () => true,
});

test("[d12.12] without a version or a query of others, the list is that of chat completions", () => {
  expect(listingFor(MODELS, asked(null))).toEqual({ object: "list", data: MODELS });
  expect(modelFor(MODELS[0]!, asked(null))).toBe(MODELS[0]!);
});

test("[d12.12] clients of the Messages API get its form, in pages", () => {
  const first = {
    type: "model",
    id: "a",
    display_name: "A",
    created_at: "2026-01-01T00:00:00Z",
    max_input_tokens: 1000,
    max_tokens: 100,
  };
  expect(modelFor(MODELS[0]!, asked("2023-06-01"))).toEqual(first);
  const page = (query: Record<string, string>): Record<string, unknown> => {
    const { data, ...rest } = listingFor(MODELS, asked("2023-06-01", query));
    return { ids: (data as { id: string }[]).map(({ id }) => id).join(""), ...rest };
  };
  expect(listingFor(MODELS, asked("2023-06-01"))).toMatchObject({ data: [first, { id: "b" }, { id: "c" }] });
  expect(page({})).toEqual({ ids: "abc", has_more: false, first_id: "a", last_id: "c" });
  expect(page({ limit: "2" })).toEqual({ ids: "ab", has_more: true, first_id: "a", last_id: "b" });
  expect(page({ limit: "2", after_id: "b" })).toEqual({ ids: "c", has_more: false, first_id: "c", last_id: "c" });
  expect(page({ limit: "1", before_id: "c" })).toEqual({ ids: "b", has_more: true, first_id: "b", last_id: "b" });
  expect(page({ after_id: "c" })).toEqual({ ids: "", has_more: false, first_id: null, last_id: null });
  for (const limit of ["0", "1001", "x"]) {
    let thrown: unknown;
    try {
      page({ limit });
    } catch (error) {
      thrown = error;
    }
    expect((thrown as GatewayError).param).toBe("limit");
  }
});

test("[d12.12] Codex gets a list in its own form, which leaves it its own instructions", () => {
  expect(listingFor(MODELS, asked(null, { client_version: "0.159.2" }))).toEqual({ models: [] });
});

test("[d12.14] without the deviation for it, Codex gets the list of chat completions", () => {
  const asks = { ...asked(null, { client_version: "0.159.2" }), deviates: () => false };
  expect(listingFor(MODELS, asks)).toEqual({ object: "list", data: MODELS });
});

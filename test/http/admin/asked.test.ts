// What a query asks for, as filters of the store name it.
import { expect, test } from "bun:test";
import { z } from "zod";
import { askedBy, placeAsked } from "../../../src/http/admin/asked.ts";

const shape = { user_id: z.string(), from: z.number(), ended_from: z.number(), role: z.string() };

test("a filter has the members of the query that are in the shape, by the names that the store has for them", () => {
  const query = { limit: 100, user_id: "ann", from: 1, ended_from: 2, role: undefined };
  expect(askedBy(shape, query)).toStrictEqual({ userId: "ann", fromMs: 1, endedFromMs: 2 });
});

test("a place restricts by what it names, and the whole gateway restricts nothing", () => {
  expect(placeAsked(null)).toStrictEqual({});
  expect(placeAsked({ tenantId: "acme", projectId: null })).toStrictEqual({ tenantId: "acme" });
  expect(placeAsked({ tenantId: "acme", projectId: "web" })).toStrictEqual({ tenantId: "acme", projectId: "web" });
});

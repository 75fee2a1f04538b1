// Promises 12.1, 12.8 and 12.9: which bodies name items of earlier responses, and a list of items that has each once.
import { expect, test } from "bun:test";
import { LEAST_BODY_BOUNDS } from "../../../src/core/request/body-bounds.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { keepResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import { inputItems } from "../../../src/operations/responses/kept-response-requests.ts";
import { RESPONSES_FORM } from "../../../src/operations/responses/responses-form.ts";
import { keptReader, saying } from "./responses-calls.ts";

const SEALED = { encrypted_content: "c2VhbGVk" };
const reasoning = (id: string, more: object = {}) => ({ type: "reasoning", id, summary: [], ...more });

test.each([
  ["reasoning without its content", [reasoning("rs_1")], ["rs_1"]],
  ["reasoning whose content is empty", [reasoning("rs_1", { encrypted_content: "" })], ["rs_1"]],
  ["reasoning whose content is null", [reasoning("rs_1", { encrypted_content: null })], ["rs_1"]],
  ["one of two with its content", [reasoning("rs_1", SEALED), reasoning("rs_2")], ["rs_2"]],
  [
    "reasoning without its content beside a compaction that has some",
    [{ type: "compaction", id: "cmp_1", ...SEALED }, reasoning("rs_1")],
    ["rs_1"],
  ],
  ["reasoning with its content", [reasoning("rs_1", SEALED), { type: "compaction", id: "cmp_1", ...SEALED }], null],
] as const)("[d12.9] a body with %s names what is kept of it", (_, items, emptied) => {
  const body = JSON.stringify({ model: "openai:gpt-5", input: [{ role: "user", content: "Go on." }, ...items] });
  expect(RESPONSES_FORM.keeping!.mayName(Buffer.from(body))).toBe(true);
  const named = RESPONSES_FORM.keeping!.namedIn(body, LEAST_BODY_BOUNDS) as { readonly emptied: unknown } | null;
  expect(named === null ? null : named.emptied).toEqual(emptied);
});

test("[d12.8] pages of the items of a response end, also where its conversation has one item twice", async () => {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const kept = new KeptObjects(clock);
  const stub = { ...saying("Hello") };
  const context = { ...stub.context, kept, clock };
  const reader = keptReader({ context });
  const { token } = reader;
  const created = { projectMs: null, userMs: null };
  const owner = { tenantId: "default", projectId: "default", tokenId: token.id, userId: null, created };
  const input = ["a", "b", "a", "c", "b"].map((id) => ({ type: "message", id, role: "user", content: id }));
  await keepResponse(kept, { owner, response: { id: "resp_1", status: "completed", output: [] }, input });
  const seen: unknown[] = [];
  for (let after: string | undefined; ;) {
    const query = new Map<string, string>([
      ["limit", "1"],
      ["order", "asc"],
      ...(after === undefined ? [] : [["after", after] as const]),
    ] as const);
    const page = await inputItems({ ...reader, id: "resp_1", query: (name) => query.get(name) });
    after = page["last_id"] as string;
    seen.push(after);
    if (page["has_more"] !== true || seen.length > input.length) break;
  }
  expect(seen).toEqual(["a", "b", "c"]);
});

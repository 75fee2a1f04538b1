// The OpenAPI document (promise 9.3): valid, complete, and usable by clients.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ADMIN_OPERATIONS } from "../../../src/auth/admin-operations.ts";
import { CATALOGUE } from "../../../src/core/errors.ts";
import { FIELDS } from "../../../src/core/params.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";

let world: AdminWorld;
let document: any;
beforeAll(async () => {
  world = await openAdminWorld();
  document = (await world.send(null, "GET", "/api/v1/openapi.json")).body;
});
afterAll(() => world.close());

const operations = (): readonly (readonly [path: string, method: string, of: any])[] =>
  Object.entries<any>(document.paths).flatMap(([path, item]) =>
    Object.entries<any>(item).map(([method, of]) => [path, method, of] as const),
  );

describe("the OpenAPI document", () => {
  test("[d9.3] is valid OpenAPI 3.1, and the validator sees a mistake", async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect([result.valid, document.openapi]).toEqual([true, "3.1.0"]);
    const broken = structuredClone(document);
    broken.paths["/api/v1/chat/completions"].post.responses = 5;
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });
  test("[d9.3] has every operation of the table of roles once, each with a tag, a summary and its refusals", () => {
    const served = operations()
      .filter(([, , of]) => of["x-required-role"] !== undefined)
      .map(([, , of]) => of.operationId as string);
    const notServed = [...ADMIN_OPERATIONS.keys()].filter((id) => !served.includes(id));
    expect(served.filter((id) => !ADMIN_OPERATIONS.has(id))).toEqual([]);
    expect(new Set(served).size).toBe(served.length);
    expect(notServed).toEqual([]);
    for (const [path, method, { operationId, tags, summary, responses }] of operations())
      expect([path, method, typeof operationId, tags.length, summary.length > 5, responses["4XX"]]).toEqual([
        path,
        method,
        "string",
        1,
        true,
        { $ref: "#/components/responses/Refused" },
      ]);
  });
  test("[d9.3] [s:versioning.1] describes the chat operation with every field of the one table, and every code of the catalogue", () => {
    const { ChatRequest, Error } = document.components.schemas;
    expect(document.paths["/api/v1/chat/completions"].post.operationId).toBe("createChatCompletion");
    expect(Object.keys(ChatRequest.properties).toSorted()).toEqual(
      [...new Set([...FIELDS.keys(), "messages"])].toSorted(),
    );
    expect(ChatRequest.properties.temperature).toMatchObject({ type: ["number", "null"], minimum: 0, maximum: 2 });
    expect(ChatRequest.properties.stream).toMatchObject({ type: ["boolean", "null"] });
    expect(Error.properties.error.properties.code.enum).toEqual(Object.keys(CATALOGUE));
  });
  test("[d9.3] has no broken reference", () => {
    const names = new Set(
      [...JSON.stringify(document).matchAll(/"#\/components\/(schemas|responses)\/(\w+)"/g)].map(
        ([, kind, name]) => `${kind} ${name}`,
      ),
    );
    expect(names.size).toBeGreaterThan(30);
    for (const name of names) {
      const [kind, word] = name.split(" ") as [string, string];
      expect([name, document.components[kind][word] !== undefined]).toEqual([name, true]);
    }
  });
  test("[d9.3] [d9.6] is the same under every base address, for every caller", async () => {
    for (const path of ["/v1/openapi.json", "/api/openapi.json"])
      expect((await world.send(null, "GET", path)).body).toEqual(document);
    expect((await world.send(null, "POST", "/api/v1/openapi.json")).status).toBe(405);
  });
});

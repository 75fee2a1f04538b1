// `/mcp` before tool servers whose tools and results break the protocol: clients get strict forms, which the libraries of
// both generations accept.
import { describe, expect, test } from "bun:test";
import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { isSpecType } from "@modelcontextprotocol/client";
import type { Json, JsonObject } from "../../src/core/json.ts";
import type { ToolDefinition, ToolResult } from "../../src/core/configured/tool.ts";
import { handleCall } from "../../src/engine/handle.ts";
import { createMcpApp } from "../../src/http/mcp/mcp-app.ts";
import { fakeToolServers } from "../harness/tools/fake-tools.ts";
import { projectToken, stubGateway } from "../harness/in-process.ts";

const result = (blocks: readonly Json[], structured?: Json): ToolResult => ({
  parts: [],
  blocks,
  structured,
  isError: false,
  bytes: 100,
});

async function asked(
  message: JsonObject,
  tools: readonly JsonObject[],
  blocks: readonly Json[] = [],
  structured?: Json,
): Promise<any> {
  const { token } = projectToken();
  const servers = fakeToolServers({ files: { look: { run: () => result(blocks, structured) } } });
  const listed = tools.map(
    (one): ToolDefinition =>
      ({ title: null, description: null, inputSchema: { type: "object" }, ...one }) as unknown as ToolDefinition,
  );
  const { context } = stubGateway({
    tools: { ...servers, toolServers: { ...servers.toolServers, list: () => Promise.resolve(listed) } },
  });
  const app = createMcpApp({
    ...context,
    kept: null,
    held: context.traffic.held,
    suspend() {
      throw new Error("nothing waits for a person");
    },
    isEnding: () => false,
    isRetiring: () => false,
    call: (operation, request, caller) => handleCall(operation, request, context, null, caller),
  });
  const http = new Request("http://gateway.test/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  const text = await (await app.answer({ http, address: null, identify: () => token })).text();
  return JSON.parse(text.slice(text.indexOf("{"))).result;
}

describe("[d16.3] a tool server that breaks the protocol", () => {
  test("in one of its tools takes no other tool from the list", async () => {
    const list = await asked({ method: "tools/list" }, [
      { name: "good", annotations: { readOnlyHint: true } },
      { name: "annotated", annotations: { readOnlyHint: "yes" } },
      { name: "untitled", annotations: { title: 5 }, outputSchema: { type: "object" } },
      {
        name: "any",
        inputSchema: { type: "object", properties: { a: true, b: false } },
      },
      { name: "answers", outputSchema: { type: "object", properties: { a: true } } },
      { name: "needs", inputSchema: { type: "object", required: "a" } },
    ]);
    expect(ListToolsResultSchema.safeParse(list).success).toBe(true);
    expect(isSpecType.ListToolsResult(list)).toBe(true);
    expect(list.tools).toEqual([
      { name: "files__good", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
      { name: "files__annotated", inputSchema: { type: "object" } },
      { name: "files__untitled", inputSchema: { type: "object" }, outputSchema: { type: "object" } },
      { name: "files__any", inputSchema: { type: "object", properties: { a: {}, b: { not: {} } } } },
      {
        name: "files__answers",
        inputSchema: { type: "object" },
        outputSchema: { type: "object", properties: { a: {} } },
      },
    ]);
  });

  test("in one block of a result gets its other blocks to the client, and this one as a text", async () => {
    const call = { method: "tools/call", params: { name: "files__look", arguments: {} } };
    const good = { type: "text", text: "a red dot" };
    const odd: readonly Json[] = [
      { type: "chart", of: [1, 2] },
      { type: "image", mimeType: "image/png", data: "***" },
      { type: "text", text: "b", annotations: { priority: 7 } },
      "c",
      null,
    ];
    const said = await asked(call, [{ name: "look" }], [good, ...odd]);
    expect(CallToolResultSchema.safeParse(said).success).toBe(true);
    expect(said.isError).toBeUndefined();
    expect(said.content).toEqual([good, ...odd.map((block) => ({ type: "text", text: JSON.stringify(block) }))]);
  });
});

test.each([
  ["a list", ["a", "b"], { type: "array", items: { type: "string" } }],
  ["a list without a schema", ["a", "b"], undefined],
  ["a number", 5, { type: "number" }],
  ["an object whose schema names no type", { a: 1 }, { anyOf: [{ type: "object" }, { type: "null" }] }],
] as const)(
  "[d16.3] a client of an earlier version gets structured content that is %s as an object, as its schema is listed",
  async (_, structured, outputSchema) => {
    const tools = [{ name: "look", ...(outputSchema !== undefined && { outputSchema }) }];
    const list = await asked({ method: "tools/list" }, tools);
    expect(list.tools[0].outputSchema).toEqual(
      outputSchema && { type: "object", properties: { result: outputSchema }, required: ["result"] },
    );
    const call = { method: "tools/call", params: { name: "files__look", arguments: {} } };
    const said = await asked(call, tools, [], structured);
    expect(CallToolResultSchema.safeParse(said).success).toBe(true);
    expect([said.structuredContent, said.isError]).toEqual([{ result: structured }, undefined]);
  },
);

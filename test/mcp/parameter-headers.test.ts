// Which tools a client leaves out because of `x-mcp-header` (promise 10.5).
import { expect, test } from "bun:test";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { hasValidHeaders } from "../../src/mcp/parameter-headers.ts";
import { closeFaultyTools, openFaultyTools } from "../harness/tools/faulty-tools.ts";
import { ASKER } from "../harness/tools/tool-server.ts";

const city = (parts: JsonObject = {}): JsonObject => ({ type: "string", "x-mcp-header": "City", ...parts });

test("[d10.5] a tool is kept whose annotations stand on properties of a permitted type, each with a name of its own", () => {
  for (const schema of [
    {},
    { properties: { city: { type: "string" } } },
    { properties: { city: city(), days: { type: "integer", "x-mcp-header": "Days" } } },
    { properties: { at: { type: "object", properties: { city: city({ type: "boolean" }) } } } },
    // no annotations: a property of this name, and values
    { properties: { "x-mcp-header": { type: "string" } } },
    { properties: { city: { default: { "x-mcp-header": "a b" }, enum: [{ "x-mcp-header": "" }] } } },
  ] as readonly JsonObject[])
    expect([JSON.stringify(schema), hasValidHeaders(schema)]).toEqual([JSON.stringify(schema), true]);
});

test("[d10.5] a tool is left out where one of them breaks a rule", () => {
  for (const schema of [
    { properties: { city: city({ "x-mcp-header": "" }) } },
    { properties: { city: city({ "x-mcp-header": 5 }) } },
    { properties: { city: city({ "x-mcp-header": "City Name" }) } },
    { properties: { city: city({ "x-mcp-header": "City\r\nHost" }) } },
    { properties: { city: city({ type: "number" }) } },
    { properties: { city: { "x-mcp-header": "City" } } },
    { properties: { city: city({ type: ["string"] }) } },
    { properties: { city: city(), town: city({ "x-mcp-header": "cITY" }) } },
    { "x-mcp-header": "Whole", type: "object" },
    { properties: { cities: { type: "array", items: city() } } },
    { additionalProperties: city() },
    { patternProperties: { "^c": city() } },
    { anyOf: [{ properties: { city: city() } }] },
    { $defs: { city: city() }, properties: { city: { $ref: "#/$defs/city" } } },
    { dependentSchemas: { properties: { properties: { city: city() } } } },
  ] as readonly JsonObject[])
    expect([JSON.stringify(schema), hasValidHeaders(schema)]).toEqual([JSON.stringify(schema), false]);
});

test("[d10.2, d10.5] a call repeats its arguments in headers also over a connection that has listed no tools, such as that of a changed configuration", async () => {
  const handler = createMcpHandler(
    () => {
      const made = new McpServer({ name: "regions", version: "1.0.0" });
      made.registerTool(
        "clock",
        { inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }) },
        ({ region }) => ({ content: [{ type: "text", text: `noon in ${region}` }] }),
      );
      return made;
    },
    { legacy: "reject" },
  );
  const regions = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => handler.fetch(request) });
  const { servers, server } = openFaultyTools();
  const url = `http://127.0.0.1:${regions.port}/mcp`;
  try {
    const asked = { ...server, key: "regions", transport: { ...server.transport, url } } as typeof server;
    const { parts } = await servers.call(asked, "clock", { region: "eu" }, new Cancellation(), ASKER);
    expect(parts).toEqual([{ kind: "text", text: "noon in eu" }]);
  } finally {
    await closeFaultyTools();
    await handler.close();
    await regions.stop(true);
  }
});

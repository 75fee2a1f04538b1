// What every transport to a tool server gives: the same list, the same results, concurrent calls that do not mix, an
// end when the caller leaves. Tested with the protocol's own reference server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import { systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { ToolResult, ToolServer, ToolTransport } from "../../src/core/configured/tool.ts";
import { openToolServers, type OpenToolServers } from "../../src/mcp/open-tool-servers.ts";
import { createSocketUpstream } from "../../src/wire/http/upstream-socket.ts";
import { ASKER } from "../harness/tools/tool-server.ts";

export interface ReferenceServer {
  readonly transport: ToolTransport;
  /** By which it is reached in the end. */
  readonly reached: "streamable_http" | "sse" | "stdio";
  /** Another process in its place; absent: the gateway starts it. */
  readonly restart?: () => Promise<void>;
  stop(): Promise<void>;
}

export function serverOf(transport: ToolTransport, more: Partial<ToolServer> = {}): ToolServer {
  return {
    key: "reference",
    tenantId: null,
    label: "everything",
    transport,
    timeoutMs: 20_000,
    maxResultBytes: 1024 * 1024,
    maxConcurrent: 32,
    allowedTools: null,
    role: null,
    approval: "never",
    ...more,
  };
}

export function toolServerSuite(name: string, open: () => Promise<ReferenceServer>): void {
  describe(`a tool server over ${name}`, () => {
    let reference: ReferenceServer;
    let servers: OpenToolServers;
    let server: ToolServer;
    const told: string[] = [];
    const call = (
      tool: string,
      args: JsonObject = {},
      signal = new Cancellation(),
      more: Partial<ToolServer> = {},
    ): Promise<ToolResult> => servers.call({ ...server, ...more }, tool, args, signal, ASKER);

    beforeAll(async () => {
      reference = await open();
      server = serverOf(reference.transport);
      servers = openToolServers({
        clock: systemClock,
        upstream: createSocketUpstream(),
        allowPrivateAddresses: () => false,
        log: (_level, words, fields) => told.push(`${words} ${fields["error_detail"] ?? ""}`),
      });
    });
    afterAll(async () => {
      await servers.close();
      await reference.stop();
    });

    test("reports its transport, and the agreed version", async () => {
      const standing = await servers.test(server, new Cancellation());
      expect(standing).toMatchObject({
        transport: reference.reached,
        protocolVersion: "2025-11-25",
        name: "mcp-servers/everything",
        tools: 13,
      });
    });

    test("lists its tools with their schemas, except those that would ask the gateway for something", async () => {
      const tools = await servers.list(server, new Cancellation());
      expect(tools.find((tool) => tool.name === "get-sum")).toMatchObject({
        name: "get-sum",
        description: "Returns the sum of two numbers",
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
        },
      });
      expect(tools.map((tool) => tool.name).filter((tool) => /elicitation|sampling|roots/.test(tool))).toEqual([]);
    });

    test("[d10.2] gives text, structured content, images, resources and links of a result in a form for the model", async () => {
      expect(await call("get-sum", { a: 2, b: 3 })).toEqual({
        parts: [{ kind: "text", text: "The sum of 2 and 3 is 5." }],
        blocks: [{ type: "text", text: "The sum of 2 and 3 is 5." }],
        structured: undefined,
        isError: false,
        bytes: expect.any(Number),
      });
      expect((await call("get-structured-content", { location: "New York" })).structured).toMatchObject({
        temperature: expect.any(Number),
      });
      const image = (await call("get-tiny-image")).parts.find(({ kind }) => kind === "image");
      expect(image).toMatchObject({ mediaType: "image/png", base64: expect.stringMatching(/^iVBORw0KGgo/) });
      const links = (await call("get-resource-links", { count: 2 })).parts;
      expect(links.map((part) => (part.kind === "text" ? part.text : part.kind)).join(" ")).toMatch(
        /Resource: .*demo:\/\/resource/,
      );
      expect(
        (await call("get-resource-reference", { resourceType: "Text", resourceId: 1 })).parts.length,
      ).toBeGreaterThan(1);
    });

    test("[d10.4] returns a refusal by the server, an unknown tool or wrong arguments as a result that says so", async () => {
      for (const [tool, args] of [
        ["nobody", {}],
        ["get-sum", { a: "two" }],
      ] as const) {
        const { isError, parts } = await call(tool, args);
        expect([tool, isError, parts[0]?.kind]).toEqual([tool, true, "text"]);
      }
    });

    test("gives each of many concurrent calls its own answer", async () => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) => call("echo", { message: `number ${index}` })),
      );
      expect(answers.map(({ parts }) => (parts[0]!.kind === "text" ? parts[0]!.text : ""))).toEqual(
        Array.from({ length: 40 }, (_, index) => `Echo: number ${index}`),
      );
    });

    test("ends a call when its caller leaves, and serves the next", async () => {
      const signal = new Cancellation();
      const gone = new Error("the client left");
      setTimeout(() => signal.abort(gone), 100);
      const beganMs = performance.now();
      expect(
        await call("trigger-long-running-operation", { duration: 10, steps: 10 }, signal).catch(
          (thrown: unknown) => thrown,
        ),
      ).toBe(gone);
      expect(performance.now() - beganMs).toBeLessThan(5000);
      expect((await call("echo", { message: "next" })).isError).toBe(false);
    });

    test("ends a call when its time is over, whatever progress it reports", async () => {
      const error = await call("trigger-long-running-operation", { duration: 10, steps: 100 }, new Cancellation(), {
        timeoutMs: 400,
      }).catch((thrown: unknown) => thrown);
      expect(error instanceof GatewayError ? error.code : error).toBe("tool_timeout");
      expect((await call("echo", { message: "next" })).isError).toBe(false);
    });

    test("has one connection, however many calls there were", () => {
      expect(servers.figures()).toMatchObject({ connections: 1, connected: 1, refused: 0 });
    });

    test("is reached again when another process has replaced it", async () => {
      if (reference.restart === undefined) return;
      await reference.restart();
      // over Server-Sent Events the stream has reported its end; over Streamable HTTP the first message detects it
      await Bun.sleep(100);
      expect((await call("echo", { message: "again" })).parts).toEqual([{ kind: "text", text: "Echo: again" }]);
      expect((await servers.list(server, new Cancellation())).length).toBe(13);
    });
  });
}

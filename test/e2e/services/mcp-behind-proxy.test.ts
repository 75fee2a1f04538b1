// `/mcp` of the real process behind a proxy: policies see the address of the client, not that of the proxy.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { openToolServer, said, type ToolServerEnd } from "../../harness/tools/tool-server.ts";

let files: ToolServerEnd;
let gateway: GatewayProcess;

beforeAll(async () => {
  files = openToolServer({ tools: [{ name: "look", run: () => said("a red dot") }] });
  gateway = await startGateway({
    config: Object.entries({
      server: { trusted_proxies: ["127.0.0.1/32"], proxy_header: "x-forwarded-for" },
      tool_servers: { files: { url: files.url, require_approval: "never" } },
      policies: {
        inside: {
          rule: 'request.operation == "tools.call" && !client.ip.startsWith("127.") && !client.ip.startsWith("10.")',
          message: "Tools are for the office.",
        },
      },
    })
      .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
      .join(""),
  });
});
afterAll(async () => {
  await gateway.stop();
  await files.stop();
});

const called = async (forwardedFor: string): Promise<string> => {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway.firstToken!}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      "x-forwarded-for": forwardedFor,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "files__look", arguments: {} },
    }),
  });
  return await response.text();
};

test("[d16.3 d3.1] a policy on the address sees that of the client behind the proxy", async () => {
  expect(await called("10.1.2.3")).toContain("a red dot");
  const refused = await called("203.0.113.7");
  expect(refused).toContain("Tools are for the office.");
  expect(refused).toContain("policy_violation");
});

// What answers and lists repeat of a request of the Responses API.
import { expect, test } from "bun:test";
import { withoutSecrets } from "../../../src/operations/responses/request/repeated-members.ts";

test("[d2.9] [d12.8] a tool server is repeated without its secrets, also in an item that offers it", () => {
  const server = { type: "mcp", server_label: "s", server_url: "https://mcp.example", require_approval: "never" };
  const secret = { ...server, authorization: "secret", headers: { "x-key": "secret" } };
  expect(withoutSecrets(secret)).toEqual(server);
  const item = { type: "additional_tools", role: "developer", tools: [secret, { type: "function", name: "f" }] };
  expect(withoutSecrets(item)).toEqual({ ...item, tools: [server, { type: "function", name: "f" }] });
  // a member of another thing that has the name
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}", headers: "mine" };
  expect(withoutSecrets(call)).toBe(call);
});

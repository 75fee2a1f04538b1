// The tools of a project's servers under names that two servers could have in common.
import { expect, test } from "bun:test";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import { asGatewayError, GatewayError } from "../../src/core/errors.ts";
import { registeredTools } from "../../src/engine/tools/registered-tools.ts";
import type { ToolServers } from "../../src/mcp/tool-servers.ts";
import { fakeToolServers, says } from "../harness/tools/fake-tools.ts";

const tool = { run: () => says("done") };
const PRINCIPAL = { tenantId: "default", projectId: "default", role: "developer" } as const;

test("[d16.3 d10.2] a name that a server has which is away is not taken for a tool of another server", async () => {
  const { toolServers, set } = fakeToolServers({ a: { b__c: tool, d: tool }, a__b: { c: tool } });
  const away = new Set<string>();
  const list: ToolServers["list"] = async (server, signal) => {
    if (away.has(server.label)) throw new GatewayError("tool_server_failed", "It is away.");
    return await toolServers.list(server, signal);
  };
  const lister = { context: { toolServers: { list } }, signal: new Cancellation(), snapshot: { toolServers: set } };
  const named = async (name: string): Promise<string | null> => {
    const found = (await registeredTools(PRINCIPAL, lister, name)).tools.get(name);
    return found === undefined ? null : `${found.server.label} ${found.tool.name}`;
  };
  const all = [...(await registeredTools(PRINCIPAL, lister)).tools.keys()];
  expect(all).toHaveLength(3);
  const [ofA, ofB] = all.filter((name) => name.startsWith("a__b__c"));
  expect(await Promise.all([ofA!, "a__d", ofB!].map(named))).toEqual(["a b__c", "a d", "a__b c"]);
  expect(await named("a__b__c")).toBeNull();
  away.add("a__b");
  expect(await named("a__d")).toBe("a d");
  const code = await named("a__b__c").catch((thrown: unknown) => asGatewayError(thrown).code);
  expect(code).toBe("tool_server_failed");
});

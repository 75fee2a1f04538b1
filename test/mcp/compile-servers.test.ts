// Tool servers of many projects, put together.
import { expect, test } from "bun:test";
import type { Configured } from "../../src/core/configured/configured.ts";
import { compileToolServers } from "../../src/mcp/compile-servers.ts";
import { type ToolServerDocument, toolServerSchema } from "../../src/mcp/settings.ts";
import { growth, MOST_GROWTH } from "../harness/time/cpu-time.ts";

const server = (name: string, tenantId: string | null, projectId: string | null): Configured<ToolServerDocument> => ({
  id: name,
  name,
  tenantId,
  projectId,
  origin: "store",
  setBy: null,
  version: 1,
  document: toolServerSchema.parse({ url: "https://tools.example/mcp" }),
});

test("[d5.8] thousands of tool servers of a tenant are not put together for each of its projects before the project asks", async () => {
  const made = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      server(`t${index}`, "acme", null),
      server(`p${index}`, "acme", `site${index}`),
    ]).flat();
  expect(await growth(made, (servers) => compileToolServers(servers), 500)).toBeLessThan(MOST_GROWTH);
  const servers = compileToolServers([server("all", null, null), ...made(2)]);
  const namesIn = (tenant: string, project: string | null) => [...servers.of(tenant, project).keys()];
  expect(namesIn("acme", "site1")).toEqual(["all", "t0", "t1", "p1"]);
  expect(namesIn("acme", "other")).toEqual(["all", "t0", "t1"]);
  expect(namesIn("acme", null)).toEqual(["all", "t0", "t1"]);
});

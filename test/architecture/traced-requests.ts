// Sends requests of each kind to a gateway in this process; request-files.ts runs it under coverage.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { resolveServerOptions } from "../../src/snapshot/server-options.ts";
import { openGateway } from "../../src/process/gateway.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";
import { runCli } from "../harness/processes/gateway-process.ts";
import { openToolServer, said } from "../harness/tools/tool-server.ts";
import { KINDS, type RequestKind } from "./request-files.ts";

/** How many of each kind are sent. */
const REQUESTS = JSON.parse(process.env["TRACED_REQUESTS"] ?? "{}") as Readonly<Record<RequestKind, number>>;

const MESSAGES = [{ role: "user", content: "Hello." }];
const CHATS: Readonly<Record<Exclude<RequestKind, "admin">, object>> = {
  plain: { model: "sandbox:echo", messages: MESSAGES },
  stream: { model: "sandbox:echo", messages: MESSAGES, stream: true },
  tools: { model: "sandbox:tools", messages: MESSAGES, tools: [{ type: "mcp", server_label: "sky" }] },
};

test("sends each request", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-traced-"));
  const tools = openToolServer({
    tools: [{ name: "weather", inputSchema: { type: "object" }, run: () => said("It is warm.") }],
  });
  const config = join(folder, "dragoman.yaml");
  await Bun.write(config, `tool_servers:\n  sky: { url: ${JSON.stringify(tools.url)}, require_approval: never }\n`);
  const environment = readEnvironment({});
  const loaded = loadConfiguration({ file: config, families: PROVIDER_FAMILIES, environment });
  const gateway = await openGateway(
    {
      ...resolveServerOptions({ flags: { data: join(folder, "data") }, environment, file: loaded.configuration }),
      host: "127.0.0.1",
      port: 0,
      logLevel: "silent",
    },
    loaded,
    environment,
  );
  try {
    const maintainer = ["--project", "default", "--role", "maintainer", "--json"];
    const { stdout } = await runCli(["token", "create", "--data", join(folder, "data"), ...maintainer]);
    const { token } = JSON.parse(stdout) as { readonly token: string };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const kinds = KINDS.flatMap((kind) => Array.from<RequestKind>({ length: REQUESTS[kind] }).fill(kind));
    for (const [index, kind] of kinds.entries()) {
      const [method, path, body] =
        kind === "admin"
          ? [
              "POST",
              "/api/v1/admin/projects/default/routes",
              { name: `route-${index}`, targets: [{ model: "sandbox:echo" }] },
            ]
          : ["POST", "/api/v1/chat/completions", CHATS[kind]];
      const response = await fetch(`${gateway.url}${path}`, { method, headers, body: JSON.stringify(body) });
      expect([response.ok, await response.text()]).toEqual([true, expect.anything()]);
    }
  } finally {
    await gateway.close();
    await tools.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

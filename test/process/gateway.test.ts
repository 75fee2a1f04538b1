// The composition root: what a start that fails leaves behind.
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import { resolveServerOptions } from "../../src/snapshot/server-options.ts";
import { openGateway } from "../../src/process/gateway.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";

test("a start that fails closes what was opened by then: the next one finds its folders free", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-start-"));
  const environment = readEnvironment({});
  const loaded = loadConfiguration({ file: null, families: PROVIDER_FAMILIES, environment });
  const optionsAt = (port: number) => ({
    ...resolveServerOptions({ flags: { data: join(folder, "data") }, environment, file: loaded.configuration }),
    host: "127.0.0.1",
    port,
    logLevel: "silent" as const,
  });
  const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  try {
    expect(
      await openGateway(optionsAt(taken.port!), loaded, environment).catch((error: unknown) => error),
    ).toMatchObject({ code: "EADDRINUSE" });
    const gateway = await openGateway(optionsAt(0), loaded, environment);
    // a folder of the ledger that is held makes the next process take another
    expect(readdirSync(join(folder, "data", "ledger"))).toEqual(["0"]);
    expect(gateway.firstToken).toStartWith("dgm_pt_");
    expect(await gateway.close()).toBe(0);
  } finally {
    await taken.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
});

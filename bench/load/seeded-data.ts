// Data folders for measurements: a token to call with, and configuration that the measured calls have to find their way
// past.
import { bootstrap } from "../../src/auth/first-identities.ts";
import { openDatabase } from "../../src/store/open-database.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import type { Writer } from "../../src/store/writer.ts";

/** How much the folder has beside the project `default` whose token calls. What is left out is none. */
export interface SeededData {
  readonly tokens?: number;
  /** Tenants with one project each, among which the tokens, policies and limits are divided. At least one if needed. */
  readonly tenants?: number;
  readonly policies?: number;
  readonly limits?: number;
  /** Routes of the project that calls, each with two targets of the sandbox. */
  readonly ownRoutes?: number;
}

const FAR_MS = 86_400_000;

/** Creates the data folder and returns its first token. */
export async function seeded(dataFolder: string, data: SeededData): Promise<string> {
  const { store } = await openDatabase({ dataFolder, databaseUrl: null, environment: new Map() });
  try {
    const { token } = (await bootstrap(store, Date.now()))!;
    await store.change(LOCAL_ACTOR, (writer) => write(writer, data));
    return token;
  } finally {
    await store.close();
  }
}

async function write(writer: Writer, data: SeededData): Promise<void> {
  const { tokens = 0, policies = 0, limits = 0, ownRoutes = 0 } = data;
  const tenants = Math.max(data.tenants ?? 0, tokens + policies + limits > 0 ? 1 : 0);
  for (let index = 0; index < tenants; index++) {
    await writer.createTenant({ id: `t${index}`, name: `Tenant ${index}` });
    await writer.createProject({ id: `p${index}`, tenantId: `t${index}`, name: `Project ${index}` });
  }
  const placeOf = (index: number) => ({ tenantId: `t${index % tenants}`, projectId: `p${index % tenants}` });
  for (let index = 0; index < policies; index++)
    await writer.createResource({
      kind: "policy",
      ...placeOf(index),
      name: `policy${index}`,
      document: { rule: `request.model.startsWith("m${index}") && token.role != "owner"` },
    });
  for (let index = 0; index < limits; index++)
    await writer.createResource({
      kind: "limit",
      ...placeOf(index),
      name: `limit${index}`,
      document: { metric: "requests", window: "minute", limit: 10 },
    });
  for (let index = 0; index < ownRoutes; index++)
    await writer.createResource({
      kind: "route",
      tenantId: "default",
      projectId: "default",
      name: `route${index}`,
      document: { targets: ["sandbox:echo", "sandbox:words"] },
    });
  const farMs = Date.now() + FAR_MS;
  for (let index = 0; index < tokens; index++)
    await writer.createToken({
      kind: "project",
      ...placeOf(index),
      userId: null,
      role: "developer",
      permissions: [],
      models: ["openai:*"],
      routes: [],
      tools: [],
      ipRanges: [],
      createdAtMs: 1,
      lifetimeMs: farMs,
      expiresAtMs: farMs,
      revokedAtMs: null,
      id: `T${String(index).padStart(11, "0")}`,
      name: `t${index}`,
      secrets: [{ sha256: new Bun.CryptoHasher("sha256").update(String(index)).digest(), retiresAtMs: null }],
    });
}

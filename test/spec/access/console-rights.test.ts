// The rights of a session of the console at every endpoint: those of the person who is logged in, nothing more and nothing less, and `me`
// tells the page exactly these. Which rights people have is tested with access tokens (admin-roles.test.ts).
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROLES } from "../../../src/core/identity.ts";
import type { ConfigurationScope } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type Described, describedOperations } from "../../harness/admin-document.ts";
import { exampleRequest, furnish, type PathValues } from "../../harness/admin-examples.ts";
import { type ConsoleBrowser, consoleBrowser } from "../../harness/console/browser.ts";

const TENANTS: readonly ConfigurationScope[] = [
  { tenantId: "acme", projectId: null },
  { tenantId: "beta", projectId: null },
];
const PROJECTS: readonly ConfigurationScope[] = [
  { tenantId: "acme", projectId: "site" },
  { tenantId: "acme", projectId: "app" },
  { tenantId: "beta", projectId: "lab" },
];

const folder = mkdtempSync(join(tmpdir(), "dragoman-console-rights-"));
let world: AdminWorld;
let values: PathValues;
let operations: readonly Described[];
beforeAll(async () => {
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, "console: { project_tokens: true }\n");
  world = await openAdminWorld({ file });
  values = await furnish(world, [...TENANTS, ...PROJECTS]);
  operations = describedOperations((await world.send(null, "GET", "/api/v1/openapi.json")).body);
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const signedIn = async (name: string): Promise<{ readonly browser: ConsoleBrowser; readonly me: any }> => {
  const browser = consoleBrowser({
    origin: "http://localhost:4100",
    send: (request) => world.fetch(request, "127.0.0.1"),
  });
  const { status, body, text } = await browser.login(world.tokens.get(name)!);
  if (status !== 200) throw new Error(`${name}: ${text}`);
  return { browser, me: body };
};

/** Whether the page is told that the operation is allowed there. */
function told(me: any, { operationId, reach }: Described, place: ConfigurationScope): boolean {
  if (reach === "own" || reach === "operator") return me.can[reach].includes(operationId);
  const here = me.places.find(
    (one: any) => one.tenant_id === place.tenantId && one.project_id === (reach === "tenant" ? null : place.projectId),
  );
  return here !== undefined && (me.can[reach][here.role]?.includes(operationId) ?? false);
}

const PEOPLE = [
  ...ROLES.map((role) => `acme.${role}`),
  "acme.reader",
  "acme.site.reader",
  "acme.site.maintainer",
  "site-only.maintainer",
  "default.owner",
  "default.boss",
];

/** What the caller sees without a role, wherever it is asked; of views and of places to follow, those that are the caller's. */
const OWN = new Set(["endSession", "listProjects", "updateView", "deleteView", "followCalls"]);

test("[d14.1] [d2.3] at every endpoint a session has the rights of its person, and `me` names exactly what it may do", async () => {
  const wrong: string[] = [];
  let cells = 0;
  for (const name of PEOPLE) {
    const { browser, me } = await signedIn(name);
    const tenantId = name.startsWith("beta") ? "beta" : name.startsWith("default") ? "default" : "acme";
    for (const operation of operations)
      for (const place of operation.path.includes("{project}") ? PROJECTS : TENANTS) {
        cells++;
        const { method, path, body } = exampleRequest(operation, place, values, tenantId);
        const bySession = await browser.ask(method, `/console${path}`, body);
        const cell = `${operation.operationId} as ${name} in ${place.tenantId}/${place.projectId ?? "-"}`;
        const outcome = (one: { readonly status: number; readonly body: any }): string =>
          `${one.status} ${one.body?.error?.code ?? ""}`;
        const isAllowed = bySession.status < 300;
        const isTold = told(me, operation, place);
        if (!OWN.has(operation.operationId) && isTold !== isAllowed)
          wrong.push(`${cell}: ${outcome(bySession)}, but me says ${isAllowed ? "no" : "yes"}`);
        if (isAllowed && isTold) continue;
        // a refusal tells no more than with a token
        const byToken = await world.send(name, method, path, body);
        if (outcome(bySession) !== outcome(byToken))
          wrong.push(`${cell}: ${outcome(bySession)}, with the token ${outcome(byToken)}`);
      }
  }
  console.log(`${operations.length} operations, ${PEOPLE.length} people, ${cells} cells`);
  expect(wrong.slice(0, 30)).toEqual([]);
});

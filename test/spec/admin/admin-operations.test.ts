// Properties of every writing operation of the OpenAPI document: a dry run changes no row, a change leaves a row of the
// audit log with actor, change, before and after, an idempotency key makes it happen once, and wrong headers and
// parameters are refused.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ConfigurationScope } from "../../../src/store/records.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { type Described, describedOperations } from "../../harness/admin-document.ts";
import { furnish, furnishedBody, ownSession, type PathValues } from "../../harness/admin-examples.ts";

const ACME: ConfigurationScope = { tenantId: "acme", projectId: null };
const SITE: ConfigurationScope = { tenantId: "acme", projectId: "site" };
/** What they remove is needed by those before them. */
const LAST = [
  /^delete(?!Tenant$|Project$|User$|View$)/,
  /^deleteUser$/,
  /^rollBackProject$/,
  /^rollBackTenant$/,
  /^deleteProject$/,
  /^deleteTenant$/,
];

/** For each filter there is one among them that it takes, and that fits only some rows. */
const FILTER_VALUES = [
  "2020-01-01",
  "live",
  "console",
  "store",
  "done",
  "viewer",
  "ok",
  "200",
  "404",
  "true",
  "rate_limit_exceeded",
  "dead",
  "webhook.test",
  "kept",
  "acme",
  "nobody@example.com",
  "1",
  "0".repeat(32),
  "5xx",
  "0",
  "embeddings",
  "hit",
  "Europe/Berlin",
];

let world: AdminWorld;
let values: PathValues;
/** The document is the same in each test, and slow to write. */
let operations: readonly Described[] | null = null;

async function opened(kind: Parameters<typeof openAdminWorld>[0] & object): Promise<void> {
  world = await openAdminWorld(kind);
  values = await furnish(world, [ACME, SITE]);
  operations ??= await readOperations();
}

async function readOperations(): Promise<readonly Described[]> {
  const { body: document } = await world.send(null, "GET", "/api/v1/openapi.json");
  const rank = ({ operationId }: Described): number => LAST.findIndex((one) => one.test(operationId));
  return describedOperations(document).toSorted((a, b) => rank(a) - rank(b));
}

/** Operations that change nothing of the configuration, although their method is not GET. */
const APART = /^(simulate\w+|(put|delete)\w+Draft)$/;
const writing = (): readonly Described[] =>
  operations!.filter(({ method, operationId }) => method !== "GET" && !APART.test(operationId));

/** Everybody ends sessions, and changes and deletes views, of their own; the owner may do everything else. */
const actorOf = (operationId: string): string =>
  ["endSession", "updateView", "deleteView"].includes(operationId) ? "acme.viewer" : "default.owner";

async function sent(
  { operationId, method, path, tag, bodySchema }: Described,
  query = "",
  headers: Readonly<Record<string, string>> = {},
  as = actorOf(operationId),
): Promise<Told> {
  const place = path.includes("{project}") ? SITE : ACME;
  const address = path.replaceAll(/\{(\w+)\}/g, (_, variable: string) =>
    operationId === "endSession" ? ownSession(place) : values(variable, tag, place),
  );
  return await world.send(
    as,
    method,
    address + query,
    bodySchema === null ? undefined : furnishedBody(bodySchema, place, values),
    headers,
  );
}

/** Every row of every table. */
async function everything(name: string): Promise<string> {
  const tables = await world.read(
    name === "SQLite"
      ? "select name from sqlite_master where type = 'table' order by name"
      : "select table_name as name from information_schema.tables where table_schema = 'public' order by table_name",
  );
  const rows: string[] = [];
  for (const { name: table } of tables) {
    const all = await world.read(`select * from "${String(table)}"`);
    rows.push(
      `${String(table)}\n${all
        .map((row) =>
          JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value)),
        )
        .toSorted()
        .join("\n")}`,
    );
  }
  return rows.join("\n\n");
}

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    describe("requests that change nothing", () => {
      beforeAll(() => opened({ kind }));
      afterAll(() => world.close());

      test("[d9.3] a dry run of any operation returns what would result, with its header, and changes no row", async () => {
        const before = await everything(kind.name);
        expect(before.length).toBeGreaterThan(5000);
        for (const operation of writing()) {
          const { status, headers, body } = await sent(operation, "?dry_run=true", { "idempotency-key": "dry" });
          expect([operation.operationId, status, headers.get("x-gateway-dry-run")]).toEqual([
            operation.operationId,
            operation.statuses.includes("204") ? 204 : 200,
            "true",
          ]);
          if (body?.token !== undefined) expect(body.token).toBeNull();
        }
        expect(await everything(kind.name)).toBe(before);
      });

      test("[d9.3] [d5.2] every change of an object with another ETag, a weak one included, is answered with 412, and no operation accepts a header or parameter that it does not define", async () => {
        for (const operation of writing()) {
          // a link that gives a token and a saved view have no ETag, because nobody changes one
          const isOfThing =
            /^(update|replace|delete|rotate|revoke|put)/.test(operation.operationId) &&
            !["claims", "views"].includes(operation.tag);
          for (const tag of ['"9999.zz"', 'W/"1.0"', '"', "nonsense"])
            if (isOfThing)
              expect([
                operation.operationId,
                tag,
                (await sent(operation, "?dry_run=true", { "if-match": tag })).status,
              ]).toEqual([operation.operationId, tag, 412]);
          if (isOfThing)
            expect([
              operation.operationId,
              (await sent(operation, "?dry_run=true", { "if-match": "*" })).status < 300,
            ]).toEqual([operation.operationId, true]);
          for (const query of ["?dry_run=yes", "?dry_run=true&dry_run=true", "?surplus=1"])
            expect([operation.operationId, query, (await sent(operation, query)).status]).toEqual([
              operation.operationId,
              query,
              400,
            ]);
          for (const key of ["", "a b", "k".repeat(256)])
            expect([
              operation.operationId,
              key.length,
              (await sent(operation, "", { "idempotency-key": key })).status,
            ]).toEqual([operation.operationId, key.length, 400]);
        }
      });

      test("[d9.3] every list has bounded pages, and every filter that it describes works; another method of any path is answered with 405 and the allowed methods", async () => {
        for (const operation of operations!.filter(({ query }) => query.includes("cursor"))) {
          const { error } = (await sent(operation, "?surplus=1")).body;
          expect(error?.param).toBe("surplus");
          expect(operation.query.filter((name) => !error.message.includes(name))).toEqual([]);
          for (const query of [
            "limit=0",
            "limit=1001",
            "limit=1.5",
            "limit=",
            "limit=-1",
            "cursor=",
            "cursor=nonsense",
            `cursor=${"a".repeat(2001)}`,
          ]) {
            const { status, body } = await sent(operation, `?${query}`);
            expect([operation.operationId, query, status, body.error?.param]).toEqual([
              operation.operationId,
              query,
              400,
              query.split("=")[0],
            ]);
          }
          expect([operation.operationId, (await sent(operation, "?limit=1000")).status]).toEqual([
            operation.operationId,
            200,
          ]);
          const all = await sent(operation);
          for (const name of operation.query.filter(
            (one) => !["limit", "cursor", "group_by", "order", "earlier_s", "format"].includes(one),
          )) {
            let isTaken = false;
            let narrows = false;
            for (const value of FILTER_VALUES) {
              const { status, body } = await sent(operation, `?${name}=${encodeURIComponent(value)}`);
              if (status !== 200 && status !== 404) continue;
              isTaken = true;
              narrows = (body.data?.length ?? 0) < all.body.data.length;
              if (narrows) break;
            }
            expect([operation.operationId, name, isTaken]).toEqual([operation.operationId, name, true]);
            // nothing narrows a list without rows
            if (
              !["from", "to", "timezone", "ended_from", "origin", "state", "outcome", "settled"].includes(name) &&
              all.body.data.length > 0
            )
              expect([operation.operationId, name, narrows || name === "tenant_id"]).toEqual([
                operation.operationId,
                name,
                true,
              ]);
          }
        }
        for (const [path, served] of Map.groupBy(
          operations!.filter(({ path: of }) => of.startsWith("/api/v1/admin")),
          (one) => one.path,
        )) {
          const address = path.replaceAll(/\{(\w+)\}/g, (_, variable: string) =>
            values(variable, served[0]!.tag, path.includes("{project}") ? SITE : ACME),
          );
          for (const method of ["POST", "PUT", "PATCH", "DELETE"].filter(
            (one) => !served.some((of) => of.method === one),
          )) {
            const { status, headers, body } = await world.send("default.owner", method, address);
            expect([path, method, status, body.error?.code, headers.get("allow")?.split(", ").toSorted()]).toEqual([
              path,
              method,
              405,
              "method_not_allowed",
              [...new Set(served.map((of) => of.method))].toSorted(),
            ]);
          }
        }
      });
    });

    describe("changes", () => {
      beforeEach(() => opened({ kind }));
      afterEach(() => world.close());

      test("[d9.3] any change leaves audit log rows with actor, origin, before and after, and no secret", async () => {
        const tokenOf = (name: string): string => /^dgm_ut_([^_]+)_/.exec(world.tokens.get(name)!)![1]!;
        let known = new Set((await world.read("select id from audit_log")).map(({ id }) => id));
        for (const operation of writing()) {
          const { status, text } = await sent(operation);
          expect([operation.operationId, status < 300 ? "done" : text]).toEqual([operation.operationId, "done"]);
          const rows = (await world.read("select * from audit_log")).filter(({ id }) => !known.has(id));
          known = new Set([...known, ...rows.map(({ id }) => id)]);
          expect([operation.operationId, rows.length > 0]).toEqual([operation.operationId, true]);
          for (const {
            actor_token_id: token,
            actor_address: address,
            action,
            outcome,
            value_before: was,
            value_after: is,
          } of rows) {
            expect([operation.operationId, token, address, outcome]).toEqual([
              operation.operationId,
              tokenOf(actorOf(operation.operationId)),
              "192.0.2.1",
              "done",
            ]);
            expect([operation.operationId, action, was !== null, is !== null]).toEqual([
              operation.operationId,
              action,
              !["create", "test", "call", "purge", "end"].includes(String(action)),
              !["remove", "end"].includes(String(action)),
            ]);
            expect(/dgm_[pu]t_|sealed:|sha256/.test(`${String(was)}${String(is)}`)).toBe(false);
          }
        }
      });

      test("[d9.3] an operation with an idempotency key happens once however often it is repeated", async () => {
        // nothing happens that leaves no row of one of these
        const changes = async (): Promise<string> =>
          String(
            (
              await world.read(
                "select (select count(*) from audit_log) as a, (select count(*) from versions) as b, (select count(*) from kept_answers) as c",
              )
            ).map(({ a, b, c }) => [a, b, c].join(" ")),
          );
        for (const operation of writing().filter(
          ({ operationId }) => !/^delete(Tenant|Project)$|^rollBack/.test(operationId),
        )) {
          const key = { "idempotency-key": `once-${operation.operationId}` };
          const first = await sent(operation, "", key);
          const between = await changes();
          const [second, third] = await Promise.all([sent(operation, "", key), sent(operation, "", key)]);
          expect([
            operation.operationId,
            first.status,
            second.status,
            second.headers.get("idempotent-replayed"),
            third.text,
          ]).toEqual([operation.operationId, first.status, first.status, "true", second.text]);
          expect(await changes()).toBe(between);
          expect(first.status).toBeLessThan(300);
        }
      });
    });
  });

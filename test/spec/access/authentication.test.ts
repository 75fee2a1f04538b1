// The specification's Authentication over the real process: tokens as the command line creates them, sent in the
// header, scoped by body and headers, and the answers to callers without one. The rules themselves are tested in
// tenants-and-tokens.test.ts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, runCli, startGateway } from "../../harness/processes/gateway-process.ts";
import { answeringGateway, ask, HELLO, readError } from "../chat-calls.ts";
import { until } from "../../harness/time/until.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
});

const CALL = { model: "sandbox:echo", messages: HELLO };

interface Answered {
  readonly outcome: string;
  readonly response: Response;
  readonly text: string;
}

/** A call with this Authorization header, or none. */
async function call(
  authorization: string | null,
  fields: Readonly<Record<string, unknown>> = {},
  headers: Record<string, string> = {},
): Promise<Answered> {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(authorization !== null && { authorization }), ...headers },
    body: JSON.stringify({ ...CALL, ...fields }),
  });
  const text = await response.text();
  if (response.status === 200) return { outcome: "200", response, text };
  const { code } = readError(response.status, response.headers, text);
  return { outcome: `${response.status} ${code}`, response, text };
}

describe("the header", () => {
  test("[s:authentication.1] a request carries the header `Authorization: Bearer <token>`, with the word Bearer in any case", async () => {
    const token = gateway.firstToken!;
    for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`])
      expect((await call(header)).outcome).toBe("200");
    for (const header of [token, `Basic ${btoa(`x:${token}`)}`, `Token ${token}`, `Bearer ${token}, Bearer ${token}`])
      expect((await call(header)).outcome).toBe("401 invalid_token");
    // but for x-api-key, which programs of the Messages API send, no other header stands in for it
    expect((await call(null, {}, { "api-key": token, cookie: `token=${token}` })).outcome).toBe("401 missing_token");
  });

  test("[s:authentication.2] the token is a Project token or a Personal token, as the command line creates them", async () => {
    const project = await gateway.createToken();
    const personal = await gateway.createToken("--personal");
    expect([project.slice(0, 7), personal.slice(0, 7)]).toEqual(["dgm_pt_", "dgm_ut_"]);
    for (const token of [project, personal]) expect((await call(`Bearer ${token}`)).outcome).toBe("200");
  });
});

describe("401", () => {
  test("[s:authentication.4] [s:errors.401-unauthorized] [d2.7] a missing, wrong, forged, expired or revoked token is answered with 401, WWW-Authenticate and its code", async () => {
    const revoked = await gateway.createToken();
    const short = await gateway.createToken("--expires-in-days", String(2 / 86_400));
    expect((await runCli(["token", "revoke", revoked.split("_")[2]!, "--data", gateway.dataFolder])).code).toBe(0);
    await until(
      async () =>
        (await call(`Bearer ${short}`)).outcome !== "200" && (await call(`Bearer ${revoked}`)).outcome !== "200",
    );
    const forged = `${gateway.firstToken!.slice(0, 20)}${"A".repeat(gateway.firstToken!.length - 20)}`;
    const cases: readonly (readonly [header: string | null, code: string])[] = [
      [null, "missing_token"],
      ["", "missing_token"],
      ["Bearer ", "missing_token"],
      ["Bearer sk-0123456789", "invalid_token"],
      [`Bearer ${forged}`, "invalid_token"],
      [`Bearer ${gateway.firstToken!.slice(0, -1)}`, "invalid_token"],
      [`Bearer ${short}`, "expired_token"],
      [`Bearer ${revoked}`, "revoked_token"],
    ];
    for (const [header, code] of cases) {
      const { outcome, response, text } = await call(header);
      expect([header, outcome]).toEqual([header, `401 ${code}`]);
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
      expect(response.headers.get("x-should-retry")).toBe("false");
      const sent = header?.replace("Bearer ", "") ?? "";
      if (sent.length > 20) expect(text).not.toContain(sent.slice(20));
    }
  });

  test("[s:errors.401-unauthorized] a caller without a token learns nothing else: the body is not examined", async () => {
    const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: "no JSON",
    });
    expect(readError(response.status, response.headers, await response.text()).code).toBe("missing_token");
  });
});

describe("the snapshot of tokens", () => {
  test("[d2.6] is not used beyond the configured age: a call is answered with 503 and reaches no provider until the store is back", async () => {
    let tooOld: string | null = "The database has not been reached.";
    const stub = answeringGateway({ refusal: () => tooOld });
    const { outcome, wire, headers } = await ask(stub, {});
    expect([outcome, wire, headers.get("retry-after")]).toEqual(["503 stale_snapshot null", null, "1"]);
    tooOld = null;
    expect((await ask(stub, {})).outcome).toBe("200");
  });
});

describe("scope and role", () => {
  test("[s:authentication.3] [d2.1] tenant_id and project_id may repeat the token's own scope; another scope is answered with 403, and neither is sent to a provider", async () => {
    const own = { tenant_id: "default", project_id: "default" };
    const header = `Bearer ${gateway.firstToken!}`;
    expect((await call(header, own)).outcome).toBe("200");
    for (const other of [{ tenant_id: "other" }, { project_id: "other" }]) {
      expect((await call(header, { ...own, ...other })).outcome).toBe("403 scope_mismatch");
      const asHeaders = Object.fromEntries(
        Object.entries(other).map(([name, value]) => [`x-gateway-${name.replace("_", "-")}`, value]),
      );
      expect((await call(header, {}, asHeaders)).outcome).toBe("403 scope_mismatch");
      // the body wins over the header
      expect((await call(header, own, asHeaders)).outcome).toBe("200");
    }
    const stub = answeringGateway();
    const { request } = await ask(stub, own, { "x-gateway-tenant-id": "default", "x-gateway-project-id": "default" });
    expect(JSON.stringify(request)).not.toContain("default");
  });

  test("[d2.3] a role below developer is answered with 403", async () => {
    const viewer = await gateway.createToken("--role", "viewer");
    const { outcome, response } = await call(`Bearer ${viewer}`);
    expect([outcome, response.headers.get("www-authenticate")]).toEqual(["403 insufficient_role", null]);
    for (const role of ["developer", "maintainer"])
      expect((await call(`Bearer ${await gateway.createToken("--role", role)}`)).outcome).toBe("200");
  });

  test("[d2.4] each field that brings the caller's own endpoint, credential or header is answered with 403 without the permission byo_endpoint, and is named", async () => {
    const plain = answeringGateway({ permissions: [] });
    const fields: Readonly<Record<string, unknown>> = {
      base_url: "https://models.example/v1",
      api_base: "https://models.example/v1",
      api_key: "sk-own",
      api_version: "v1",
      deployment_id: "d",
      headers: { "x-a": "1" },
      extra_headers: { "x-a": "1" },
      aws_region_name: "x",
      vertex_project: "x",
    };
    for (const [name, value] of Object.entries(fields)) {
      const { outcome, wire } = await ask(plain, { [name]: value });
      expect([outcome, wire]).toEqual([`403 permission_required ${name}`, null]);
    }
  });
});

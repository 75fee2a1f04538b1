// Virtual keys of LiteLLM at a gateway that runs: accepted by their hash until a day, or given by links.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, runCli, startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";
import { dumpOf, hashOf } from "../../import/litellm-dump.ts";

const TEAM_KEY = "sk-team-1234567890";
const OTHER_KEY = "sk-other-1234567890";
const LATER_KEY = "sk-later-1234567890";
const row = (key: string, alias: string, rest: object = {}) => ({ token: hashOf(key), key_alias: alias, ...rest });
const inOneDay = new Date(Date.now() + 86_400_000).toISOString();
const UNTIL = inOneDay.slice(0, 10);

const folder = mkdtempSync(join(tmpdir(), "dragoman-import-keys-"));
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    config: 'console: {enabled: true}\nproviders: {sandbox: {}}\nroutes: {chat: {targets: ["sandbox:echo"]}}\n',
  });
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

let dumps = 0;
async function imported(rows: readonly Readonly<Record<string, string>>[], ...flags: readonly string[]) {
  const file = join(folder, `${(dumps += 1)}.sql`);
  writeFileSync(
    file,
    dumpOf({
      LiteLLM_TeamTable: [{ team_id: "t", team_alias: "Search", rpm_limit: "100" }],
      LiteLLM_VerificationToken: rows,
    }),
  );
  return runCli(["import", "litellm-keys", file, "--data", gateway.dataFolder, ...flags]);
}
const ask = (token: string, model = "chat"): Promise<Response> =>
  gateway.chat({ model, messages: [{ role: "user", content: "x" }] }, { token });
async function codeOf(token: string, model?: string): Promise<string> {
  const response = await ask(token, model);
  const { error } = (await response.json()) as { readonly error?: { readonly code: string } };
  return error?.code ?? "answered";
}

test("[d15.2] a key stays valid by its hash, with the restrictions that it had, and ends by revocation", async () => {
  const rows = [
    row(TEAM_KEY, "build", { team_id: "t", models: "{chat}" }),
    row(OTHER_KEY, "other", { rpm_limit: "1" }),
  ];
  expect(await codeOf(TEAM_KEY)).toBe("invalid_token");
  const { code, stdout, stderr } = await imported(rows, "--accept-foreign-keys", "--until", UNTIL);
  expect([code, stderr]).toEqual([0, ""]);
  for (const key of [TEAM_KEY, OTHER_KEY]) for (const text of [key, hashOf(key)]) expect(stdout).not.toContain(text);
  await until(async () => (await codeOf(TEAM_KEY)) === "answered");
  expect(await codeOf(TEAM_KEY, "sandbox:echo")).toBe("model_not_found");
  expect(await codeOf(OTHER_KEY, "sandbox:echo")).toBe("answered");
  expect(await codeOf(OTHER_KEY)).toBe("rate_limit_exceeded");
  for (const unknown of [`${TEAM_KEY}x`, hashOf(TEAM_KEY), "sk-", "s".repeat(7000)])
    expect(await codeOf(unknown)).toBe("invalid_token");

  const again = await imported(rows, "--accept-foreign-keys", "--until", UNTIL);
  expect(again.stdout).toContain("accepted by an earlier import");
  const [, id] = /^build +Search +(\w{12}) *$/m.exec(stdout)!;
  const revoked = await runCli(["token", "revoke", id!, "--data", gateway.dataFolder]);
  expect(revoked.code).toBe(0);
  await until(async () => (await codeOf(TEAM_KEY)) === "revoked_token");
});

test("[d15.2] a key becomes a project token, which a link gives once", async () => {
  const { code, stdout } = await imported(
    [row(LATER_KEY, "later", { models: "{chat}" })],
    "--claim-links",
    gateway.url,
  );
  expect(code).toBe(0);
  const [, link] = /^later +default +(\S+) *$/m.exec(stdout)!;
  const redeem = () =>
    fetch(`${gateway.url}/console/api/claims`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-gateway-console": "1", origin: gateway.url },
      body: JSON.stringify({ code: link!.split("#code=")[1] }),
    });
  const response = await redeem();
  expect(response.status).toBe(200);
  const { token } = (await response.json()) as { readonly token: string };
  await until(async () => (await codeOf(token)) === "answered");
  expect(await codeOf(token, "sandbox:echo")).toBe("model_not_found");
  expect(await codeOf(LATER_KEY)).toBe("invalid_token");
  expect((await redeem()).status).toBe(401);
});

test("[d15.2] keys named like their team or like a key that was made anew there, and those with long names, have limits of their own", async () => {
  const long = "nightly-evaluation-of-all-models-".repeat(3);
  const limits = { rpm_limit: "1", tpm_limit: "100000" };
  const keys = ["sk-like-team-12345678", "sk-long-12345678901", "sk-anew-12345678901"] as const;
  const rows = [row(keys[0], "Search", { team_id: "t", ...limits }), row(keys[1], long, limits)];
  const { code, stderr } = await imported(rows, "--accept-foreign-keys", "--until", UNTIL);
  expect([code, stderr]).toEqual([0, ""]);
  const anew = [row(keys[2], "Search", { team_id: "t", ...limits })];
  const later = await imported(anew, "--accept-foreign-keys", "--until", UNTIL);
  expect([later.code, later.stderr]).toEqual([0, ""]);
  for (const key of keys) {
    await until(async () => (await codeOf(key)) !== "invalid_token");
    await until(async () => (await codeOf(key)) === "rate_limit_exceeded");
  }
});

test("[d15.2] a link gives a token that ends when its key expires there, whenever it is opened, also after many years", async () => {
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const rows = [
    row("sk-soon-12345678901", "soon", { expires: soon }),
    row("sk-never-ending-12345", "never-ending", { expires: "2199-12-31 00:00:00" }),
  ];
  const { stdout } = await imported(rows, "--claim-links", gateway.url);
  const ends = [];
  for (const { key_alias: alias } of rows) {
    const [, link] = new RegExp(`^${alias} +default +(\\S+) *$`, "m").exec(stdout)!;
    const response = await fetch(`${gateway.url}/console/api/claims`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-gateway-console": "1", origin: gateway.url },
      body: JSON.stringify({ code: link!.split("#code=")[1] }),
    });
    expect([alias, response.status]).toEqual([alias, 200]);
    const { token } = (await response.json()) as { readonly token: string };
    await until(async () => (await codeOf(token)) === "answered");
    const key = await fetch(`${gateway.url}/api/v1/key`, { headers: { authorization: `Bearer ${token}` } });
    ends.push(((await key.json()) as { readonly expires_at: string }).expires_at);
  }
  expect(Math.abs(Date.parse(ends[0]!) - Date.parse(soon))).toBeLessThanOrEqual(1);
});

test("[d15.2] a link leads to the path below which browsers reach the gateway", async () => {
  const rows = [row("sk-below-1234567890", "below")];
  const { stdout } = await imported(rows, "--claim-links", "https://example.com/llm/");
  expect(stdout).toContain("https://example.com/llm/console/claim#code=");
});

test("[d15.2] limits of a team whose project is there already are not reported as taken", async () => {
  const file = join(folder, "there.sql");
  writeFileSync(
    file,
    dumpOf({
      LiteLLM_TeamTable: [{ team_id: "d", team_alias: "default", rpm_limit: "1" }],
      LiteLLM_VerificationToken: [row("sk-there-1234567890", "there", { team_id: "d" })],
    }),
  );
  const flags = ["--data", gateway.dataFolder, "--accept-foreign-keys", "--until", UNTIL, "--json"];
  const { report } = JSON.parse((await runCli(["import", "litellm-keys", file, ...flags])).stdout) as {
    readonly report: readonly { readonly path: string; readonly outcome: string }[];
  };
  expect(report.find(({ path }) => path.endsWith(".rpm_limit"))?.outcome).toBe("without");
});

test("nothing is written without a word of what becomes of the keys, and bad options are refused", async () => {
  const { stdout } = await imported([row("sk-never-1234567890", "never")]);
  expect(stdout).toContain("Nothing was written");
  for (const flags of [
    ["--until", UNTIL],
    ["--accept-foreign-keys"],
    ["--accept-foreign-keys", "--until", "2020-01-01"],
    ["--accept-foreign-keys", "--until", "31.12.2030"],
    ["--accept-foreign-keys", "--until", "2030-02-30"],
    ["--claim-links", "here"],
    ["--claim-links", gateway.url, "--tenant", "nobody"],
    ["--accept-foreign-keys", "--until", UNTIL, "--project", "nobody"],
    ["--accept-foreign-keys", "--until", UNTIL, "--claim-links", gateway.url],
  ])
    expect((await imported([row("sk-never-1234567890", "never")], ...flags)).code).not.toBe(0);
  expect(await codeOf("sk-never-1234567890")).toBe("invalid_token");
});

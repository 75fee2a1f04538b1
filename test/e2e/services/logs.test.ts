// The call log and content logging with the real process: turned on over the admin API, searched, followed, read and
// removed by the command line; and content is found nowhere else.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../../harness/processes/command-line.ts";
import { gatewayCommand } from "../../harness/processes/gateway-program.ts";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
const WORD = "xylophone-prompt";
let gateway: GatewayProcess;
let owner: string;
let viewer: string;
let developer: string;
let maintainer: string;

const environment = (token: string) => cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token });
const cli = (token: string, ...args: readonly string[]) => runHere(args, environment(token), gateway.folder);
async function json(token: string, ...args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await cli(token, ...args, "--json");
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}
async function chat(content: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const response = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content }], ...more });
  await response.text();
  return response.headers.get("x-gateway-trace-id")!;
}
beforeAll(async () => {
  gateway = await startGateway();
  owner = await gateway.createToken("--personal", "--role", "owner", "--permission", "read_content");
  viewer = await gateway.createToken("--project", "default", "--role", "viewer");
  developer = await gateway.createToken("--project", "default", "--role", "developer");
  maintainer = await gateway.createToken(
    "--project",
    "default",
    "--role",
    "maintainer",
    "--permission",
    "read_content",
  );
});
afterAll(async () => void (await gateway.stop()));

describe("refused requests", () => {
  const refused = async (
    path: string,
    body: string,
    token: string | null,
  ): Promise<{ readonly status: number; readonly traceId: string; readonly code: string }> => {
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token !== null && { authorization: `Bearer ${token}` }) },
      body,
    });
    const { error } = (await response.json()) as any;
    return { status: response.status, traceId: response.headers.get("x-gateway-trace-id")!, code: error.code };
  };
  const recordAt = (base: string, traceId: string) =>
    untilFound(async () => {
      const response = await fetch(`${gateway.url}/api/v1/admin${base}/logs/${traceId}`, {
        headers: { authorization: `Bearer ${owner}` },
      });
      return response.status === 200 && ((await response.json()) as any);
    });

  test("[d11.1] are recorded under the project of a valid token, whatever they were refused for", async () => {
    const cases = [
      ["/api/v1/chat/completions", "{", developer, 400, "invalid_json"],
      ["/api/v1/chat/completions", '{"model": "sandbox:echo", "messages": 7}', developer, 400, "invalid_request"],
      [
        "/api/v1/chat/completions",
        '{"model": "sandbox:echo", "messages": [{"role": "user", "content": "Hello"}]}',
        viewer,
        403,
        "insufficient_role",
      ],
      ["/v1/complete", '{"prompt": "Hello"}', developer, 404, "operation_not_served"],
      ["/api/v1/images/generations", "{}", developer, 501, "not_implemented"],
      ["/v1/unheard-of", "{}", developer, 404, "operation_not_served"],
    ] as const;
    for (const [path, body, token, status, code] of cases) {
      const answer = await refused(path, body, token);
      expect([path, answer.status, answer.code]).toEqual([path, status, code]);
      const shown = await recordAt("/projects/default", answer.traceId);
      expect([path, shown.tenant_id, shown.project_id, shown.status, shown.code]).toEqual([
        path,
        "default",
        "default",
        status,
        code,
      ]);
      const line = await untilFound(async () => gateway.lines().find((one) => one["trace_id"] === answer.traceId));
      expect([path, line["status"], line["project"]]).toEqual([path, status, "default"]);
    }
    const operations = async (...args: readonly string[]): Promise<readonly unknown[]> =>
      (await json(owner, "logs", ...args)).map((call: any) => call.operation);
    expect(await operations("--operation", "unserved")).toEqual(["unserved", "unserved", "unserved"]);
    expect(await operations("--operation", "chat.completions", "--filter", "outcome=failed")).toEqual(
      Array.from({ length: 3 }, () => "chat.completions"),
    );
    const byOperation = await json(owner, "usage", "--by", "operation");
    expect(byOperation.map((row: any) => [row.group.operation, row.errors])).toEqual([
      ["chat.completions", 3],
      ["unserved", 3],
    ]);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/code="operation_not_served"[^\n]* 2\n/);
  });

  test("[d11.1] [d9.6] an operation that is not served is recorded for the operator where no valid token came with it", async () => {
    for (const token of [null, "dgm_pt_wrong"]) {
      const answer = await refused("/v1/unheard-of", "{}", token);
      expect([answer.status, answer.code]).toEqual([404, "operation_not_served"]);
      const shown = await recordAt("", answer.traceId);
      expect([shown.tenant_id, shown.project_id, shown.code, shown.record.error_detail]).toEqual([
        null,
        null,
        "operation_not_served",
        "POST /v1/unheard-of",
      ]);
    }
  });
});

describe("content of calls", () => {
  test("[d11.3] is kept once the tenant turns it on, and read by maintainers with a row of the audit log; viewers, developers, the log and the disk reveal nothing of it", async () => {
    const before = await chat(`${WORD} before`);
    expect(
      (await cli(developer, "settings", "update", "--project", "default", "--set", "content_log.enabled=true")).stderr,
    ).toContain("403");
    expect(
      (
        await cli(
          owner,
          "settings",
          "update",
          "--set",
          "content_log.enabled=true",
          "--set",
          "content_log.retention_days=3",
        )
      ).code,
    ).toBe(0);
    const traceId = await chat(`${WORD} with ${SECRET}`, { stream: true, metadata: { session: "s1" } });
    const found = await untilFound(async () => {
      const told = await cli(maintainer, "logs", traceId, "--project", "default", "--content", "--json");
      return told.code === 0 && JSON.parse(told.stdout);
    });
    expect(found.content.messages).toEqual([{ role: "user", content: `${WORD} with [secret]` }]);
    expect(found.content.answers[0]).toMatchObject({ index: 0, finish_reason: "stop" });
    expect(found.content.answers[0].content).toContain(`${WORD} with [secret]`);
    expect(Date.parse(found.kept_until) - Date.now()).toBeLessThan(3 * 86_400_000);
    for (const token of [viewer, developer])
      expect((await cli(token, "logs", traceId, "--project", "default", "--content")).stderr).toContain(
        "403 permission_required",
      );
    expect((await cli(owner, "logs", before, "--content")).stderr).toContain("404");
    const shown = await untilFound(async () => {
      const told = await cli(viewer, "logs", traceId, "--project", "default", "--json");
      return told.code === 0 && JSON.parse(told.stdout);
    });
    expect(shown).toMatchObject({
      trace_id: traceId,
      status: 200,
      stream: true,
      content_kept_until: found.kept_until,
      record: { metadata: { session: "s1" } },
    });
    expect(JSON.stringify(shown)).not.toContain(WORD);
    const audit = await json(owner, "audit", "--filter", "kind=call_content");
    expect(audit).toMatchObject([
      { action: "read", outcome: "done", target_id: traceId, project_id: "default", actor: { role: "maintainer" } },
    ]);
    expect((await json(owner, "audit", "--filter", "action=readProjectLogContent")).at(0)).toMatchObject({
      outcome: "refused",
      target_id: traceId,
      actor: { role: null },
    });
    expect((await json(owner, "audit", "--filter", "kind=setting")).at(0)).toMatchObject({
      action: "create",
      outcome: "done",
      after: { content_log: { enabled: true } },
    });
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/dragoman_contents_kept_total 1\b/);
    for (const text of [gateway.output(), metrics]) expect(text.includes(WORD)).toBe(false);
    for (const file of filesOf(gateway.dataFolder))
      expect([file, readFileSync(file).includes(WORD)]).toEqual([file, false]);
  });

  test("[d11.3] is removed for good by one command, after a dry run that shows the number of calls", async () => {
    expect((await cli(developer, "logs", "--purge-content", "--project", "default")).stderr).toContain("403");
    expect((await cli(owner, "logs", "--purge-content", "--dry-run")).stdout).toContain("of 1 call would be deleted");
    expect((await cli(owner, "logs", "--purge-content")).stdout).toContain("of 1 call was deleted");
    expect((await json(owner, "logs", "--purge-content")).removed).toBe(0);
  });
});

describe("dragoman logs", () => {
  test("[d9.3] finds calls by fields, metadata and times, as a table and as JSON; exports come as CSV and JSON Lines", async () => {
    const traceId = await chat("Hello", { metadata: { session: "s2", user: "ann" } });
    const one = await untilFound(
      async () => (await json(owner, "logs", "--filter", "metadata=session=s2&user=ann"))[0],
    );
    expect(one).toMatchObject({ trace_id: traceId, model_asked: "sandbox:echo", finish_reason: "stop", status: 200 });
    expect(await json(owner, "logs", "--filter", "metadata=session=s3")).toEqual([]);
    expect(
      (
        await json(
          owner,
          "logs",
          "--filter",
          "status_class=2xx",
          "min_tokens=1",
          "model_asked=sandbox:echo",
          "--oldest",
        )
      ).length,
    ).toBeGreaterThan(1);
    const { stdout } = await cli(owner, "logs", "--most", "1");
    expect(stdout.split("\n")[0]).toMatch(/^AT +TRACE ID +PROJECT.* COPY OF$/);
    expect(stdout).toContain(traceId);
    expect((await cli(owner, "logs", "--filter", "colour=red")).stderr).toContain("400");
    for (const [format, first] of [
      ["csv", "trace_id,at,tenant_id"],
      ["jsonl", '{"trace_id":'],
    ] as const) {
      const response = await fetch(
        `${gateway.url}/api/v1/admin/tenants/default/logs?format=${format}&metadata=session%3Ds2`,
        { headers: { authorization: `Bearer ${owner}` } },
      );
      const text = await response.text();
      expect([response.status, text.startsWith(first), text.includes(traceId)]).toEqual([200, true, true]);
    }
  });

  test("[d9.3] --follow prints calls as they end, each once, long ones too, and only those that match", async () => {
    const child = Bun.spawn([...gatewayCommand, "logs", "--follow", "--json", "--filter", "metadata=follow=yes"], {
      env: environment(owner),
      cwd: gateway.folder,
      stdout: "pipe",
      stderr: "inherit",
    });
    try {
      let printed = "";
      void (async () => {
        for await (const bytes of child.stdout) printed += new TextDecoder().decode(bytes);
      })();
      const ids = (): readonly string[] =>
        printed
          .split("\n")
          .filter(Boolean)
          .map((line) => (JSON.parse(line) as { readonly trace_id: string }).trace_id);
      await Bun.sleep(1500);
      const first = await chat("one", { metadata: { follow: "yes" } });
      await chat("other", { metadata: { follow: "no" } });
      await until(() => ids().includes(first));
      const second = await chat("two", { metadata: { follow: "yes" }, stream: true });
      await until(() => ids().includes(second));
      await Bun.sleep(2500);
      expect(ids()).toEqual([first, second]);
    } finally {
      child.kill();
      await child.exited;
    }
  });
});

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

// Login links of the real command line: to a terminal only, for one login, on the gateway's machine.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { consoleBrowser, type Shown } from "../../../harness/console/browser.ts";
import { gatewayCommand, isExecutable, projectFolder } from "../../../harness/processes/gateway-program.ts";
import {
  cleanEnvironment,
  type GatewayProcess,
  runCli,
  startGateway,
} from "../../../harness/processes/gateway-process.ts";
import { inShell, inTerminal } from "../../../harness/processes/terminal.ts";
import { until } from "../../../harness/time/until.ts";

/** The link leads to the console's pages, so that none is printed where they have not been built. */
const isBuilt = isExecutable || existsSync(join(projectFolder, "console/dist/index.html"));
if (!isBuilt) console.log("skipped: the link of the first start, because the console has not been built");

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
});

const ARGS = (): readonly string[] => ["console", "link", "--data", gateway.dataFolder, "--port", port()];
const port = (): string => new URL(gateway.url).port;

const redeem = (code: string, headers: Readonly<Record<string, string>> = {}): Promise<Shown> =>
  consoleBrowser({ origin: `http://localhost:${port()}`, send: (request) => fetch(request) }).ask(
    "POST",
    "/console/api/session",
    { code },
    headers,
  );

test("[d14.6] a login link is printed to a terminal only, has its code in the fragment, and works once", async () => {
  const piped = await runCli(ARGS());
  expect([piped.code, piped.stdout]).toEqual([1, ""]);
  expect(piped.stderr).toContain("terminal");
  const { code, output } = await inTerminal(gateway.folder, [...ARGS(), "--permission", "read_content"]);
  expect(code).toBe(0);
  const [, secret] = new RegExp(`http://localhost:${port()}/console/#code=([\\w-]{43})\\s`).exec(output)!;
  for (const headers of [
    { "x-forwarded-for": "203.0.113.9" },
    { via: "1.1 proxy" },
    { "x-original-host": "gateway.example" },
  ])
    expect((await redeem(secret!, headers)).body.error.code).toBe("console_refused");
  const { status, body } = await redeem(secret!);
  expect([status, body.user.id, body.operator, body.permissions]).toEqual([200, "owner", true, ["read_content"]]);
  expect((await redeem(secret!)).body.error.code).toBe("login_failed");
  const audit = await runCli(
    ["audit", "--json"],
    cleanEnvironment({
      DRAGOMAN_URL: gateway.url,
      DRAGOMAN_TOKEN: await gateway.createToken("--personal", "--role", "owner"),
    }),
  );
  const rows = JSON.parse(audit.stdout) as readonly Readonly<Record<string, unknown>>[];
  expect(rows.filter(({ kind }) => kind === "login_link")).toHaveLength(1);
  expect(rows.filter(({ kind, outcome }) => kind === "session" && outcome === "done")).toHaveLength(1);
  expect(audit.stdout).not.toContain(secret!);
});

test.skipIf(!isBuilt)(
  "[d14.6] the first start in a terminal prints a login link, and a later one the command that makes one for this gateway as it is pasted",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-first-"));
    /** Starts the gateway in a terminal until it has said how to go on, and gives all that it and the command that it names have printed. */
    const started = async (isFirst: boolean): Promise<string> => {
      let output = "";
      const decoder = new TextDecoder();
      const child = Bun.spawn([...gatewayCommand, "serve", "--port", "0", "--data", "kept here"], {
        env: cleanEnvironment(),
        cwd: folder,
        terminal: { cols: 400, rows: 50, data: (_, bytes) => void (output += decoder.decode(bytes, { stream: true })) },
      });
      await until(() => output.includes(isFirst ? "#code=" : "console link"), "the gateway has greeted");
      const command = /with: (.* console link .*)\)/.exec(output)?.[1];
      const pasted = command === undefined ? null : await inShell(folder, command);
      child.kill("SIGTERM");
      await child.exited;
      child.terminal?.close();
      return pasted === null ? output : `${output}\n${pasted.output}`;
    };
    try {
      const first = await started(true);
      expect(first).toMatch(/http:\/\/localhost:\d+\/console\/#code=[\w-]{43}\s/);
      expect(first).toContain("dgm_pt_");
      const second = await started(false);
      const [, listens] = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(second)!;
      expect(second.match(/\S+#code=[\w-]{43}\s/g)).toEqual([
        expect.stringMatching(new RegExp(`^http://localhost:${listens!}/console/#code=`)) as unknown as string,
      ]);
      expect(second.indexOf("#code=")).toBeGreaterThan(second.indexOf("console link"));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test("a link for nobody, or with a permission that there is not, is refused with the cure", async () => {
  const nobody = await inTerminal(gateway.folder, [...ARGS(), "--user", "nobody"]);
  expect([nobody.code, nobody.output]).toEqual([1, expect.stringContaining("nobody")]);
  const ops = await inTerminal(gateway.folder, [...ARGS(), "--permission", "ops"]);
  expect([ops.code, ops.output]).toEqual([1, expect.stringContaining("read_content")]);
});

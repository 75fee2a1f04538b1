// The audit log with the real process and the command line: checked, exported and checked again without the gateway, and by the
// program that the page about it has for those who have no Dragoman.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../../harness/processes/command-line.ts";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";

let gateway: GatewayProcess;
let owner: string;

const cli = (...args: readonly string[]) =>
  runHere(args, cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: owner }), gateway.folder);

beforeAll(async () => {
  gateway = await startGateway();
  owner = await gateway.createToken("--personal", "--role", "owner");
  expect((await cli("project", "create", "site")).code).toBe(0);
});
afterAll(async () => void (await gateway.stop()));

describe("the audit log", () => {
  test("says that the command line has asked, and is intact", async () => {
    const { stdout } = await cli("audit", "--filter", "kind=project", "action=create", "target_id=site", "--json");
    expect(JSON.parse(stdout)).toMatchObject([{ target_id: "site", via: "cli", session_id: null }]);
    expect((await cli("audit", "--all", "--json")).stdout).toContain('"target_id": "site"');
    const checked = await cli("audit", "verify");
    expect([checked.code, checked.stderr]).toEqual([0, ""]);
    expect(checked.stdout).toContain("No row was changed or removed.");
    const [, head] = /Its head: (\d+:[0-9a-f]{64})/.exec(checked.stdout)!;
    expect((await cli("audit", "verify", "--head", head!)).code).toBe(0);
    const other = await cli("audit", "verify", "--head", `${head!.split(":")[0]}:${"0".repeat(64)}`);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("had another hash")]);
    expect((await cli("audit", "verify", "--all")).stdout).toContain("The tenant default: ");
  });

  test("is exported into a file that nobody else can read, and that is not written over", async () => {
    const file = join(gateway.folder, "first.jsonl");
    const { code, stdout } = await cli("audit", "export", "--out", file);
    expect([code, stdout]).toEqual([0, `The export is in ${file}. \`dragoman audit verify ${file}\` checks it.\n`]);
    const again = await cli("audit", "export", "--out", file);
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain("An existing file is not replaced.");
    expect((await cli("audit", "export")).stdout.split("\n")[0]).toContain("dragoman_audit_export");
  });

  test("an export is checked without a gateway, and with the key that it has to have", async () => {
    const folder = join(gateway.folder, "elsewhere");
    mkdirSync(folder);
    const file = join(folder, "export.jsonl");
    expect((await cli("audit", "export", "--out", file)).code).toBe(0);
    const offline = (...args: readonly string[]) => runHere(["audit", "verify", ...args], cleanEnvironment({}), folder);
    const { public_key: key } = JSON.parse((await cli("audit", "verify", "--json")).stdout);
    expect(await offline(file, "--key", key)).toMatchObject({ code: 0, stderr: "" });
    const foreign = await offline(file, "--key", "A".repeat(43) + "=");
    expect([foreign.code, foreign.stderr]).toEqual([1, `dragoman: It was signed with another key: ${key}.\n`]);
    writeFileSync(join(folder, "changed.jsonl"), readFileSync(file, "utf8").replace("site", "evil"));
    const changed = await offline("changed.jsonl");
    expect(changed.code).toBe(1);
    expect(changed.stderr).toContain("is not what was written");
    expect(changed.stderr).toContain("The signature is wrong");
    expect((await offline("nothing.jsonl")).stderr).toContain("nothing.jsonl");
  });

  test("the program of the page says the same", async () => {
    const python = Bun.which("python3");
    if (python === null) return console.log("skipped: there is no python3 to run the program of docs/audit.md with");
    const page = readFileSync(new URL("../../../docs/audit.md", import.meta.url), "utf8");
    const [, program] = /```python\n([\s\S]*?)```/.exec(page)!;
    const file = join(gateway.folder, "page.jsonl");
    expect((await cli("audit", "export", "--out", file)).code).toBe(0);
    const run = (of: string) => Bun.spawnSync([python, "-c", program!, of], { env: {} });
    expect(run(file).stdout.toString()).toContain("intact");
    const changed = join(gateway.folder, "page-changed.jsonl");
    writeFileSync(changed, readFileSync(file, "utf8").replace("site", "evil"));
    expect(run(changed).exitCode).toBe(1);
  });

  test("who had which token at a time is shown, and which users may have had further roles by a company login", async () => {
    const login = ["--set", "login.issuer=https://login.example.com", "--set", "login.subject=kim"];
    expect(await cli("user", "create", "kim", ...login)).toMatchObject({ code: 0 });
    const now = new Date().toISOString();
    const { code, stdout } = await cli("audit", "as-of", now);
    expect([code, stdout]).toEqual([0, expect.stringContaining("first")]);
    const lines = stdout.split("\n");
    expect(lines.find((line) => line.startsWith("USER "))).toMatch(/OPERATOR {2}COMPANY LOGIN {2}ROLES$/);
    expect(lines.find((line) => line.startsWith("kim "))).toMatch(/ false +true +-$/);
    expect(lines.find((line) => line.startsWith("owner "))).toMatch(/ true +false +owner$/);
    expect((await cli("audit", "as-of", "2020-01-01", "--json")).stdout).toContain('"tokens": []');
    expect((await cli("audit", "as-of", "soon")).stderr).toContain("expected a day such as");
  });
});

// Unusable paths that a flag, the environment or the configuration names: the real process ends with one line that
// names the path, what is wrong with it, and the setting.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gatewayCommand } from "../../harness/processes/gateway-program.ts";
import { cleanEnvironment, runCli, startGateway } from "../../harness/processes/gateway-process.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-paths-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "file");
writeFileSync(file, "");
const directory = join(folder, "directory");
mkdirSync(directory);

const IS_FILE = `${file} is a file and not a folder`;
const IS_FOLDER = "it is a folder and not a file";
let count = 0;
const fresh = (): string => join(folder, `data-${++count}`);

interface Start {
  readonly flags?: readonly string[];
  readonly config?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The one line of a start that fails. */
async function refusal({ flags = ["--data", fresh()], config, variables = {} }: Start): Promise<string> {
  const named = join(folder, `dragoman-${++count}.yaml`);
  if (config !== undefined) writeFileSync(named, config);
  const { code, stdout, stderr } = await runCli(
    ["serve", "--port", "0", ...flags, ...(config === undefined ? [] : ["--config", named])],
    cleanEnvironment(variables),
    folder,
  );
  expect([code, stdout, stderr.trimEnd().split("\n").length]).toEqual([2, "", 1]);
  // the system's codes are no words for an operator
  expect(stderr).not.toMatch(/\bE[A-Z]{3,}\b|SQLITE_|illegal operation|errno/);
  return stderr;
}

const CASES: readonly (readonly [what: string, start: () => Start, words: readonly string[]])[] = [
  [
    "the data folder is a file",
    () => ({ flags: ["--data", file] }),
    [`The data folder ${file} cannot be used`, IS_FILE, "--data (DRAGOMAN_DATA, server.data)"],
  ],
  [
    "the data folder is below a file",
    () => ({ flags: [], variables: { DRAGOMAN_DATA: join(file, "a/b") } }),
    [`The data folder ${join(file, "a/b")} cannot be used`, IS_FILE, "--data (DRAGOMAN_DATA, server.data)"],
  ],
  [
    "the folder of the ledger is a file",
    () => ({ config: `ledger: { folder: "${file}" }\n` }),
    [`The folder of the ledger ${file} cannot be used`, IS_FILE, "ledger.folder"],
  ],
  [
    "the folder of the ledger is below a file",
    () => ({ config: `ledger: { folder: "${file}/a/b" }\n` }),
    [`The folder of the ledger ${file}/a/b cannot be used`, IS_FILE, "ledger.folder"],
  ],
  [
    "the ledger in the data folder is a file",
    () => {
      const data = fresh();
      mkdirSync(data);
      writeFileSync(join(data, "ledger"), "");
      return { flags: ["--data", data] };
    },
    [`/ledger is a file and not a folder`, "ledger.folder"],
  ],
  [
    "the master key in the data folder is a folder",
    () => {
      const data = fresh();
      mkdirSync(join(data, "master.key"), { recursive: true });
      return { flags: ["--data", data] };
    },
    ["/master.key", IS_FOLDER, "DRAGOMAN_MASTER_KEY_FILE"],
  ],
  [
    "the file of the master key is a folder",
    () => ({ variables: { DRAGOMAN_MASTER_KEY_FILE: directory } }),
    ["environment DRAGOMAN_MASTER_KEY_FILE", directory, IS_FOLDER],
  ],
  [
    "the file of the master key is below a file",
    () => ({ variables: { DRAGOMAN_MASTER_KEY_FILE: join(file, "key") } }),
    ["environment DRAGOMAN_MASTER_KEY_FILE", join(file, "key"), IS_FILE],
  ],
  [
    "the path of the master key is relative",
    () => ({ variables: { DRAGOMAN_MASTER_KEY_FILE: "master.key" } }),
    ["environment DRAGOMAN_MASTER_KEY_FILE", "must be absolute", "/run/secrets/"],
  ],
  [
    "the configuration is a folder",
    () => ({ flags: ["--config", directory] }),
    [directory, IS_FOLDER, "--config (DRAGOMAN_CONFIG)"],
  ],
  [
    "the configuration is below a file",
    () => ({ flags: [], variables: { DRAGOMAN_CONFIG: join(file, "dragoman.yaml") } }),
    [join(file, "dragoman.yaml"), IS_FILE, "--config (DRAGOMAN_CONFIG)"],
  ],
  [
    "the configuration is missing",
    () => ({ flags: [], variables: { DRAGOMAN_CONFIG: "nowhere.yaml" } }),
    ["nowhere.yaml: there is no such file", "--config (DRAGOMAN_CONFIG)"],
  ],
  [
    "a secret's file is a folder",
    () => ({ config: `providers: { openai: { api_key: "\${file:${directory}}" } }\n` }),
    ["providers.openai.api_key", directory, IS_FOLDER],
  ],
  [
    "the file of an integration is a folder",
    () => ({ config: `integrations: { calls: { type: json_lines, path: "${directory}" } }\n` }),
    ["integrations.calls.path", directory, IS_FOLDER],
  ],
  [
    "the file of an integration is below a file",
    () => ({ config: `integrations: { calls: { type: json_lines, path: "${file}/calls.jsonl" } }\n` }),
    ["integrations.calls.path", `${file}/calls.jsonl`, IS_FILE],
  ],
  [
    "the module of a callback is missing",
    () => ({ config: "integrations: { own: { type: callback, module: ./nowhere.ts } }\n" }),
    ["integrations.own.module", join(folder, "nowhere.ts"), "there is no such file"],
  ],
  [
    "the module of a callback is a folder",
    () => ({ config: "integrations: { own: { type: callback, module: ./directory } }\n" }),
    ["integrations.own.module", directory, IS_FOLDER],
  ],
];

describe("a failed start ends with one line that names the path, what is wrong with it and the setting", () => {
  test.each(CASES)("%s", async (_what, start, words) => {
    const line = await refusal(start());
    for (const word of words) expect(line).toContain(word);
  });

  test("but not for an integration that is switched off, whose path may be anything", async () => {
    const config = `integrations: { calls: { type: json_lines, enabled: false, path: "${directory}" } }\n`;
    const gateway = await startGateway({ config });
    expect(await gateway.stop()).toBe(0);
  });
});

describe("commands on a wrong path", () => {
  test.each(["token list", "token create", "key rotate", "database create"])(
    "dragoman %s reports a data folder that is a file",
    async (command) => {
      const { code, stdout, stderr } = await runCli(
        [...command.split(" "), "--data", file],
        cleanEnvironment(),
        folder,
      );
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`The data folder ${file} cannot be used: ${IS_FILE}`);
    },
  );

  test("the line about a file that an option names contains no system error code either", async () => {
    const { code, stderr } = await runCli(["check", join(file, "x.yaml")], cleanEnvironment(), folder);
    expect([code, stderr]).toEqual([1, `dragoman: ${join(file, "x.yaml")}: cannot be read: ${IS_FILE}\n`]);
  });
});

/** Root may write everywhere, so as root the process is run as another user, who may run the executable or read the checkout. */
const asOther = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
const canRun =
  process.platform !== "win32" &&
  (asOther.length === 0 ||
    (Bun.which("setpriv") !== null &&
      Bun.spawnSync([...asOther, ...gatewayCommand, "version"], { cwd: tmpdir(), env: cleanEnvironment() }).exitCode ===
        0));
if (!canRun)
  console.log("skipped: no other user than root can run the command line here (setpriv, a readable checkout)");

describe.skipIf(!canRun)("a user without write permission", () => {
  const closed = join(folder, "closed");
  mkdirSync(closed);
  const unreadable = join(folder, "unreadable.yaml");
  writeFileSync(unreadable, "", { mode: 0o000 });
  const open = join(folder, "open");
  mkdirSync(open);
  chmodSync(folder, 0o755);
  chmodSync(open, 0o777);
  chmodSync(closed, 0o555);

  async function refused(flags: readonly string[], config = ""): Promise<string> {
    const named = join(folder, `closed-${++count}.yaml`);
    writeFileSync(named, config, { mode: 0o644 });
    const child = Bun.spawn([...asOther, ...gatewayCommand, "serve", "--port", "0", "--config", named, ...flags], {
      cwd: open,
      env: cleanEnvironment(),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stderr, code] = await Promise.all([child.stderr.text(), child.exited]);
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([2, 1]);
    expect(stderr).not.toMatch(/\bE[A-Z]{3,}\b|SQLITE_|\bport\b/);
    expect(stderr).toMatch(/the user that runs Dragoman \(uid \d+\) has no permission/);
    return stderr;
  }

  test.each([
    ["a data folder that exists", closed],
    ["a data folder that would have to be made", join(closed, "below")],
  ])("sees %s named, and not the port", async (_what, data) => {
    const line = await refused(["--data", data]);
    expect(line).toContain(`The data folder ${data} cannot be used`);
    expect(line).toContain("--data (DRAGOMAN_DATA, server.data)");
    expect(readdirSync(closed)).toEqual([]);
  });

  test("sees the folder of the ledger named, before a database is created", async () => {
    const data = join(open, "data");
    const line = await refused(["--data", data], `ledger: { folder: "${closed}" }\n`);
    expect(line).toContain(`The folder of the ledger ${closed} cannot be used`);
    expect(line).toContain("ledger.folder");
    expect(existsSync(data)).toBe(false);
  });

  test("sees the file of an integration or a configuration named, where it is not writable or readable", async () => {
    const config = `integrations: { calls: { type: json_lines, path: "${closed}/calls.jsonl" } }\n`;
    expect(await refused(["--data", join(open, "a")], config)).toContain("integrations.calls.path");
    const line = await refused(["--data", join(open, "b"), "--config", unreadable]);
    expect(line).toContain(`${unreadable}: cannot be read`);
    expect(line).toContain("--config (DRAGOMAN_CONFIG)");
  });
});

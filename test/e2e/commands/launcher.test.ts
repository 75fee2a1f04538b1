// The gateway as npm start and the command `dragoman` run it: below a launcher, with which it ends, however that ends.
// Started in another way, it does not watch its parent.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunProgram } from "../../../bin/runtime.mjs";
import { cleanEnvironment, runCli } from "../../harness/processes/gateway-process.ts";
import { projectFolder, sourceCommand } from "../../harness/processes/gateway-program.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const scratch = mkdtempSync(join(tmpdir(), "dragoman-launched-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const launcher = join(projectFolder, "bin", "dragoman.mjs");
const SECONDS = 1000;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function childrenOf(pid: number): readonly number[] {
  const known = `/proc/${pid}/task/${pid}/children`;
  if (existsSync(known)) return readFileSync(known, "utf8").trim().split(" ").filter(Boolean).map(Number);
  const listed = Bun.spawnSync(["ps", "-A", "-o", "pid=,ppid="]).stdout.toString();
  return listed
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child!);
}

interface Served {
  readonly url: string;
  readonly token: string;
  readonly dataFolder: string;
  readonly pid: number;
  errors(): string;
  chat(model: string): Promise<Response>;
}

let started = 0;

/** `command`: what runs the gateway, with its flags added. `find` gives the gateway's id where it is not that of what was started. */
async function serve(
  command: readonly string[],
  {
    environment = {},
    find = (pid: number): number => pid,
  }: { readonly environment?: Record<string, string>; readonly find?: (pid: number) => number } = {},
): Promise<Served & { readonly process: Bun.Subprocess }> {
  const [out, error, data] = ["out", "error", "data"].map((name) => join(scratch, `${name}-${started}`));
  started += 1;
  writeFileSync(out!, "");
  writeFileSync(error!, "");
  const child = Bun.spawn([...command, "serve", "--port", "0", "--data", data!], {
    cwd: scratch,
    env: cleanEnvironment(environment),
    stdin: "ignore",
    // not pipes: what reads them might be what ends
    stdout: Bun.file(out!),
    stderr: Bun.file(error!),
  });
  const words = (): string => readFileSync(out!, "utf8");
  await until(() => words().includes("curl http"), "the start");
  const url = /listens on (\S+)/.exec(words())![1]!;
  const token = /dgm_pt_\w+/.exec(words())![0];
  return {
    url,
    token,
    dataFolder: data!,
    process: child,
    pid: find(child.pid),
    errors: () => readFileSync(error!, "utf8"),
    chat: (model) =>
      fetch(`${url}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
      }),
  };
}

const launched = () => serve(["node", launcher], { find: (pid) => childrenOf(pid)[0]! });
const callsUnderWay = async ({ url }: Served): Promise<number> =>
  Number(/^dragoman_calls_in_flight(?:\{[^}]*\})? (\d+)/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1] ?? 0);
const ends = (pid: number) => until(() => !isAlive(pid), `process ${pid} ends`);

describe("the launcher", () => {
  test("ended by kill -9 also stops the gateway, as SIGTERM does: a call in flight is answered in full", async () => {
    const gateway = await launched();
    expect(gateway.pid).not.toBe(gateway.process.pid);
    const call = gateway.chat("sandbox:slow-1500");
    await until(async () => (await callsUnderWay(gateway)) > 0, "a call is under way");
    gateway.process.kill("SIGKILL");
    expect([(await call).status, await gateway.process.exited]).toEqual([200, 137]);
    await ends(gateway.pid);
    expect(gateway.errors()).toBe("dragoman: the launcher has ended; the gateway stops as on SIGTERM\n");
    expect(gateway.chat("sandbox:echo")).rejects.toThrow();
  });

  test("killed while the gateway drains does not shorten the drain", async () => {
    const gateway = await launched();
    const call = gateway.chat("sandbox:slow-4000");
    await until(async () => (await callsUnderWay(gateway)) > 0, "a call is under way");
    gateway.process.kill("SIGTERM");
    // longer than two arrivals of the same signal are apart
    await Bun.sleep(2 * SECONDS);
    gateway.process.kill("SIGKILL");
    expect((await call).status).toBe(200);
    await ends(gateway.pid);
    expect(gateway.errors()).toBe("");
  });

  test("stops any other command as well, and prevents none from ending", async () => {
    const version = Bun.spawnSync(["node", launcher, "version"], { env: cleanEnvironment() });
    expect([version.exitCode, version.stdout.toString()]).toEqual([0, (await runCli(["version"])).stdout]);

    const gateway = await launched();
    const admin = await runCli([
      "token",
      "create",
      "--data",
      gateway.dataFolder,
      "--json",
      "--name",
      "logs",
      "--personal",
    ]);
    const { token } = JSON.parse(admin.stdout) as { readonly token: string };
    const follow = Bun.spawn(["node", launcher, "logs", "--follow", "--url", gateway.url, "--token", token], {
      env: cleanEnvironment(),
      stdout: "ignore",
      stderr: "ignore",
    });
    const pid = await untilFound(() => childrenOf(follow.pid)[0], "it runs");
    follow.kill("SIGKILL");
    await ends(pid);
    gateway.process.kill("SIGTERM");
    expect(await gateway.process.exited).toBe(0);
    await ends(gateway.pid);
  });
});

describe("a gateway that was started without the launcher", () => {
  const direct = [bunProgram(projectFolder)!, ...sourceCommand.slice(1)];
  const quoted = direct.map((word) => `'${word}'`).join(" ");

  /** It serves on, and ends as it is asked to. */
  async function goesOn(gateway: Served): Promise<void> {
    for (const model of ["sandbox:slow-500", "sandbox:echo"]) expect((await gateway.chat(model)).status).toBe(200);
    expect(gateway.errors()).toBe("");
    process.kill(gateway.pid, "SIGTERM");
    await ends(gateway.pid);
  }

  test("goes on when its shell has ended, with nohup, without standard input, and in the environment of a launcher", async () => {
    const shell = `nohup ${quoted} "$@" <&- & echo $! > "$PIDFILE"; wait`;
    const file = join(scratch, "pid");
    const gateway = await serve(["sh", "-c", shell, "sh"], {
      environment: { PIDFILE: file, DRAGOMAN_LAUNCHER: "1" },
      find: () => Number(readFileSync(file, "utf8")),
    });
    gateway.process.kill("SIGKILL");
    await gateway.process.exited;
    await goesOn(gateway);
  });

  test("goes on when a supervisor closes the channel over which it was started", async () => {
    const supervisor = join(scratch, "supervisor.mjs");
    const file = join(scratch, "supervised");
    writeFileSync(
      supervisor,
      `import { spawn } from "node:child_process";
       import { writeFileSync } from "node:fs";
       const [, , file, program, ...args] = process.argv;
       const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true });
       writeFileSync(file, String(child.pid));
       process.on("SIGUSR2", () => { child.disconnect(); child.unref(); });
       child.unref();`,
    );
    const gateway = await serve(["node", supervisor, file, ...direct], {
      find: () => Number(readFileSync(file, "utf8")),
    });
    gateway.process.kill("SIGUSR2");
    await gateway.process.exited;
    await goesOn(gateway);
  });
});

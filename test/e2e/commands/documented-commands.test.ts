// The commands of the pages run unchanged, and print what the pages show: every fence ```bash run, page by page against
// a gateway of its own, and the fence ```json output or ```text output below it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { jsonDifference, textDifference } from "../../docs/output-match.ts";
import { gatewayFile } from "../../harness/processes/gateway-program.ts";
import { type Run, runToEnd } from "../../harness/processes/processes.ts";
import { allPages, type Fence, fencesOf, type Page, projectFolder, readPage, tableBelow } from "../../docs/pages.ts";

const missing = ["bash", "curl", "node"].filter((program) => Bun.which(program) === null);
if (missing.length > 0)
  console.log(`skipped: the commands of the documentation, because ${missing.join(" and ")} cannot be found`);

interface Command {
  readonly fence: Fence;
  readonly shown: Fence | null;
}

function commandsOf(page: Page): readonly Command[] {
  const fences = fencesOf(page);
  return fences.flatMap((fence, index) => {
    if (fence.info !== "bash run") return [];
    const next = fences[index + 1];
    return [{ fence, shown: next !== undefined && /^(json|text) output$/.test(next.info) ? next : null }];
  });
}

interface Place {
  readonly folder: string;
  readonly gateway: GatewayProcess;
  readonly environment: Readonly<Record<string, string>>;
}

/** A folder to work in, with the examples, a gateway, and `dragoman` on the path. */
async function openPlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-docs-"));
  const programs = join(folder, "programs");
  mkdirSync(programs);
  symlinkSync(gatewayFile, join(programs, "dragoman"));
  symlinkSync(join(projectFolder, "examples"), join(folder, "examples"));
  const gateway = await startGateway();
  const base = cleanEnvironment();
  return {
    folder,
    gateway,
    environment: {
      ...base,
      PATH: `${programs}:${base["PATH"] ?? ""}`,
      GATEWAY: gateway.url,
      TOKEN: gateway.firstToken!,
      DATA: gateway.dataFolder,
    },
  };
}

const run = (script: string, { folder, environment }: Place): Promise<Run> =>
  runToEnd(["bash", "-c", script], { cwd: folder, env: environment });

const pages = allPages().filter((page) => commandsOf(page).length > 0);

describe.skipIf(missing.length > 0)("the commands of", () => {
  test("the pages are marked to be run where they can be", () => {
    expect(pages.map(({ path }) => path)).toEqual([
      "README.md",
      "docs/admin-api.md",
      "docs/api.md",
      "docs/completions.md",
      "docs/embeddings.md",
      "docs/messages.md",
      "docs/moderations.md",
      "docs/operations.md",
      "docs/rerank.md",
      "docs/responses.md",
      "docs/routes.md",
      "docs/sandbox.md",
    ]);
    for (const page of pages) {
      const outputs = fencesOf(page).filter(({ info }) => info.endsWith(" output"));
      // an output that follows no command would never be compared
      expect([page.path, outputs.length]).toEqual([
        page.path,
        commandsOf(page).filter(({ shown }) => shown !== null).length,
      ]);
    }
  });

  for (const page of pages) {
    describe(page.path, () => {
      let place: Place;
      beforeAll(async () => void (place = await openPlace()));
      afterAll(async () => {
        await place.gateway.stop();
        rmSync(place.folder, { recursive: true, force: true });
      });
      test.each(commandsOf(page).map(({ fence, shown }) => [fence.line, fence, shown] as const))(
        "line %d",
        async (_, fence, shown) => {
          const { code, stdout, stderr } = await run(fence.text, place);
          expect({ code, stderr }).toEqual({ code: fence.text.includes("dragoman check broken") ? 1 : 0, stderr: "" });
          if (shown?.info === "json output")
            expect(jsonDifference(JSON.parse(shown.text), JSON.parse(stdout))).toBeNull();
          if (shown?.info === "text output") expect(textDifference(shown.text, stdout)).toBeNull();
        },
      );
    });
  }

  test("docs/sandbox.md, its table of faults: what the client gets for each", async () => {
    const place = await openPlace();
    try {
      for (const [model, status, code] of tableBelow(readPage("docs/sandbox.md"), "## Faults")) {
        const name = model!.replaceAll("`", "");
        const answer = await place.gateway.chat({
          model: `sandbox:${name}`,
          timeout: 0.5,
          messages: [{ role: "user", content: "Hello" }],
        });
        const body = (await answer.json()) as { readonly error: { readonly code: string } };
        expect([name, String(answer.status), `\`${body.error.code}\``]).toEqual([name, status!, code!]);
      }
    } finally {
      await place.gateway.stop();
      rmSync(place.folder, { recursive: true, force: true });
    }
  });

  test("README.md: `npm start` in a checkout prints a command that works", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-docs-"));
    const child = Bun.spawn(["npm", "start", "--silent", "--", "--port", "0", "--data", join(folder, "data")], {
      cwd: projectFolder,
      env: cleanEnvironment({ DRAGOMAN_LOG_LEVEL: "silent" }),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
      detached: true,
    });
    try {
      let printed = "";
      const decoder = new TextDecoder();
      for await (const bytes of child.stdout) {
        printed += decoder.decode(bytes, { stream: true });
        if (/^Console: .*\n/m.test(printed)) break;
      }
      const shown = fencesOf(readPage("README.md")).find(
        ({ info, text }) => info === "text" && text.includes("listens on"),
      )!;
      const like = (text: string): string =>
        text
          .trim()
          .replaceAll(/dgm_pt_(\w+|\.\.\.)/g, "TOKEN")
          .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, "URL")
          .replaceAll(/data in .*\)/g, "data in DATA)")
          .replaceAll(/--data \S+ --port \d+/g, "--data DATA --port PORT");
      expect(like(printed)).toBe(like(shown.text));
      const asked = Bun.spawn(["bash", "-c", `${/^curl .*$/m.exec(printed)![0]} --silent`], {
        env: cleanEnvironment(),
        stdout: "pipe",
      });
      expect(((await new Response(asked.stdout).json()) as any).choices[0].message.content).toBe("Hello, Dragoman!");
    } finally {
      // to the whole group, as Ctrl-C does it: the shell between npm and the gateway hands no signal on
      process.kill(-child.pid, "SIGTERM");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("the comparison", () => {
  test("sees what differs", () => {
    expect(textDifference("a …\nb", "a 1\nb\n")).toBeNull();
    expect(textDifference("a …\nb", "c 1\nb")).toContain("line 1");
    expect(textDifference("a", "a\nb")).toContain("more");
    expect(jsonDifference({ a: "…", b: [1, { c: "x…" }] }, { a: { any: 1 }, b: [1, { c: "xyz" }] })).toBeNull();
    expect(jsonDifference({ a: "…" }, {})).toContain("missing");
    expect(jsonDifference({ a: 1 }, { a: 1, b: 2 })).toContain("$.b");
    expect(jsonDifference({ a: [1] }, { a: [1, 2] })).toContain("$.a.1");
    expect(jsonDifference({ a: 1 }, { a: "1" })).toContain("$.a");
  });
});

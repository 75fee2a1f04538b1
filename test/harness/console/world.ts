// The console with a world behind it that a test fills as it likes: three tenants, people of every role, one of everything that is
// configured, and calls. The gateway's parts run in the test's own process, on a socket, for a real browser.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildConsole, writeFiles } from "../../../console/build.ts";
import type { ConfigurationScope } from "../../../src/store/records.ts";
import { type AdminWorld, type AdminWorldOptions, openAdminWorld } from "../admin.ts";
import { furnish, type PathValues } from "../admin-examples.ts";
import { CONSOLE_SCREENS } from "./screens.ts";

export interface ServedWorld extends AdminWorld {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
}

export interface ServedWorldOptions extends AdminWorldOptions {
  /** Hears of each answer of the gateway, whatever a browser tells of it. */
  answered?(asked: Request, answer: Response): void;
}

export interface ConsoleWorld extends ServedWorld {
  /** What stands for a variable of a path, by place and noun. */
  readonly values: PathValues;
}

export const ACME: ConfigurationScope = { tenantId: "acme", projectId: null };
export const SITE: ConfigurationScope = { tenantId: "acme", projectId: "site" };
export const APP: ConfigurationScope = { tenantId: "acme", projectId: "app" };
export const BETA: ConfigurationScope = { tenantId: "beta", projectId: null };
export const LAB: ConfigurationScope = { tenantId: "beta", projectId: "lab" };

export async function openConsoleWorld(options: ServedWorldOptions = {}): Promise<ConsoleWorld> {
  const world = await openServedWorld(options);
  return { ...world, values: await furnish(world, [ACME, BETA, SITE, APP, LAB]) };
}

/** With the people of `options` and nothing else. */
export async function openServedWorld(options: ServedWorldOptions = {}): Promise<ServedWorld> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-console-world-"));
  writeFiles(await buildConsole(), join(folder, "dist"));
  const world = await openAdminWorld({ ...options, consoleFolder: join(folder, "dist") });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request, own) => {
      const answer = await world.fetch(request, own.requestIP(request)?.address);
      options.answered?.(request, answer);
      return answer;
    },
  });
  return {
    ...world,
    url: `http://127.0.0.1:${server.port}`,
    async close() {
      await server.stop(true);
      await world.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The nouns of the admin API whose ids name single things, where the path of the screen is another word. */
const NOUNS: Readonly<Record<string, string>> = { "/tools": "tool_servers" };

/** The paths of every page of a scope below `/console`, by the title of its screen: each screen, and one single thing of those that have a page. */
export function pagesOf(
  { values }: Pick<ConsoleWorld, "values">,
  place: ConfigurationScope,
): readonly (readonly [title: string, path: string])[] {
  const base = `/${place.tenantId}/${place.projectId ?? "-"}`;
  return CONSOLE_SCREENS.flatMap(({ title, path, hasDetails }) => {
    const id = values("id", NOUNS[path] ?? path.slice(1), place);
    return [
      [title, base + path] as const,
      ...(hasDetails && id !== "none" ? [[`${title}: one`, `${base}${path}/${encodeURIComponent(id)}`] as const] : []),
    ];
  });
}

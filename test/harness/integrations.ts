// Integrations with their real threads, without a gateway: modules of operators in a folder of their own, and what was logged.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { integrationsSection } from "../../src/observe/integrations/integration-settings.ts";
import {
  type Integrations,
  type IntegrationStatus,
  openIntegrations,
} from "../../src/observe/integrations/integrations.ts";
import { until } from "./time/until.ts";

export interface LoggedLine {
  readonly level: "info" | "warn";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface OpenedIntegrations extends AsyncDisposable {
  readonly integrations: Integrations;
  readonly folder: string;
  readonly logged: readonly LoggedLine[];
  standing(name: string): IntegrationStatus;
  /** Waits until it holds, up to ten seconds. Throws with how everything stands. */
  until(holds: () => boolean): Promise<void>;
}

/** `settings`: the section of the file; `modules`: texts by name of the file, `./<name>` in the settings. */
export function openTestIntegrations(
  settings: Readonly<Record<string, object>>,
  modules: Readonly<Record<string, string>> = {},
): OpenedIntegrations {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-integrations-"));
  mkdirSync(join(folder, "out"));
  for (const [name, text] of Object.entries(modules))
    writeFileSync(join(folder, name), text.replaceAll("OUT", JSON.stringify(join(folder, "out")).slice(1, -1)));
  const logged: LoggedLine[] = [];
  const log =
    (level: LoggedLine["level"]) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void logged.push({ level, message, fields });
  const integrations = openIntegrations({
    integrations: integrationsSection.parse(settings),
    configFile: join(folder, "dragoman.yaml"),
    log: { info: log("info"), warn: log("warn") },
  });
  if (integrations === null) throw new Error("none is enabled");
  const standing = (name: string): IntegrationStatus => integrations.statuses().find((each) => each.name === name)!;
  return {
    integrations,
    folder,
    logged,
    standing,
    until: (holds) =>
      until(holds, () => `${holds.toString()}; ${JSON.stringify({ standings: integrations.statuses(), logged })}`),
    async [Symbol.asyncDispose]() {
      await integrations.end(500);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

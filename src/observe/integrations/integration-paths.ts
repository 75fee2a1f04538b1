// The files and modules that integrations name, checked at the start: an integration opens its own only with its first
// call, and an operator should learn of a wrong path at the start.
import { dirname, resolve } from "node:path";
import { readFileFault, writtenFileFault } from "../../config/path-fault.ts";
import { ConfigurationError, problemIn, type ConfigurationProblem } from "../../config/problem.ts";
import type { CallbackSettings } from "./sinks/callback-settings.ts";
import type { Integration } from "./integration-settings.ts";

/** A relative path starts at the folder of the configuration file; with `null` at the working directory. */
export function modulePath({ module }: Pick<CallbackSettings, "module">, configFile: string | null): string {
  return resolve(configFile === null ? "." : dirname(configFile), module);
}

/** Throws ConfigurationError for paths of enabled integrations that cannot be used. */
export function requireIntegrationPaths(integrations: readonly Integration[], configFile: string | null): void {
  const problems = integrations.flatMap(({ name, settings }): readonly ConfigurationProblem[] => {
    const named = settings.enabled ? namedPath(settings, configFile) : null;
    if (named === null || named.fault === null) return [];
    const { key, path, fault } = named;
    const message = `${path} cannot be used: ${fault}; mend that, name another file, or switch the integration off with enabled: false`;
    return [problemIn(configFile ?? "configuration", message, `integrations.${name}.${key}`)];
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
}

function namedPath(settings: Integration["settings"], configFile: string | null) {
  if (settings.type === "json_lines") {
    const path = resolve(settings.path);
    return { key: "path", path, fault: writtenFileFault(path) };
  }
  if (settings.type !== "callback") return null;
  const path = modulePath(settings, configFile);
  return { key: "module", path, fault: readFileFault(path) };
}

// The configuration that a command works with: the file that the flag or the environment names, or `dragoman.yaml` of
// this folder, or the defaults.
import type { Environment } from "../config/environment.ts";
import { resolveConfigFile } from "../config/server-options.ts";
import { PROVIDER_FAMILIES } from "../gateway.ts";
import { type Configuration, loadConfiguration } from "../snapshot/configuration.ts";

export interface NamedConfiguration {
  /** `null` when the defaults apply. */
  readonly file: string | null;
  readonly configuration: Configuration;
}

/** Throws ConfigurationError, which says how another file is named when this one cannot be read. */
export function namedConfiguration(
  flags: { readonly config?: string | undefined },
  environment: Environment,
): NamedConfiguration {
  const file = resolveConfigFile({ flags, environment });
  const setting = "--config (DRAGOMAN_CONFIG)";
  return { file, configuration: loadConfiguration({ file, setting, families: PROVIDER_FAMILIES, environment }) };
}

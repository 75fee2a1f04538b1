// The configuration that a command works with: the file that the flag or the environment names, or `dragoman.yaml` of
// this folder, or the defaults.
import type { Environment } from "../config/environment.ts";
import {
  resolveConfigFile,
  resolveServerOptions,
  type ServerFlags,
  type ServerOptions,
} from "../snapshot/server-options.ts";
import { PROVIDER_FAMILIES } from "../process/parts/provider-families.ts";
import { loadConfiguration, type LoadedConfiguration } from "../snapshot/configuration.ts";

/** Throws ConfigurationError, which says how another file is named when this one cannot be read. */
export function namedConfiguration(
  flags: { readonly config?: string | undefined },
  environment: Environment,
): LoadedConfiguration {
  const file = resolveConfigFile({ flags, environment });
  const setting = "--config (DRAGOMAN_CONFIG)";
  return loadConfiguration({ file, setting, families: PROVIDER_FAMILIES, environment });
}

/** The options of a server with these flags and that configuration. Throws ConfigurationError. */
export const namedServerOptions = (flags: ServerFlags, environment: Environment): ServerOptions =>
  resolveServerOptions({ flags, environment, file: namedConfiguration(flags, environment).configuration });

// `dragoman check <config>`: prints every problem of a configuration file with its position.
import type { Environment } from "../config/environment.ts";
import { ConfigurationError } from "../config/problem.ts";
import { PROVIDER_FAMILIES } from "../gateway-parts/provider-families.ts";
import { loadConfiguration } from "../snapshot/configuration.ts";
import { printError, printJson, printLine } from "./output.ts";

/** Returns the exit code: 0 when the file can be used. */
export function check(file: string, flags: { readonly json?: true }, environment: Environment): number {
  try {
    loadConfiguration({ file, families: PROVIDER_FAMILIES, environment });
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    if (flags.json === true) printJson({ ok: false, problems: thrown.problems });
    else printError(thrown.message);
    return 1;
  }
  if (flags.json === true) printJson({ ok: true, problems: [] });
  else printLine(`${file} is valid.`);
  return 0;
}

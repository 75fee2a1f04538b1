// `dragoman check <config>`: prints every problem of a configuration file with its position, and the tests of its routes
// that do not hold.
import type { Environment } from "../config/environment.ts";
import { ConfigurationError } from "../config/problem.ts";
import { PROVIDER_FAMILIES } from "../gateway-parts/provider-families.ts";
import { failedTests } from "../diagnostics/simulation/file-tests.ts";
import { loadConfiguration } from "../snapshot/configuration.ts";
import { printError, printJson, printLine } from "./output.ts";

/** Returns the exit code: 0 when the file can be used. */
export function check(file: string, flags: { readonly json?: true }, environment: Environment): number {
  try {
    const { configuration } = loadConfiguration({ file, families: PROVIDER_FAMILIES, environment });
    const failed = failedTests({ configuration, environment });
    if (failed.length > 0)
      throw new ConfigurationError(failed.map((one) => ({ file, line: null, column: null, ...one })));
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

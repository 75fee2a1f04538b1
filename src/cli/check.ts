// `dragoman check <config>`: prints every problem of a configuration file with its position, the tests of its routes that
// do not hold, routes whose time limits leave their fallbacks no time, and limits, budgets and policies that name nothing
// in the file.

// Decides (records and configuration): What is said of a mistake in the file, and with which exit code? By: `check`. Also:
// `config/problem.ts` (`ConfigurationError`). Rule: All problems at once, each with its line, column and path, and 1; a
// warning leaves it at 0. A running gateway goes on with the file that it had.
import type { Environment } from "../config/environment.ts";
import {
  ConfigurationError,
  type ConfigurationProblem,
  formatPath,
  formatProblem,
  problemIn,
} from "../config/problem.ts";
import { PROVIDER_FAMILIES } from "../process/parts/provider-families.ts";
import { failedTests } from "../diagnostics/simulation/file-tests.ts";
import { routeWarnings } from "../routing/route-warnings.ts";
import { loadConfiguration, routesOf } from "../snapshot/configuration.ts";
import { lostNameWarnings } from "../snapshot/lost-name-notices.ts";
import { printError, printJson, printLine } from "./output.ts";

/** Returns the exit code: 0 when the file can be used. */
export function check(file: string, flags: { readonly json?: true }, environment: Environment): number {
  let warnings: readonly ConfigurationProblem[];
  try {
    const { configuration } = loadConfiguration({ file, families: PROVIDER_FAMILIES, environment });
    const failed = failedTests({ configuration, environment });
    if (failed.length > 0)
      throw new ConfigurationError(failed.map((one) => ({ file, line: null, column: null, ...one })));
    warnings = [
      ...routeWarnings(routesOf(configuration), configuration.server.limits.defaultTimeoutMs),
      ...lostNameWarnings(configuration, PROVIDER_FAMILIES),
    ].map(({ path, message }) => problemIn(file, message, formatPath(path)));
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    if (flags.json === true) printJson({ ok: false, problems: thrown.problems });
    else printError(thrown.message);
    return 1;
  }
  if (flags.json === true) printJson({ ok: true, problems: [], warnings });
  else {
    for (const warning of warnings) printLine(`warning: ${formatProblem(warning)}`);
    printLine(`${file} is valid.`);
  }
  return 0;
}

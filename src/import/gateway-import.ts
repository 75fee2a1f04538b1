// What the import of each gateway is given: the file, and where it puts what it makes of it.
import type { ProviderFamily } from "../providers/settings.ts";
import type { Draft, Section } from "./draft.ts";
import type { EnvironmentForm, EnvironmentTexts } from "./environment-texts.ts";
import type { ForeignFile, ForeignNode } from "./foreign-file.ts";
import type { Value } from "./reference.ts";
import type { Claims } from "./report.ts";
import type { Secrets } from "./secrets.ts";

export interface ImportContext {
  readonly foreign: ForeignFile;
  readonly claims: Claims;
  readonly draft: Draft;
  readonly secrets: Secrets;
  readonly texts: EnvironmentTexts;
  /** The providers of this gateway by family id. */
  readonly families: ReadonlyMap<string, ProviderFamily>;
  readonly choices: ImportChoices;
}

/** What a person says on the command line, because the file does not say it. */
export interface ImportChoices {
  /** The name of the route for a file that describes one without a name. */
  readonly name: string;
  /** Models that clients ask for where the file leaves the model to them. */
  readonly models: readonly string[];
  /** Which provider stands behind a name of the other gateway. */
  readonly providers: ReadonlyMap<string, string>;
}

export interface GatewayImport {
  /** The version of YAML that its parser follows. */
  readonly yaml: "1.1" | "1.2";
  /** Absent where no text of its files refers to the environment. */
  readonly environment?: (root: ForeignNode) => EnvironmentForm;
  /** Throws ConfigurationError where the file is no configuration of the gateway. */
  readonly run: (context: ImportContext) => void;
}

/** Makes a setting of one value of the file: sets it and reports so; does neither where the node has no such value. `how` says how it differs, `null` when it does not. */
export function moveSetting(
  node: ForeignNode | undefined,
  [section, ...path]: readonly [Section, ...string[]],
  value: Value | null,
  how: string | null,
  { claims, draft }: ImportContext,
): void {
  if (value === null) return;
  draft.set(section, path, value);
  claims.moved(node, [section, ...path].join("."), how);
}

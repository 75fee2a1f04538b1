// Texts of the other gateway's file that look like secrets and were taken over as parameters, arguments, parts of an
// address and the like: they get a file of their own too.
import { type ForeignFile, leavesOf } from "./foreign-file.ts";
import { written } from "./reference.ts";
import type { OpenReport } from "./report.ts";
import { looksLikeSecret } from "./secret-shape.ts";
import type { Secrets } from "./secrets.ts";

/** Names of models can have a hash in them. */
const MODEL_KEYS: ReadonlySet<string> = new Set(["model", "models", "targets", "id", "aliases"]);
/** What stands below it has names of the provider's own. */
const FREE_KEY = "params";

/** The configuration with a reference in the place of each. */
export function withoutSecrets(
  configuration: Readonly<Record<string, unknown>>,
  { root }: ForeignFile,
  report: OpenReport,
  secrets: Secrets,
): Readonly<Record<string, unknown>> {
  const suspects = [...leavesOf(root)].filter(({ value }) => typeof value === "string" && looksLikeSecret(value));
  const replace = (value: unknown, key: string, isFree: boolean): unknown => {
    if (typeof value === "string" && (isFree || !MODEL_KEYS.has(key))) {
      const found = suspects.filter((node) => value.includes(String(node.value)));
      if (found.length === 0) return value;
      report.areSecrets(found);
      return written(secrets.keep(key, value.replaceAll("$${", "${")));
    }
    if (Array.isArray(value)) return value.map((each) => replace(each, key, isFree));
    return typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => [name, replace(member, name, isFree || name === FREE_KEY)]),
        )
      : value;
  };
  return replace(configuration, "secret", false) as Readonly<Record<string, unknown>>;
}

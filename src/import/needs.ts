// What has to be set before a configuration that an import made can serve calls: variables of the environment to which it
// refers, and settings of providers that the other gateway's file did not have.
import type { ProviderFamily } from "../providers/settings.ts";

export interface Needs {
  /** Names of variables of the environment, sorted. */
  readonly variables: readonly string[];
  readonly settings: readonly NeededSetting[];
}

export interface NeededSetting {
  /** Such as `providers.azure-eu.resource`. */
  readonly place: string;
  /** A variable of the environment that can hold it instead; `null` where it has to stand in the file. */
  readonly variable: string | null;
}

const VARIABLE = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*):-/g;
const SETTING = /\{(\w+)\}/g;

export function needsOf(configuration: Readonly<Record<string, unknown>>, families: readonly ProviderFamily[]): Needs {
  const text = JSON.stringify(configuration);
  const entries = Object.entries((configuration["providers"] ?? {}) as Readonly<Record<string, Entry>>);
  return {
    variables: [...new Set(Array.from(text.matchAll(VARIABLE), ([, name]) => name!))].toSorted(),
    settings: entries.flatMap(([id, entry]) => {
      const family = families.find((each) => each.id === (entry["type"] ?? id));
      return family === undefined ? [] : missingSettings(id, entry, family);
    }),
  };
}

type Entry = Readonly<Record<string, unknown>>;

/** Settings that stand in the address of the provider and have no value. */
function missingSettings(
  id: string,
  entry: Entry,
  { id: familyId, baseUrl, settings }: ProviderFamily,
): readonly NeededSetting[] {
  if (baseUrl === null || entry["base_url"] !== undefined) return [];
  return Array.from(baseUrl.matchAll(SETTING), ([, name]) => name!).flatMap((name) => {
    const setting = settings.find((each) => each.name === name);
    if (entry[name] !== undefined || setting?.default !== undefined) return [];
    // only the entry with the provider's own id reads the variables of the environment
    return [{ place: `providers.${id}.${name}`, variable: id === familyId ? (setting?.variables[0] ?? null) : null }];
  });
}

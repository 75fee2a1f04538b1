// What a provider can do, as data: one cell for each common parameter and content block type, with exceptions per model (decisions 6.2).
import { BLOCK_TYPES, type BlockType, type ChatRequest } from "./chat.ts";
import type { Json } from "./json.ts";
import { COMMON_PARAMETERS, type CommonParameter } from "./params.ts";

/**
 * `native`: the provider has it under OpenAI's name and form. `mapped`: it has it in another form. `emulated`: the gateway gets the same effect
 * by other means. `unsupported`: refused, or dropped where that is allowed.
 */
export type Support = "native" | "mapped" | "emulated" | "unsupported";

export interface Capability {
  readonly support: Support;
  /** How it is mapped or emulated, or the values that are taken; for the docs. */
  readonly note?: string;
  /** The only values that are taken, where not all of the common ones are: strings, or the `type` of an object. Others are 400 `unsupported_value`. */
  readonly values?: readonly string[];
  /** The only range that is taken, where it is narrower than the common one. A parameter of which one value alone is taken is `unsupported`, with that value as `neutral`. */
  readonly range?: readonly [min: number, max: number];
  /** Of an unsupported parameter: the model's own default, which it takes. It says the same as not sending the parameter, and goes as it came. The common neutral values count besides. */
  readonly neutral?: (value: Json, request: Pick<ChatRequest, "params" | "extra">) => boolean;
}

export type Feature = CommonParameter | BlockType;
export type CapabilityCells = Readonly<Record<Feature, Capability>>;

export interface CapabilityException {
  /** Matched against the provider's own model name. */
  readonly models: RegExp;
  readonly cells: Readonly<Partial<Record<Feature, Capability>>>;
}

export interface CapabilityTable {
  readonly cells: CapabilityCells;
  /** Tried in order; the first exception that matches the model and names the feature decides. */
  readonly exceptions: readonly CapabilityException[];
  /** Where the cells come from. `unverified`: taken from the shape that the provider says it has. */
  readonly verified: { readonly source: string; readonly date: string } | "unverified";
}

export function capabilityOf(table: CapabilityTable, feature: Feature, model: string): Capability {
  for (const exception of table.exceptions) {
    const cell = exception.cells[feature];
    if (cell !== undefined && exception.models.test(model)) return cell;
  }
  return table.cells[feature];
}

/** The two names of the output bound are one parameter: a provider that has either has both (decisions 5.5). */
export const SYNONYMS: Readonly<Partial<Record<Feature, Feature>>> = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
};

/** What a request is held to. `model` null: what holds for models without an exception. */
export function effectiveCapability(table: CapabilityTable, feature: Feature, model: string | null): Capability {
  const cell = (name: Feature): Capability => (model === null ? table.cells[name] : capabilityOf(table, name, model));
  const own = cell(feature);
  const other = SYNONYMS[feature];
  return own.support === "unsupported" && other !== undefined ? cell(other) : own;
}

export interface CapabilityRow extends Capability {
  readonly name: Feature;
}

/** The whole table for one model: what the HTTP API, the command line and the documentation show. */
export function capabilityRows(
  table: CapabilityTable,
  model: string | null,
): { readonly parameters: readonly CapabilityRow[]; readonly contentBlocks: readonly CapabilityRow[] } {
  const row = (name: Feature): CapabilityRow => ({ name, ...effectiveCapability(table, name, model) });
  return { parameters: COMMON_PARAMETERS.map(row), contentBlocks: BLOCK_TYPES.map(row) };
}

export const NATIVE: Capability = { support: "native" };
export const UNSUPPORTED: Capability = { support: "unsupported" };
/** A parameter of which the model takes its default alone (decisions 6.3). */
export const defaultOnly = (value: number, note = `the model takes its default ${value} only`): Capability => ({
  support: "unsupported",
  note,
  neutral: (given) => given === value,
});
export const mapped = (note: string): Capability => ({ support: "mapped", note });
export const emulated = (note: string): Capability => ({ support: "emulated", note });

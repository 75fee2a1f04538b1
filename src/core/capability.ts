// What a provider supports, as data: one cell for each common parameter and content block type, with exceptions per
// model (promise 6.2).
import { type ChatParams, BLOCK_TYPES, type BlockType } from "./chat.ts";
import type { Json, JsonObject } from "./json.ts";
import { COMMON_PARAMETERS, type CommonParameter } from "./params.ts";

/**
 * `native`: the provider supports it under OpenAI's name and in OpenAI's form. `mapped`: the provider supports it in
 * another form. `emulated`: the gateway achieves the same effect by other means. `unsupported`: the request is refused,
 * or the parameter is dropped where that is allowed; `NEVER_UNSUPPORTED` and `ADVISORY` of params.ts name those that are
 * left out in any case.
 */
export type Support = "native" | "mapped" | "emulated" | "unsupported";

export interface Capability {
  readonly support: Support;
  /** Explains in the documentation how the feature is mapped or emulated, or which values are accepted. */
  readonly note?: string;
  /**
   * The accepted values, where only some of the common ones are: strings, or the `type` of an object. Any other value
   * is refused with 400 `unsupported_value`.
   */
  readonly values?: readonly string[];
  /**
   * The accepted range, where it is narrower than the common one. A parameter that has only one accepted value is
   * `unsupported`, with that value as `neutral`.
   */
  readonly range?: readonly [min: number, max: number];
  /**
   * Recognizes the model's own default of an unsupported parameter. Sending it means the same as not sending the
   * parameter, so that it is passed on as it came. The common neutral values are accepted as well.
   */
  readonly neutral?: (value: Json, request: { readonly params: ChatParams; readonly extra: JsonObject }) => boolean;
}

export type Feature = CommonParameter | BlockType;
export type CapabilityCells = Readonly<Record<Feature, Capability>>;

export interface CapabilityException {
  /** This is matched against the provider's own model name. */
  readonly models: RegExp;
  readonly cells: Readonly<Partial<Record<Feature, Capability>>>;
}

export interface CapabilityTable {
  readonly cells: CapabilityCells;
  /** The first exception that matches the model and names the feature decides. */
  readonly exceptions: readonly CapabilityException[];
  /**
   * The source of the cells. `unverified` means that they were taken from the API shape that the provider claims to
   * have.
   */
  readonly verified: { readonly source: string; readonly date: string } | "unverified";
}

export function capabilityOf(table: CapabilityTable, feature: Feature, model: string): Capability {
  for (const exception of table.exceptions) {
    const cell = exception.cells[feature];
    if (cell !== undefined && exception.models.test(model)) return cell;
  }
  return table.cells[feature];
}

/** The two names of the output bound are one parameter: a provider that supports either supports both (promise 5.5). */
export const SYNONYMS: Readonly<Partial<Record<Feature, Feature>>> = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
};

/**
 * The capability that a request is checked against. When `model` is null, it is that of models without an exception.
 */
export function effectiveCapability(table: CapabilityTable, feature: Feature, model: string | null): Capability {
  const cell = (name: Feature): Capability => (model === null ? table.cells[name] : capabilityOf(table, name, model));
  const own = cell(feature);
  const other = SYNONYMS[feature];
  return own.support === "unsupported" && other !== undefined ? cell(other) : own;
}

export interface CapabilityRow extends Capability {
  readonly name: Feature;
}

/** The whole table for one model, as the HTTP API, the command line and the documentation show it. */
export function capabilityRows(
  table: CapabilityTable,
  model: string | null,
): { readonly parameters: readonly CapabilityRow[]; readonly contentBlocks: readonly CapabilityRow[] } {
  const row = (name: Feature): CapabilityRow => ({ name, ...effectiveCapability(table, name, model) });
  return { parameters: COMMON_PARAMETERS.map(row), contentBlocks: BLOCK_TYPES.map(row) };
}

export const NATIVE: Capability = { support: "native" };
export const UNSUPPORTED: Capability = { support: "unsupported" };
/**
 * A parameter of which the model accepts only its default (promise 6.3), also as clients write it that keep numbers in
 * single precision: 0.949999988079071 for 0.95.
 */
export const defaultOnly = (value: number, note = `only the default, ${value}`): Capability => ({
  support: "unsupported",
  note,
  neutral: (given) => typeof given === "number" && Math.fround(given) === Math.fround(value),
});
export const native = (note: string, values?: readonly string[]): Capability => cellOf("native", note, values);
export const unsupported = (note: string): Capability => ({ ...UNSUPPORTED, note });
export const mapped = (note: string, values?: readonly string[]): Capability => cellOf("mapped", note, values);
export const emulated = (note: string, values?: readonly string[]): Capability => cellOf("emulated", note, values);
function cellOf(support: Support, note: string, values: readonly string[] | undefined): Capability {
  return values === undefined ? { support, note } : { support, note, values };
}
/** One cell for each of the features. */
export function same<F extends Feature>(
  capability: Capability,
  ...features: readonly F[]
): Readonly<Record<F, Capability>> {
  return Object.fromEntries(features.map((feature) => [feature, capability])) as Record<F, Capability>;
}
/**
 * `parallel_tool_calls: false` where the vendor has tools and no switch for it: the gateway itself leaves the further
 * calls out, and the provider is not sent the parameter.
 */
export const FIRST_CALL_ALONE: Capability = emulated("the first call of an answer is passed on, and no further one");

// One model's capability table in the form in which `GET /params`, `dragoman params` and docs/providers.md show it.
import { type Capability, type CapabilityRow, capabilityRows } from "../../core/capability.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Provider } from "./provider.ts";

export interface CapabilityListing extends JsonObject {
  readonly object: "capabilities";
  /** `<provider>:<model_name>`, or the provider's id when the listing describes the provider as a whole. */
  readonly model: string;
  readonly provider: { readonly id: string; readonly label: string; readonly docs: string };
  /**
   * The vendor's page against which the table was checked. `null` when the table only states what the wire form
   * promises.
   */
  readonly verified: { readonly source: string; readonly date: string } | null;
  readonly parameters: readonly ListedCapability[];
  readonly content_blocks: readonly ListedCapability[];
}

export interface ListedCapability extends JsonObject {
  readonly name: string;
  readonly support: Capability["support"];
  readonly note: string | null;
  /** The only values that are accepted. `null` when all of the common values are. */
  readonly values: readonly string[] | null;
  /** The only range that is accepted. `null` when it is the common range. */
  readonly range: readonly [number, number] | null;
}

/**
 * `id` is the provider's id in the configuration. With a `model` of `null`, the listing describes the models that have
 * no exception.
 */
export function listCapabilities(
  id: string,
  { label, docs, capabilities }: Provider,
  model: string | null,
): CapabilityListing {
  const { parameters, contentBlocks } = capabilityRows(capabilities, model);
  return {
    object: "capabilities",
    model: model === null ? id : `${id}:${model}`,
    provider: { id, label, docs },
    verified: capabilities.verified === "unverified" ? null : capabilities.verified,
    parameters: parameters.map(listed),
    content_blocks: contentBlocks.map(listed),
  };
}

function listed({ name, support, note, values, range }: CapabilityRow): ListedCapability {
  return { name, support, note: note ?? null, values: values ?? null, range: range ?? null };
}

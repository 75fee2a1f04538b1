// The list of the calls that a provider served while its attempts were counted.
import type { ProviderHealth, ProviderHealths } from "../../api/types.ts";
import { summedPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";

/** From the beginning of the last hour until the figures were read. */
export type CountedTime = Pick<ProviderHealths, "from" | "as_of">;

export function providerCalls({ id }: ProviderHealth, { from, as_of: to }: CountedTime): string {
  return summedPath([termText("provider", id)], { from, to });
}

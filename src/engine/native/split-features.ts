// The header in which a client lists features, split for each target: a feature that only its vendor's own platform has is
// left out elsewhere, unless the body uses it. Header and body go together, or neither does (promise 12.3).
import type { FeatureHeader } from "../../providers/native-operation.ts";
import type { NativeFacts } from "./native-facts.ts";

export interface SplitFeatures {
  /** The header as it goes out; empty where nothing is left of it. */
  readonly header: string;
  /** The features that were left out, as `x-gateway-dropped-params` names them. */
  readonly left: readonly string[];
}

/** Returns null where the header goes out as it came. */
export function splitFeatures(
  value: string | null,
  { name, foreign }: FeatureHeader,
  { uses }: Pick<NativeFacts, "uses">,
): SplitFeatures | null {
  if (value === null) return null;
  const listed = value.split(",").map((feature) => feature.trim());
  const left = listed.filter((feature) => {
    const found = foreign.find((one) => one.feature.test(feature));
    return found !== undefined && !found.inBody.some(uses);
  });
  if (left.length === 0) return null;
  return {
    header: listed.filter((feature) => !left.includes(feature)).join(","),
    left: left.map((feature) => `${name}.${feature.slice(0, 64)}`),
  };
}

// Tools that run at a vendor: which of them may run, and what a use of one costs (promise 12.3). A row prices those whose
// price its vendor publishes by use; an operator allows others, and may price them.

/** A tool that a row prices. */
export interface PricedTool {
  /** The name under which uses are counted. */
  readonly kind: string;
  /** The types of tools in requests. A later version may have another price and is not among them. */
  readonly types: readonly string[];
  readonly nanoUsd: number;
  /** The vendor's page with the price. */
  readonly source: string;
}

/** What the entry of a provider says. */
export interface HostedToolSettings {
  /** Types that may run; one that ends in `*` allows every type that begins so. Absent where the row decides. */
  readonly hostedTools?: readonly string[];
  /** Nano-dollars for each use, by types as they stand in `hostedTools`. */
  readonly hostedToolPrices?: Readonly<Record<string, number>>;
  /** The address is not the row's own, so that its prices do not hold. */
  readonly isElsewhere?: boolean;
}

/** Whether a tool of this type may run at the vendor. */
export function mayRunHosted(
  type: string,
  { hostedTools, isElsewhere = false }: HostedToolSettings,
  priced: readonly PricedTool[],
): boolean {
  if (hostedTools !== undefined) return hostedTools.some((allowed) => covers(allowed, type));
  return !isElsewhere && priced.some(({ types }) => types.includes(type));
}

/** Returns what one use costs in nano-dollars; `null` where nobody says. */
export function hostedToolPrice(
  kind: string,
  { hostedToolPrices = {}, isElsewhere = false }: HostedToolSettings,
  priced: readonly PricedTool[],
): number | null {
  const set = Object.keys(hostedToolPrices).find((allowed) => kindOf(allowed) === kind || covers(allowed, kind));
  if (set !== undefined) return hostedToolPrices[set]!;
  return (isElsewhere ? undefined : priced.find((one) => one.kind === kind)?.nanoUsd) ?? null;
}

function covers(allowed: string, type: string): boolean {
  return allowed.endsWith("*") ? type.startsWith(allowed.slice(0, -1)) : allowed === type;
}

/** A type without its version: `web_search` of `web_search_20250305` and of `web_search_*`. */
function kindOf(type: string): string {
  return type.replace(/_(?:\d{4}[\d_]*|\*)$/, "");
}

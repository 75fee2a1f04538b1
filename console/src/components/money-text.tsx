// An amount, short; all of its digits are in its title. Without a price it says so, and never zero.
import { exactUsd, nanoUsd, shortUsd } from "../format/money.ts";

export function MoneyText({ usd, missing = "no price" }: { readonly usd: string | null; readonly missing?: string }) {
  const nano = nanoUsd(usd);
  return nano === null ? <span className="hint">{missing}</span> : <span title={exactUsd(nano)}>{shortUsd(nano)}</span>;
}

// The sum over all calls that a query covers, as a report has it beside its groups.
import type { CallStore, UsageQuery, UsageSums } from "../../src/store/calls/calls.ts";

export async function usageTotals(
  calls: Pick<CallStore, "usage">,
  query: Omit<UsageQuery, "by" | "order"> = {},
): Promise<UsageSums> {
  const { totals } = await calls.usage({ limit: 1 }, { ...query, by: [], order: "group" });
  return totals!;
}

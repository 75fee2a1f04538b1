// Prometheus metrics of targets: the state of each, read when metrics are scraped.
import type { Registry } from "prom-client";
import { MOST } from "./labels.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

export interface TargetStatus {
  /** `<provider>:<model>`. */
  readonly target: string;
  /** The tenant, or `tenant/project`, to which the provider belongs; `null` when it is available to all tenants. */
  readonly owner: string | null;
  readonly state: "closed" | "open" | "half_open" | "rate_limited";
  readonly inFlight: number;
  /** Calls in the queue of the target. */
  readonly waiting: number;
  /** Recent time to the first content; `null` when it is not known. */
  readonly firstContentMs: number | null;
  /** How long the target is still avoided; `null` when it is not avoided. */
  readonly openForMs: number | null;
}

const MOST_TARGETS = MOST.configuredModel + MOST.cataloguedModel;
const STATES = ["closed", "half_open", "open", "rate_limited"] as const;

/**
 * Shows only targets that all tenants may have, that have answered or are avoided, and whose names are configured or in
 * the catalogue, so that callers cannot create series.
 */
export function targetGauges(
  registry: Registry,
  targets: () => readonly TargetStatus[],
  isNamed: (target: string) => boolean,
): void {
  const shown = (): readonly TargetStatus[] =>
    targets()
      .filter(
        ({ owner, firstContentMs, state, target }) =>
          owner === null && (firstContentMs !== null || state !== "closed") && isNamed(target),
      )
      .slice(0, MOST_TARGETS);
  const { gauge } = scrapedMetrics(registry, shown);
  gauge(
    "dragoman_target_state",
    "1 for the current state of a target, 0 for the other states.",
    (all) =>
      all.flatMap(({ target, state }) =>
        STATES.map((each) => [{ target, state: each }, each === state ? 1 : 0] as const),
      ),
    ["target", "state"],
    "first",
  );
  gauge(
    "dragoman_target_calls_in_flight",
    "Attempts at a target that have begun and not ended.",
    (all) => all.map(({ target, inFlight }) => [{ target }, inFlight]),
    ["target"],
    "first",
  );
  gauge(
    "dragoman_target_calls_waiting",
    "Calls in the queue of a target.",
    (all) => all.map(({ target, waiting }) => [{ target }, waiting]),
    ["target"],
    "first",
  );
}

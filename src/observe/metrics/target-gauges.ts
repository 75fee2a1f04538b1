// Prometheus metrics of targets: the state of each, read when metrics are scraped.
import { Gauge, type Registry } from "prom-client";
import { MOST } from "./labels.ts";

export interface TargetStatus {
  /** `<provider>:<model>`. */
  readonly target: string;
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
 * Shows only targets that have answered or are avoided, and whose names are configured or in the catalogue, so that
 * callers cannot create series.
 */
export function targetGauges(
  registry: Registry,
  targets: () => readonly TargetStatus[],
  isNamed: (target: string) => boolean,
): void {
  const registers = [registry];
  const shown = (): readonly TargetStatus[] =>
    targets()
      .filter(({ firstContentMs, state, target }) => (firstContentMs !== null || state !== "closed") && isNamed(target))
      .slice(0, MOST_TARGETS);
  const labelNames = ["target"] as const;
  new Gauge({
    name: "dragoman_target_state",
    help: "1 for the current state of a target, 0 for the other states.",
    labelNames: ["target", "state"],
    registers,
    collect() {
      this.reset();
      for (const { target, state } of shown())
        for (const each of STATES) this.set({ target, state: each }, each === state ? 1 : 0);
    },
  });
  new Gauge({
    name: "dragoman_target_calls_in_flight",
    help: "Attempts at a target that have begun and not ended.",
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { target, inFlight } of shown()) this.set({ target }, inFlight);
    },
  });
  new Gauge({
    name: "dragoman_target_calls_waiting",
    help: "Calls in the queue of a target.",
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { target, waiting } of shown()) this.set({ target }, waiting);
    },
  });
}

// Prometheus metrics of the copies that mirrors get of calls. No other metric of calls counts a copy.
import { Counter, type Registry } from "prom-client";
import type { CallRecord } from "../../core/record/record.ts";
import { bounded, MOST } from "./labels.ts";

/** Counts a copy, or a call that was not copied although its mirror asks for it. */
export function openCopyMeters(registry: Registry): (record: CallRecord) => void {
  const registers = [registry];
  const copies = new Counter({
    name: "dragoman_copies_total",
    help: "Calls that a mirror asks for, by route: copies that were answered (`ok`) or `failed`, and calls that were not copied (`dropped`).",
    labelNames: ["route", "outcome"],
    registers,
  });
  const cost = new Counter({
    name: "dragoman_copies_cost_nano_usd_total",
    help: "Cost of copies in billionths of a dollar, as far as prices are known.",
    labelNames: ["route"],
    registers,
  });
  const routeLabel = bounded(MOST.route);
  return ({ mirror, mirrorOf, route: name, status, cost: spent }) => {
    if (mirror?.dropped != null) copies.inc({ route: routeLabel(name ?? "none"), outcome: "dropped" });
    if (mirrorOf === null) return;
    const route = routeLabel(name ?? "none");
    copies.inc({ route, outcome: status < 400 ? "ok" : "failed" });
    if (spent !== null && spent.nanoUsd > 0) cost.inc({ route }, spent.nanoUsd);
  };
}

// What the supervisor has for all workers, besides their limits and their ledger.
import { KeptObjects } from "../../engine/keeping/kept-objects.ts";
import type { Clock } from "../../core/clock.ts";
import type { DeliveringIntegrations } from "../../observe/integrations/integrations.ts";
import type { OpenEvents } from "../../observe/webhooks/open-events.ts";
import type { BreakerChange } from "../../routing/health/health.ts";
import type { ContentWriter } from "../../store/calls/content-store.ts";
import { openMachineFigures, type OwnFigures } from "./machine-figures.ts";
import type { WorkerChannel } from "./messages.ts";
import { serveContents } from "./shared-contents.ts";
import { openSharedCredentials } from "./shared-credentials.ts";
import { serveEvents } from "./shared-events.ts";
import { serveIntegrations } from "./shared-integrations.ts";
import { serveKept } from "./shared-kept.ts";
import { openSharedTargets } from "./shared-targets.ts";

export interface SharedPartsOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly events: OpenEvents;
  readonly integrations: DeliveringIntegrations | null;
  readonly contents: ContentWriter;
  /** Of the supervisor. */
  readonly own: OwnFigures;
  readonly onBreaker: (change: BreakerChange) => void;
  /** The channels of all workers that run. */
  readonly everyWorker: () => readonly WorkerChannel[];
  /** The supervisor takes over what has changed in the database. */
  readonly follow: () => Promise<void>;
  readonly onFault: (fault: unknown) => void;
}

export function openSharedParts(options: SharedPartsOptions) {
  const { clock, events, integrations, contents, own, onBreaker, everyWorker, follow, onFault } = options;
  const targets = openSharedTargets(clock, onBreaker);
  const credentials = openSharedCredentials(clock);
  const kept = new KeptObjects<Uint8Array>(clock);
  const figures = openMachineFigures(own, onFault);
  return {
    /** A worker has connected. What it holds is given back when its channel closes. */
    join(channel: WorkerChannel): void {
      serveEvents(channel, events);
      serveIntegrations(channel, integrations);
      serveContents(channel, contents, everyWorker);
      serveKept(channel, kept);
      figures.join(channel);
      targets.join(channel);
      credentials.join(channel);
      channel.handle("takes_news", () => {
        targets.begin(channel);
        credentials.begin(channel);
      });
      channel.handle("follow_all", async () => {
        const others = everyWorker().filter((other) => other !== channel);
        await Promise.all([follow(), ...others.map((other) => other.request("follow", null).catch(onFault))]);
      });
    },
    close(): void {
      figures.close();
      targets.close();
      kept.close();
    },
  };
}

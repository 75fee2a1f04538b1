// Credentials that a provider has refused: what one worker finds, all others avoid as well, also those that start later.
import type { Clock } from "../../core/clock.ts";
import type { RefusalNews } from "../../credentials/rotation.ts";
import type { WorkerChannel } from "./messages.ts";

/** Credentials that were once in a configuration; beyond this the oldest are forgotten. */
const MAX_REFUSALS = 10_000;

/** In the supervisor. */
export function openSharedCredentials({ monotonic }: Pick<Clock, "monotonic">) {
  const workers = new Set<WorkerChannel>();
  const refusals = new Map<string, { readonly news: RefusalNews; readonly untilMs: number }>();
  return {
    join(channel: WorkerChannel): void {
      channel.handle("credential_refused", (news) => {
        const key = news.model === null ? news.key : `${news.key} ${news.model}`;
        refusals.delete(key);
        if (refusals.size >= MAX_REFUSALS) refusals.delete(refusals.keys().next().value!);
        refusals.set(key, { news, untilMs: monotonic() + news.forMs });
        for (const worker of workers) if (worker !== channel) worker.notify("credential_refused", news);
      });
      channel.whenClosed(() => workers.delete(channel));
    },
    /** The worker takes news from now on. */
    begin(channel: WorkerChannel): void {
      workers.add(channel);
      for (const { news, untilMs } of refusals.values()) {
        const forMs = untilMs - monotonic();
        if (forMs > 0) channel.notify("credential_refused", { ...news, forMs });
      }
    },
  };
}

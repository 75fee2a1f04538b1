// Emits the heads of the chains of the audit log once an hour, so that whoever receives them can find a log that was written
// anew or set back (docs/audit.md). A head is emitted once, across all gateways, because its id is derived from it.
import type { Events, WebhookSet } from "../../core/record/event.ts";
import { tenantOfChain } from "../../store/audit/audit-chain.ts";
import type { ChainReader } from "../../store/reader.ts";

export function auditHeads(
  events: Events,
  reader: Pick<ChainReader, "auditChains" | "auditHead">,
  webhooks: () => WebhookSet,
) {
  /** By chain. */
  const emitted = new Map<string, string>();
  return {
    async report(): Promise<void> {
      if (webhooks().size === 0) return;
      for (const chain of await reader.auditChains()) {
        const place = { type: "audit.head", tenantId: tenantOfChain(chain), projectId: null } as const;
        // A head that no webhook receives now is emitted as soon as there is a webhook that does.
        if (webhooks().recipients(place).length === 0) continue;
        const head = await reader.auditHead(chain);
        if (head === null) continue;
        const onceKey = `audit.head ${chain} ${head.sequence} ${head.hash}`;
        if (onceKey === emitted.get(chain)) continue;
        events.emit({ ...place, data: { sequence: head.sequence, hash: head.hash }, onceKey });
        emitted.set(chain, onceKey);
      }
    },
  };
}

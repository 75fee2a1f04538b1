// Stores the content that tenants keep: a bounded queue in memory, written to the database in batches beside the calls.
// Content never goes through the journal. What waits in the queue is lost with the process, and what does not fit is
// counted and dropped, because no call waits for it (promises 11.3, 11.4).
import { changeCount } from "../core/concurrency/open-count.ts";
import type { CallContent } from "../core/configured/content.ts";
import type { CallRecord } from "../core/record/record.ts";
import { messageOf } from "../core/thrown.ts";
import type { ContentStore, ContentText } from "../store/calls/content-store.ts";
import type { ConfigurationScope } from "../store/records.ts";
import { StoreError } from "../store/store-error.ts";
import type { Observer } from "./observer.ts";
import { openRepeatedWork } from "./repeated-work.ts";

/** Of one tenant, so that none can take the room of the others. Of all tenants together, twice as many may wait. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;
const BATCH = 100;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
const EVERY_MS = 250;
const MAX_PAUSE_MS = 30_000;

export interface ContentFigures {
  readonly kept: number;
  /** Dropped because the queue was full or the key of the tenant cannot be decrypted, or lost at the end of the process. */
  readonly shed: number;
  /** Failed writes, which are retried. */
  readonly failures: number;
  readonly waiting: number;
}

export interface ContentLog extends Observer {
  figures(): ContentFigures;
  /** Drops the waiting content of a place; resolves when a write in progress has ended. */
  forget(place: ConfigurationScope): Promise<void>;
  /** Writes the waiting content within that time. */
  end(timeoutMs: number): Promise<void>;
}

export interface ContentLogOptions {
  readonly store: Pick<ContentStore, "keep">;
  /** `isRetried` is false where the content is dropped, which is reported once for each tenant. */
  readonly onProblem: (message: string, isRetried: boolean) => void;
  readonly maxWaitingCharacters?: number;
}

export function openContentLog({
  store,
  onProblem,
  maxWaitingCharacters = MAX_WAITING_CHARACTERS,
}: ContentLogOptions): ContentLog {
  let queue: ContentText[] = [];
  let waitingCharacters = 0;
  const waitingOfTenant = new Map<string, number>();
  const figures = { kept: 0, shed: 0, failures: 0 };
  /** Tenants whose key cannot be decrypted. */
  const unkept = new Set<string>();

  const countWaiting = ({ tenantId, text: { length } }: ContentText, sign: 1 | -1): void => {
    waitingCharacters += sign * length;
    changeCount(waitingOfTenant, tenantId, sign * length);
  };
  const hasRoomFor = ({ tenantId, text: { length } }: ContentText): boolean =>
    waitingCharacters + length <= 2 * maxWaitingCharacters &&
    (waitingOfTenant.get(tenantId) ?? 0) + length <= maxWaitingCharacters;
  const takeBatch = (): readonly ContentText[] => {
    let characters = 0;
    let count = 0;
    while (
      count < queue.length &&
      count < BATCH &&
      (count === 0 || characters + queue[count]!.text.length <= BATCH_CHARACTERS)
    )
      characters += queue[count++]!.text.length;
    return queue.slice(0, count);
  };
  /** Returns how many were kept. A tenant whose key cannot be decrypted holds up no other. */
  const keep = async (batch: readonly ContentText[]): Promise<number> => {
    try {
      await store.keep(batch);
      return batch.length;
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "encryption") throw error;
      const byTenant = Map.groupBy(batch, ({ tenantId }) => tenantId);
      let kept = 0;
      if (byTenant.size > 1) for (const own of byTenant.values()) kept += await keep(own);
      else tellUnkept(batch[0]!.tenantId, error);
      return kept;
    }
  };
  const tellUnkept = (tenantId: string, error: StoreError): void => {
    if (!unkept.has(tenantId)) onProblem(error.message, false);
    unkept.add(tenantId);
  };
  const write = async (): Promise<boolean> => {
    const batch = takeBatch();
    if (batch.length === 0) return false;
    let kept: number;
    try {
      kept = await keep(batch);
    } catch (error) {
      figures.failures += 1;
      throw error;
    }
    queue = queue.slice(batch.length);
    for (const one of batch) countWaiting(one, -1);
    figures.kept += kept;
    figures.shed += batch.length - kept;
    return queue.length > 0;
  };
  const writes = openRepeatedWork({
    turn: write,
    moreMs: EVERY_MS,
    awayMs: 2 * EVERY_MS,
    longestAwayMs: MAX_PAUSE_MS,
    onState: (state, error) => {
      if (state === "away") onProblem(messageOf(error), true);
    },
  });

  return {
    figures: () => ({ ...figures, waiting: queue.length }),
    publish(record, content) {
      if (content?.keptUntilMs == null || record.tenantId === null || record.projectId === null) return;
      const entry = contentText(record, record.tenantId, record.projectId, content, content.keptUntilMs);
      if (!hasRoomFor(entry)) {
        figures.shed += 1;
        return;
      }
      queue.push(entry);
      countWaiting(entry, 1);
      writes.wakeIn(EVERY_MS);
    },
    async forget({ tenantId, projectId }) {
      await writes.settled();
      const isGone = (one: ContentText): boolean =>
        one.tenantId === tenantId && (projectId === null || one.projectId === projectId);
      for (const one of queue.filter(isGone)) countWaiting(one, -1);
      queue = queue.filter((one) => !isGone(one));
    },
    async end(timeoutMs) {
      await writes.finish(timeoutMs);
      figures.shed += queue.length;
      queue = [];
    },
  };
}

function contentText(
  { traceId }: CallRecord,
  tenantId: string,
  projectId: string,
  { messages, tools, rounds, answers, leftOut }: CallContent,
  expiresMs: number,
): ContentText {
  const entry = {
    messages,
    ...(tools.length > 0 && { tools }),
    ...(rounds !== undefined && rounds.length > 0 && { rounds }),
    answers: answers.map(({ index, content, reasoning, refusal, toolCalls, finishReason }) => ({
      index,
      content,
      ...(reasoning !== null && { reasoning_content: reasoning }),
      ...(refusal !== null && { refusal }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      finish_reason: finishReason,
    })),
    ...(leftOut != null && {
      left_out: { messages: leftOut.messages, tools: leftOut.tools, answer_cut: leftOut.isAnswerCut },
    }),
  };
  return { traceId, tenantId, projectId, expiresMs, text: JSON.stringify(entry) };
}

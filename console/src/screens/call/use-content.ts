// Reads what was said in a call.
import { useState } from "react";
import { useApi } from "../../api/use-api.tsx";
import type { CallDetail } from "../../api/types.ts";
import { adminPath } from "../../scope/scope.ts";
import type { JsonObject } from "../play/play-request.ts";

/** What was said in a call, as the admin API shows it to who may read it. */
export interface CallContent {
  readonly messages?: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  /** Turns of earlier rounds, whose tools the gateway ran. */
  readonly rounds?: readonly JsonObject[];
  readonly answers?: readonly JsonObject[];
  readonly left_out?: { readonly messages: number; readonly tools: number; readonly answer_cut: boolean };
}

export type OpenedContent = ReturnType<typeof useContent>;

/** Content is in the state of the page only: it is neither in the cache of answers nor kept when the page is left. */
export function useContent(call: Pick<CallDetail, "trace_id" | "tenant_id" | "project_id"> | undefined) {
  const api = useApi();
  const [content, setContent] = useState<CallContent | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isReading, setIsReading] = useState(false);
  /** Each reading is written to the audit log. */
  const read = async (): Promise<void> => {
    if (call === undefined) return;
    setIsReading(true);
    setError(null);
    try {
      // an operator reads it through the tenant that it belongs to
      const place = { tenant: call.tenant_id, project: call.project_id };
      const path = adminPath(place, `/logs/${call.trace_id}/content`);
      setContent((await api.send<{ readonly content: CallContent }>("GET", path)).content);
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setIsReading(false);
    }
  };
  return { content, error, isReading, read: () => void read() };
}

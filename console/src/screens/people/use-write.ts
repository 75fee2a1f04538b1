// A change by a button: busy while it is sent, its failure kept for the page, and everything read again when it is done.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Api } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";

interface Write {
  readonly isBusy: boolean;
  readonly failure: Error | null;
  /** Whether it was done. */
  readonly run: (change: (api: Api) => Promise<unknown>) => Promise<boolean>;
}

export function useWrite(): Write {
  const api = useApi();
  const queries = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  return {
    isBusy,
    failure,
    async run(change) {
      setIsBusy(true);
      setFailure(null);
      try {
        await change(api);
        await queries.invalidateQueries({ queryKey: ["read"] });
        return true;
      } catch (error) {
        setFailure(error as Error);
        return false;
      } finally {
        setIsBusy(false);
      }
    },
  };
}

// A change by the admin API: what is sent while it runs, what failed, and reading again what it has changed.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Method } from "./api.ts";
import type { ShownRequest } from "./command-of.ts";
import { useApi } from "./use-api.tsx";

const READ = ["read"] as const;

/** `changed`: what is read again afterwards; `me` is the answer of `GET /me`. */
export function useWrite(changed: readonly ("read" | "me")[] = READ) {
  const api = useApi();
  const queries = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  /** Undefined after a failure, which is then shown. */
  const send = async <T>(
    method: Method,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T | undefined> => {
    setIsBusy(true);
    setFailure(null);
    try {
      return await api.send<T>(method, path, {
        body: body ?? {},
        headers: { "idempotency-key": crypto.randomUUID(), ...headers },
      });
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    } finally {
      setIsBusy(false);
      for (const kind of changed) void queries.invalidateQueries({ queryKey: [kind] });
    }
  };
  return {
    isBusy,
    failure,
    send,
    /** The same with a request as the page shows it. */
    ask: <T>({ method = "POST", path, body }: ShownRequest, headers?: Readonly<Record<string, string>>) =>
      send<T>(method, path, body, headers),
  };
}

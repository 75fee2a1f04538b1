// Whether the gateway would take a draft: it is asked with `dry_run`, which changes nothing, on each pause in typing.
import { useEffect, useState } from "react";
import { ApiError, type FieldProblem } from "../api/api.ts";
import { useApi } from "../api/use-api.tsx";
import type { TextProblem } from "../components/text-problem.ts";
import type { Fields } from "./merge-patch.ts";
import { lineOf, readYaml, type YamlText } from "./yaml-text.ts";

export type CheckedWrite =
  | { readonly method: "PUT"; readonly path: string }
  | { readonly method: "POST"; readonly path: string; readonly name: string };

interface Checked {
  readonly fields: Fields | null;
  readonly problems: readonly TextProblem[];
  /** Nothing is known against it; saving asks again. */
  readonly isValid: boolean;
  /** Nothing but tests of the object stands against it: what does not hold. */
  readonly failedTests: readonly string[];
}

const OF_TESTS = /^tests\[\d+\]$/;

const PAUSE_MS = 400;

/** Whether an answer is about the draft, and not about the session, the pace of requests or the gateway. */
function isRefusal({ status }: ApiError): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 401 && status !== 429;
}

/** `write` is null while there is nothing to check. */
export function useCheck(yaml: YamlText, write: CheckedWrite | null): Checked {
  const api = useApi();
  const read = readYaml(yaml);
  const [refused, setRefused] = useState<{ readonly of: YamlText; readonly problems: readonly FieldProblem[] } | null>(
    null,
  );
  const method = write?.method ?? "PUT";
  const path = write?.path ?? null;
  const name = write?.method === "POST" ? write.name : undefined;
  useEffect(() => {
    const { fields } = readYaml(yaml);
    if (path === null || fields === null) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api
        .send(method, `${path}?dry_run=true`, {
          body: { ...(name !== undefined && { name }), ...fields },
          signal: stop.signal,
        })
        .then(
          () => setRefused(null),
          (error: unknown) => {
            if (stop.signal.aborted || !(error instanceof ApiError) || !isRefusal(error)) return;
            const { problems, param, message } = error;
            setRefused({
              of: yaml,
              problems: problems.length > 0 ? problems : [{ param: param ?? "", message }],
            });
          },
        );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [api, yaml, method, path, name]);
  if (read.fields === null) return { fields: null, problems: read.problems, isValid: false, failedTests: [] };
  const isCurrent = refused !== null && refused.of === yaml && path !== null;
  const found = isCurrent ? refused.problems : [];
  return {
    fields: read.fields,
    problems: found.map(({ param, message }) => ({
      line: lineOf(yaml, param),
      message: param === "" ? message : `${param}: ${message}`,
    })),
    isValid: !isCurrent,
    failedTests: found.every(({ param }) => OF_TESTS.test(param)) ? found.map(({ message }) => message) : [],
  };
}

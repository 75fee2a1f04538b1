// Deletes a configured object, after a look at what would be deleted.
import { AsCode } from "../components/as-code.tsx";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../api/use-api.tsx";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { pathIn } from "../scope/scope.ts";
import type { ConfiguredObject, Noun } from "./noun.ts";

interface DeleteObjectProps {
  readonly noun: Noun;
  readonly object: ConfiguredObject;
  readonly path: string;
}

export function DeleteObject({ noun, object, path }: DeleteObjectProps) {
  const api = useApi();
  const scope = useScope();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [isAsking, setIsAsking] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const remove = async (): Promise<void> => {
    setFailure(null);
    try {
      await api.send("DELETE", path, object.etag === null ? {} : { headers: { "if-match": object.etag } });
      navigate(pathIn(scope, noun.screen));
      await queries.invalidateQueries({ queryKey: ["read"] });
    } catch (error) {
      setFailure(error as Error);
    }
  };
  return (
    <>
      <button type="button" className="danger" onClick={() => setIsAsking(true)}>
        Delete
      </button>
      {isAsking && (
        <Modal
          title={`Delete the ${noun.one === object.name ? noun.one : `${noun.one} ${object.name}`}?`}
          close={() => setIsAsking(false)}
        >
          <p>
            It takes effect at once. Its definition stays in the history, from where the configuration can be restored.
          </p>
          {failure !== null && <Problem what="Nothing was deleted." error={failure} />}
          <p className="actions">
            <button type="button" className="danger" onClick={() => void remove()}>
              Delete {object.name}
            </button>
            <button type="button" className="quiet" onClick={() => setIsAsking(false)}>
              Cancel
            </button>
            <AsCode method="DELETE" path={path} />
          </p>
        </Modal>
      )}
    </>
  );
}

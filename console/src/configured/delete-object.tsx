// Deletes a configured object, after a look at what would be deleted.
import { AsCode } from "../components/as-code.tsx";
import { useState } from "react";
import { useLocation } from "wouter";
import { useWrite } from "../api/use-write.ts";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { pathIn } from "../scope/scope.ts";
import type { ObjectProps } from "./noun.ts";

export function DeleteObject({ noun, object, path }: ObjectProps) {
  const scope = useScope();
  const { ask, isBusy, failure } = useWrite();
  const [, navigate] = useLocation();
  const [isAsking, setIsAsking] = useState(false);
  const request = { method: "DELETE", path } as const;
  const remove = async (): Promise<void> => {
    const removed = await ask(request, object.etag === null ? {} : { "if-match": object.etag });
    if (removed !== undefined) navigate(pathIn(scope, noun.screen));
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
            <button type="button" className="danger" disabled={isBusy} onClick={() => void remove()}>
              Delete {object.name}
            </button>
            <button type="button" className="quiet" onClick={() => setIsAsking(false)}>
              Cancel
            </button>
            <AsCode {...request} />
          </p>
        </Modal>
      )}
    </>
  );
}

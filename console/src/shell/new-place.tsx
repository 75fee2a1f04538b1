// Makes a tenant, or a project of a tenant, and leads there.
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { useLocation } from "wouter";
import type { ShownRequest } from "../api/command-of.ts";
import { useWrite } from "../api/use-write.ts";
import { AsCode } from "../components/as-code.tsx";
import { TextInput } from "../components/controls/labelled.tsx";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { pathIn } from "../scope/scope.ts";
import { proposedId } from "./place-id.ts";

interface NewPlaceProps {
  /** The tenant of a new project; null makes a tenant. */
  readonly tenant: string | null;
  readonly close: () => void;
}

export function NewPlace({ tenant, close }: NewPlaceProps) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const { ask, isBusy, failure } = useWrite();
  const [name, setName] = useState("");
  const [chosenId, setChosenId] = useState<string | null>(null);
  const id = chosenId ?? proposedId(name);
  const word = tenant === null ? "tenant" : "project";
  const request: ShownRequest = {
    method: "POST",
    path: `/v1/admin/${word}s`,
    body: { id, name: name.trim(), ...(tenant !== null && { tenant_id: tenant }) },
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if ((await ask(request)) === undefined) return;
    // the answer about the signed-in user lists the tenants and projects
    await queries.refetchQueries({ queryKey: ["me"] });
    close();
    navigate(pathIn(tenant === null ? { tenant: id, project: null } : { tenant, project: id }, "/"));
  };
  return (
    <Modal title={tenant === null ? "New tenant" : `New project of ${tenant}`} close={close}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextInput label="Name" required maxLength={100} value={name} change={setName} />
        <TextInput
          label="Id"
          hint="Stands in addresses, configuration and records, and cannot be changed later: letters, digits, dots, underscores and dashes."
          required
          maxLength={64}
          pattern="[A-Za-z0-9][A-Za-z0-9_.\-]*"
          spellCheck={false}
          value={id}
          change={setChosenId}
        />
        {failure !== null && <Problem what={`The ${word} was not made.`} error={failure} />}
        <p className="actions">
          <button type="submit" className="primary" disabled={isBusy || name.trim() === "" || id === ""}>
            {isBusy ? "Making…" : `Make the ${word}`}
          </button>
          <button type="button" className="quiet" onClick={close}>
            Cancel
          </button>
          <AsCode {...request} />
        </p>
      </form>
    </Modal>
  );
}

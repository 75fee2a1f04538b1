// Search and commands in one field: screens, tenants and projects, the commands of the page, and whatever id was pasted.
import { type KeyboardEvent, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Modal } from "../components/modal.tsx";
import { KeyCaps } from "../keyboard/key-caps.tsx";
import { useBindings } from "../keyboard/keys.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { pathIn } from "../scope/scope.ts";
import { useMe } from "../session/session.tsx";
import { pastedPlaces } from "./pasted.ts";

interface Choice {
  readonly label: string;
  readonly note?: string;
  readonly keys?: string;
  readonly run: () => void;
}

const SHOWN = 12;

interface PaletteProps {
  /** What the field begins with. */
  readonly pasted: string;
  readonly close: () => void;
}

export function Palette({ pasted, close }: PaletteProps) {
  const [text, setText] = useState(pasted);
  const [chosen, setChosen] = useState(0);
  const choices = useChoices(text);
  const list = useId();
  const at = Math.min(chosen, choices.length - 1);
  const run = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    choice.run();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setChosen((at + (event.key === "ArrowDown" ? 1 : -1) + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(choices[at]);
    }
  };
  return (
    <Modal title="Search" hidesTitle close={close} className="palette">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length === 0 ? undefined : `${list}-${at}`}
        aria-label="Search, or paste an id"
        placeholder="Search, or paste an id, an error or a curl command"
        autoComplete="off"
        spellCheck={false}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- a dialog that consists of one field begins there
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <ul id={list} role="listbox" aria-label="Found">
        {choices.map((choice, index) => (
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field above takes the keys
          <li
            key={`${index} ${choice.label}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(choice)}
            onMouseMove={() => setChosen(index)}
          >
            <span>{choice.label}</span>
            {choice.note !== undefined && <small>{choice.note}</small>}
            {choice.keys !== undefined && <KeyCaps keys={choice.keys} />}
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p className="hint">Nothing has this name. Ids of calls have 32 hex digits.</p>}
    </Modal>
  );
}

function useChoices(text: string): readonly Choice[] {
  const me = useMe();
  const scope = useScope();
  const bindings = useBindings();
  const [, navigate] = useLocation();
  return useMemo(() => {
    const pasted = pastedPlaces(text).map(({ label, path }) => ({ label, run: () => navigate(pathIn(scope, path)) }));
    const commands = bindings()
      .filter(({ keys }) => keys !== "mod+k")
      .map(({ label, keys, run }) => ({ label, keys, run }));
    const places = me.places.map(({ tenant_id: tenant, project_id: project, name }) => ({
      label: `Go to ${project === null ? "tenant" : "project"} ${name}`,
      note: project === null ? tenant : `${tenant}/${project}`,
      run: () => navigate(pathIn({ tenant, project }, "/")),
    }));
    const words = text.toLowerCase().split(/\s+/);
    const found = [...commands, ...places].filter((choice) => {
      const searched = `${choice.label} ${"note" in choice ? choice.note : ""}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    });
    return [...pasted, ...found].slice(0, SHOWN);
  }, [text, me, scope, bindings, navigate]);
}

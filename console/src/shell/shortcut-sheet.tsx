// All commands by keyboard that hold on this page.
import { Modal } from "../components/modal.tsx";
import { KeyCaps } from "../keyboard/key-caps.tsx";
import { useBindings } from "../keyboard/keys.tsx";
import { usePreferences } from "../preferences-context.tsx";
import { Fact } from "../components/facts.tsx";

export function ShortcutSheet({ close }: { readonly close: () => void }) {
  const bindings = useBindings();
  const { preferences } = usePreferences();
  return (
    <Modal title="Shortcuts on this page" close={close}>
      {!preferences.letters && (
        <p>Single letters are switched off in the account menu, so that only keys with Control or Command hold.</p>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
      <dl className="shortcuts" tabIndex={0}>
        {bindings().map(({ keys, label }) => (
          <Fact key={keys} name={<KeyCaps keys={keys} />}>
            {label}
          </Fact>
        ))}
      </dl>
      <p className="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </Modal>
  );
}

// The keys of a command, as they are printed on a keyboard.
import { shownKeys } from "./keys.tsx";

export function KeyCaps({ keys }: { readonly keys: string }) {
  return (
    <span className="keys">
      {shownKeys(keys).map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  );
}

// What is shown when the console itself has failed: a fault of ours, or a file that an update has removed.
import { CopyButton } from "../components/copy-button.tsx";
import { visibleText } from "../format/visible-text.ts";

export function Broken({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
  return (
    <main className="lone">
      <h1>
        <span role="alert">This page has failed</span>
      </h1>
      <p>
        The fault is in the console and not in your data. After an update of the gateway, loading the page again is
        enough.
      </p>
      <pre className="code">{visibleText(text)}</pre>
      <p className="actions">
        <button type="button" className="primary" onClick={() => location.reload()}>
          Load the page again
        </button>
        <CopyButton label="Copy report" text={`${location.href}\n${text}`} />
      </p>
    </main>
  );
}

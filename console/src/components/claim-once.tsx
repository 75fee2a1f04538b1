// Shows a new claim link, this once. It is in the state of this component only, and the dialog stays until the reader says that it is kept.
import { useState } from "react";
import type { NewClaim } from "../api/types.ts";
import { visibleText } from "../format/visible-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { Modal } from "./modal.tsx";
import { TimeText } from "./time-text.tsx";

export function ClaimOnce({ claim, close }: { readonly claim: NewClaim; readonly close: () => void }) {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <Modal title={`The link to the token "${visibleText(claim.name)}"`}>
      <p>
        This is the only time that the link is shown. Send it to the person who needs the token. The first person who
        opens it and presses the button receives the token, and no one else can see it. The link works once, until{" "}
        <TimeText at={claim.expires_at} form="day" />.
      </p>
      <pre className="code secret">{claim.link}</pre>
      <p className="actions">
        <CopyButton label="Copy the link" text={claim.link ?? ""} copied={() => setIsCopied(true)} />
      </p>
      <p className="actions">
        <button type="button" className={isCopied ? "primary" : ""} onClick={close}>
          {isCopied ? "Done" : "I have stored it"}
        </button>
      </p>
    </Modal>
  );
}

// Shows the text of a new token, this once. It is in the state of this component only, and the dialog stays until the reader says that it is kept.
import { useState } from "react";
import { CopyButton } from "../../components/copy-button.tsx";
import { Modal } from "../../components/modal.tsx";
import { gatewayAddress } from "../../console-path.ts";

interface SecretOnceProps {
  readonly name: string;
  readonly secret: string;
  readonly close: () => void;
}

export function SecretOnce({ name, secret, close }: SecretOnceProps) {
  const [isCopied, setIsCopied] = useState(false);
  const copied = (): void => setIsCopied(true);
  const curl = `curl ${gatewayAddress()}/api/v1/models -H "Authorization: Bearer ${secret}"`;
  return (
    <Modal title={`The token ${name}`}>
      <p>This is the only time that its text is shown. Keep it where your program finds it, and in no chat.</p>
      <pre className="code secret">{secret}</pre>
      <p className="actions">
        <CopyButton label="Copy the token" text={secret} copied={copied} />
        <CopyButton label="Copy as a line for .env" text={`DRAGOMAN_TOKEN=${secret}`} copied={copied} />
        <CopyButton label="Copy a curl that tests it" text={curl} copied={copied} />
      </p>
      <p className="actions">
        <button type="button" className={isCopied ? "primary" : ""} onClick={close}>
          {isCopied ? "Done" : "I have stored it"}
        </button>
      </p>
    </Modal>
  );
}

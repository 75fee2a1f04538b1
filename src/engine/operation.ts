// The seam between the engine and the operations: what the engine asks of the operation that a call is for. An operation
// is a folder of src/operations/; the engine, from admission to ledger, knows no operation by name.
import type { ChatRequest, RequestForm } from "../core/chat.ts";
import type { AccessToken, Principal } from "../core/identity.ts";
import type { OperationName } from "../core/operation.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Call } from "./call/call.ts";
import type { CalledOperation } from "./call/called-operation.ts";
import type { ChatContext } from "./call/context.ts";
import type { Prepared } from "./plan/stages.ts";

export interface Operation extends CalledOperation {
  readonly name: OperationName;
  readonly form: RequestForm;
  /** Set with `keeping` of the form. */
  readonly keeping?: KeptAnswers;
  /** Set where no request of a call goes to a provider. */
  readonly hasNoTarget?: true;
  /** Answers a call that was admitted. A failure before the head of the response is thrown. */
  reply(ready: ReadyCall): Promise<Response>;
}

/** What is kept of earlier answers of an operation, as requests refer to it. */
export interface KeptAnswers {
  /** Whether answers are kept for this caller. */
  isFor(caller: FormCaller): boolean;
  /** Finds what a request names. Rejects with GatewayError where it cannot be looked up. */
  find(caller: FormCaller, named: unknown): Promise<unknown>;
}

/** Who has sent a request, before it is parsed. */
export interface FormCaller {
  readonly token: AccessToken;
  /** Returns the address of the client; `null` where it is unknown. */
  readonly address: () => string | null;
  readonly context: ChatContext;
  readonly snapshot: Snapshot;
}

/** A call that was admitted, and of which nothing has been sent. */
export interface ReadyCall {
  readonly call: Call;
  readonly request: ChatRequest;
  readonly principal: Principal;
  readonly headers: Headers;
  /** Plans the request, which may be that of a further round. Throws GatewayError when no target takes it. */
  readonly prepare: (request: ChatRequest, isTentative?: boolean) => Prepared;
  /** Ends a call that fails after its response has left. */
  readonly fail: (thrown: unknown) => void;
  /** Whether the answer is an explanation. */
  readonly explains: boolean;
}

// Inputs that no guard can read: lists of token ids.
import type { ChatRequest } from "../../core/chat.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Call } from "../call/call.ts";

/** Throws `invalid_request` for inputs that guards of the project cannot read. */
export function requireReadable(request: ChatRequest, { snapshot, record }: Call): void {
  const policies = snapshot.policies.of(record.tenantId ?? "", record.projectId ?? "");
  if (policies === null || policies.inputGuards.length === 0) return;
  const path = request.form.pathOf("messages", request);
  throw invalidRequest(
    path,
    `${path} must be text in this project, because its guards search what is sent and cannot read tokens.`,
  );
}

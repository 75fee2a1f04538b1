// Prepares what the client wrote for a target that speaks the operation itself (promise 12.3). It differs in what guards
// mask, in the names of the vendor's things, and in reasoning that the vendor wants back.
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { fingerprint } from "../../credentials/fingerprint.ts";
import { referenceNamesOf } from "../../providers/native-forms.ts";
import { withOwnReasoning } from "../carriers/opened-request.ts";
import { credentialName, returnsReasoning, withReturnedReasoning } from "../carriers/returned-reasoning.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { fitNative } from "../native/fit-native.ts";
import { nativeAt, type NativeTarget } from "../native/native-target.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { type AskedTarget, carrierPlaceOf, nativeCallOf, type WayResult } from "./way.ts";

const PREVIOUS = "previous_response_id";

/** Throws what `fitNative` throws. `unmasked` is the target as the request asks for it before guards have masked it. */
export function nativeRequest(asked: AskedTarget, unmasked: NativeTarget): WayResult {
  const { request, policies, carriers, objects, entry, settings, principal, http } = asked;
  const masked = policies === null ? request : policies.written(request, asked.policyTarget);
  // guards search the parameters of entries as well
  const native =
    masked === request ? unmasked : (nativeAt(masked, asked.resolved, nativeCallOf(asked)) as NativeTarget);
  const named = withVendorIds(native, objects);
  // nothing is kept of a call whose request a guard searches
  const asking = policies?.guardsRequests === true ? withoutAsking(masked) : masked;
  const place = carrierPlaceOf(asked);
  const keys = carriers.keysOf(place.tenantId);
  const fittedFor = (credentials: readonly string[]): FittedRequest => {
    const known = objects.storedReasoning(native.resolved, entry.vendorStore === true);
    const opening = { keys, place, credentials, known };
    const returned = withReturnedReasoning(asking, native.native, opening);
    const sent = fitNative(returned, named, entry, settings, principal, http);
    return withOwnReasoning(sent, native.native, opening);
  };
  return {
    resolved: native.resolved,
    ...fittedAtEach(fittedFor, native.resolved, returnsReasoning(masked)),
    references: { names: referenceNamesOf(native.native.form) },
  };
}

/** Returns the target with the vendor's own names for what the client knows by others. */
function withVendorIds(native: NativeTarget, { references, vendorIdOf }: AskedTarget["objects"]): NativeTarget {
  if (references.length === 0) return native;
  const edits = references.flatMap(({ path, id }): JsonEdit[] => {
    const vendorId = path === PREVIOUS ? vendorIdOf(id, native.resolved) : null;
    return vendorId === null ? [] : [{ path: [path], value: vendorId }];
  });
  return { ...native, edits: [...native.edits, ...edits] };
}

/** Several credentials of one provider may be those of several accounts. */
function fittedAtEach(
  fittedFor: (credentials: readonly string[]) => FittedRequest,
  { credentials }: Resolved,
  depends: boolean,
): Pick<WayResult, "fitted" | "fittedFor"> {
  const names = credentials.length === 0 ? [credentialName(null)] : credentials.map(fingerprint).map(credentialName);
  const fitted = fittedFor(names);
  return names.length > 1 && depends
    ? { fitted, fittedFor: (identity) => fittedFor([credentialName(identity)]) }
    : { fitted };
}

function withoutAsking(request: ChatRequest): ChatRequest {
  const { keepsReasoning: _asks, ...written } = request.written!;
  return { ...request, written };
}

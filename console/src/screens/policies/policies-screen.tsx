// `/policies`: the policies of the scope.
import { ConfiguredList } from "../../configured/configured-list.tsx";
import { POLICY_NOUN } from "./policy-noun.tsx";

export function PoliciesScreen() {
  return <ConfiguredList noun={POLICY_NOUN} />;
}

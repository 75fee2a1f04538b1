// `/policies/<id>`: one policy.
import { ConfiguredPage } from "../../configured/configured-page.tsx";
import { POLICY_NOUN } from "./policy-noun.tsx";

export function PolicyScreen({ id }: { readonly id: string }) {
  return <ConfiguredPage noun={POLICY_NOUN} id={id} />;
}

// `/prices/<id>`: one price.
import { ConfiguredPage } from "../../configured/configured-page.tsx";
import { PRICE_NOUN } from "./price-noun.tsx";

export function PriceScreen({ id }: { readonly id: string }) {
  return <ConfiguredPage noun={PRICE_NOUN} id={id} />;
}

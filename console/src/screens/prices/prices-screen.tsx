// `/prices`: the prices of the scope.
import { ConfiguredList } from "../../configured/configured-list.tsx";
import { PRICE_NOUN } from "./price-noun.tsx";

export function PricesScreen() {
  return <ConfiguredList noun={PRICE_NOUN} />;
}

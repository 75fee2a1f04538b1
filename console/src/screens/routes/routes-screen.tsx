// `/routes`: the routes of the scope.
import { ConfiguredList } from "../../configured/configured-list.tsx";
import { ROUTE_NOUN } from "./route-noun.tsx";

export function RoutesScreen() {
  return <ConfiguredList noun={ROUTE_NOUN} />;
}

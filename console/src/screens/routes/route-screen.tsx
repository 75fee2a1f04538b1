// `/routes/<id>`: one route.
import { ConfiguredPage } from "../../configured/configured-page.tsx";
import { ROUTE_NOUN } from "./route-noun.tsx";

export function RouteScreen({ id }: { readonly id: string }) {
  return <ConfiguredPage noun={ROUTE_NOUN} id={id} />;
}

// `/tools/<id>`: one tool server.
import { ConfiguredPage } from "../../configured/configured-page.tsx";
import { TOOL_SERVER_NOUN } from "./tool-server-noun.tsx";

export function ToolServerScreen({ id }: { readonly id: string }) {
  return <ConfiguredPage noun={TOOL_SERVER_NOUN} id={id} />;
}

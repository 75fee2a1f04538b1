// Images that tools gave, at a target: a model that takes images is shown them; for any other the line in the result that names them has to do. They are no content of
// the client's, so a request is never refused for them (promises 6.4, 10.2).
import { effectiveCapability } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import type { Provider } from "../../providers/provider.ts";

export function withToolImages(
  request: ChatRequest,
  { capabilities, dialect }: Provider,
  target: Pick<Target, "model">,
): ChatRequest {
  const { toolImages, messages, blocks, held } = request;
  if (toolImages.size === 0) return request;
  if (
    dialect.assistantAfterTools === true ||
    effectiveCapability(capabilities, "image_url", target.model).support === "unsupported"
  )
    // the thread that holds the conversation leaves them out of all of it
    return held !== undefined
      ? request
      : { ...request, messages: messages.filter((_message, index) => !toolImages.has(index)) };
  const [first] = toolImages;
  return blocks.has("image_url")
    ? request
    : { ...request, blocks: new Map([...blocks, ["image_url", `messages[${first}].content`]]) };
}

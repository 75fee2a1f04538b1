// A report as lines of text, page by page as the client reads, so that one of any length holds only one page in memory.
import type { Page, PageRequest } from "../../../store/reader.ts";
import type { Answer } from "../operation.ts";

/** Rows of a page. */
const PAGE = 1000;

export interface TextForm<Row> {
  readonly contentType: string;
  /** What stands before the first line. */
  readonly head: string;
  readonly linesOf: (rows: readonly Row[]) => string;
}

/**
 * The first page is read before the response begins, so that an invalid query still gets its error status. Throws what
 * `read` throws.
 */
export async function pagedText<Row>(
  { cursor = null }: PageRequest,
  read: (page: PageRequest) => Promise<Page<Row>>,
  form: TextForm<Row>,
): Promise<NonNullable<Answer["text"]>> {
  const first = await read({ limit: PAGE, cursor });
  return { contentType: form.contentType, content: partsOf(first, read, form) };
}

/** The lines made so far are sent before the next page is read. */
async function* partsOf<Row>(
  { data, nextCursor }: Page<Row>,
  read: (page: PageRequest) => Promise<Page<Row>>,
  { head, linesOf }: TextForm<Row>,
): AsyncGenerator<Uint8Array, void, void> {
  let text = head + linesOf(data);
  for (;;) {
    if (text !== "") yield Buffer.from(text);
    if (nextCursor === null) return;
    ({ data, nextCursor } = await read({ limit: PAGE, cursor: nextCursor }));
    text = linesOf(data);
  }
}

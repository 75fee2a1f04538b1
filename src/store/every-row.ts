// Reads a whole list of the database, page by page.
import type { Page, PageRequest } from "./reader.ts";

const PAGE = 1000;

/** The next page is read when the rows of the one before it have been taken. Throws what `read` throws. */
export async function* everyRow<Row>(read: (page: PageRequest) => Promise<Page<Row>>): AsyncGenerator<Row, void, void> {
  let cursor: string | null = null;
  do {
    const page: Page<Row> = await read({ limit: PAGE, cursor });
    yield* page.data;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

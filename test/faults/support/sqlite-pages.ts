import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const PAGE_BYTES = 4096

export interface Page {
  /** From 1, as SQLite counts. */
  readonly number: number
  /** The table or index that it is a part of. */
  readonly of: string
  readonly kind: 'leaf' | 'internal' | 'overflow'
}

/** Every page of a database file that belongs to a table or an index. */
export function pagesOf(file: string): Page[] {
  const db = new DatabaseSync(file, { readOnly: true })
  const rows = db.prepare('SELECT pageno, name, pagetype FROM dbstat ORDER BY pageno').all()
  db.close()
  return rows.map((row) => ({
    number: row.pageno as number,
    of: row.name as string,
    kind: row.pagetype as Page['kind'],
  }))
}

/** Empties the write-ahead log into the file, and makes every connection read anew what it had read. */
export function settle(file: string): void {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('UPDATE owners SET display_name = display_name WHERE id = (SELECT min(id) FROM owners)')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Changes the bytes of a page in place, past SQLite. */
export function damage(file: string, page: number, change: (bytes: Buffer) => void): void {
  const fd = openSync(file, 'r+')
  try {
    const bytes = Buffer.alloc(PAGE_BYTES)
    readSync(fd, bytes, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
    change(bytes)
    writeSync(fd, bytes, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
  } finally {
    closeSync(fd)
  }
}

/** What SQLite says of a file. */
export function quickCheck(file: string): string {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check)
  } catch (error) {
    return (error as Error).message
  } finally {
    db.close()
  }
}

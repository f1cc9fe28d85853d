import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const PAGE_BYTES = 4096

export interface Page {
  /** Counted from 1, like in SQLite. */
  readonly number: number
  /** The table or index that it belongs to. */
  readonly of: string
  readonly kind: 'leaf' | 'internal' | 'overflow'
}

/** Every page of a database file that belongs to a table or an index. */
export function listPages(file: string): Page[] {
  const db = new DatabaseSync(file, { readOnly: true })
  const rows = db.prepare('SELECT pageno, name, pagetype FROM dbstat ORDER BY pageno').all()
  db.close()
  return rows.map((row) => ({
    number: row.pageno as number,
    of: row.name as string,
    kind: row.pagetype as Page['kind'],
  }))
}

/** Checkpoints the write-ahead log into the file, so that all connections must read pages again. */
export function checkpoint(file: string): void {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec('UPDATE owners SET display_name = display_name WHERE id = (SELECT min(id) FROM owners)')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Overwrites bytes of a page, bypassing SQLite. */
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

/** The result of SQLite's own check of a file. */
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

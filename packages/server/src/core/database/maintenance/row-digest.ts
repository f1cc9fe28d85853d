import { createHash } from 'node:crypto'

type Row = Readonly<Record<string, unknown>>

/** Counts rows and hashes them (SHA-256), the same from either database: columns by name, values by their kind. */
export class RowDigest {
  readonly #hash = createHash('sha256')
  #count = 0

  add(row: Row): void {
    for (const name of Object.keys(row).toSorted())
      this.#hash.update(`${name}=${textOf(row[name])};`)
    this.#hash.update('\n')
    this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  end(): string {
    return this.#hash.digest('hex')
  }
}

/** Lengths come first, so that no value can look like two. */
function textOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return `n${value}`
  if (typeof value === 'string') return `t${Buffer.byteLength(value)}:${value}`
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`
  throw new Error('a value that no database of ours holds')
}
